#include "study/work/operation_reader.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "sim/overloaded.h"
#include "study/work/choices.h"
#include "study/work/config_folders.h"
#include "study/work/operators.h"

namespace c3sim::study {

namespace {

constexpr std::int64_t most_workgroups = 1'000'000;
constexpr std::int64_t word_values = 2'147'483'647;  // a FENCE writes 32 bits

models::GemmShape read_gemm(sim::Section operation) {
  const models::ParsedGemmShape parsed = models::parse_gemm_shape(operation.text("gemm"));
  if (!parsed.ok() && operation.is_sound("gemm")) operation.fault("gemm", parsed.error);
  models::GemmShape shape = parsed.shape;
  shape.dtype = operation.choice<models::Dtype>("dtype", dtype_choices(), models::Dtype::bf16);
  return shape;
}

models::AttentionShape read_attention(sim::Section section) {
  constexpr std::int64_t most = models::AttentionShape::largest_extent;
  models::AttentionShape shape;
  shape.batch = section.integer("batch", 1, most, 1);
  shape.heads = section.integer("heads", 1, most);
  shape.kv_heads = section.integer("kv_heads", 1, most, shape.heads);
  shape.queries = section.integer("queries", 1, most);
  shape.keys = section.integer("keys", 1, most, shape.queries);
  shape.head_dim = section.integer("head_dim", 1, 4096);
  shape.causal = section.flag("causal", true);
  shape.backward = section.flag("gradient", false);
  shape.dtype = section.choice<models::Dtype>("dtype", dtype_choices(), models::Dtype::bf16);
  return shape;
}

models::CollectiveSpec read_collective(sim::Section section, const models::PlatformSpec& platform) {
  models::CollectiveSpec spec;
  spec.kind = section.choice<models::CollectiveKind>("kind", collective_choices());
  spec.bytes = section.bytes("bytes", array_sizes);
  spec.backend = section.choice<models::Backend>("backend", backend_choices(), models::Backend::rccl);
  spec.variant = section.choice<models::SdmaVariant>("variant", variant_choices(), models::SdmaVariant::pcpy);
  spec.prelaunch = section.flag("prelaunch", false);
  spec.gpus = static_cast<int>(section.integer("gpus", 2, platform.gpus, platform.gpus));
  spec.first = static_cast<int>(section.integer("first", 0, platform.gpus - 2, 0));
  spec.engines = static_cast<int>(section.integer("engines", 1, 1024, 1));
  spec.graph = section.flag("graph", false);
  for (const char* of_engines : {"variant", "prelaunch", "engines"}) {
    if (models::by_kernels(spec.backend) && section.has(of_engines))
      section.fault(of_engines, name_of(spec.backend) + " uses no copy engines: backend: sdma does");
  }
  if (spec.backend == models::Backend::sdma && section.has("graph"))
    section.fault("graph", "copy engines are not launched from graphs: backend: rccl can be");
  if (section.has("channels")) {
    spec.channels = static_cast<int>(section.integer("channels", 1, models::most_channels));
  }
  if (section.has("host_threads")) {
    spec.host_threads = section.choice<models::HostThreads>("host_threads", host_thread_choices());
  }
  return spec;
}

models::SdmaCopySpec read_copy(sim::Section section, const models::PlatformSpec& platform) {
  models::SdmaCopySpec copy;
  const auto device = [&](const char* key) {
    if (section.has(key) && section.text(key) == "host") return models::host_device;
    return static_cast<int>(section.integer(key, 0, platform.gpus - 1));
  };
  copy.from = device("from");
  copy.to = device("to");
  copy.bytes = section.bytes("bytes", array_sizes);
  copy.pull = section.flag("pull", false);
  if (section.has("engine")) copy.engine = static_cast<int>(section.integer("engine", 0, 1'000'000));
  if (section.has("copies")) copy.copies = section.integer("copies", 1, models::most_blocks);
  if (section.has("submit")) {
    copy.submit = section.choice<models::Submission>("submit", submission_choices());
  } else if (section.has("copies")) {
    copy.submit = models::Submission::each;
  }
  return copy;
}

models::Condition read_condition(sim::Section& packet) {
  using Named = std::pair<const char*, models::Comparison>;
  for (const auto& [name, comparison] :
       {Named{"at_least", models::Comparison::at_least}, Named{"at_most", models::Comparison::at_most}}) {
    if (packet.has(name)) return {comparison, packet.integer(name, -word_values, word_values)};
  }
  return {models::Comparison::equal, packet.integer("equal", -word_values, word_values)};
}

models::HandWrittenPacket read_packet(sim::Section packet, int gpus) {
  using enum models::HandWrittenPacket::Kind;
  models::HandWrittenPacket read;
  if (packet.has("poll")) {
    read.kind = poll;
    read.word = packet.name("poll");
    read.condition = read_condition(packet);
  } else if (packet.has("atomic")) {
    read.kind = atomic;
    read.word = packet.name("atomic");
    read.value = packet.integer("add", -word_values, word_values);
  } else if (packet.has("fence")) {
    read.kind = fence;
    read.word = packet.name("fence");
    read.value = packet.integer("value", -word_values, word_values);
  } else {
    read.kind = packet.has("swap") ? swap : copy;
    read.bytes = packet.bytes(packet.has("swap") ? "swap" : "copy", array_sizes);
    read.peer = static_cast<int>(packet.integer(packet.has("swap") ? "with" : "to", 0, gpus - 1));
  }
  return read;
}

models::SdmaPacketList read_packets(sim::Section section, const models::PlatformSpec& platform) {
  models::SdmaPacketList list;
  list.gpu = static_cast<int>(section.integer("gpu", 0, platform.gpus - 1));
  list.engine = static_cast<int>(section.integer("engine", 0, platform.gpu.sdma.engines - 1));
  list.queue = static_cast<int>(section.integer("queue", 0, platform.gpu.sdma.queues_per_engine - 1, 0));
  for (sim::Section& packet : section.list("commands")) list.packets.push_back(read_packet(packet, platform.gpus));
  return list;
}

models::ElementwiseSpec read_operator(sim::Section& section) {
  const std::string name = section.name("operator");
  const std::int64_t elements = parse_elements(section.text("elements"));
  if (elements == 0) section.fault("elements", std::string(elements_accepted));
  const sim::Bytes element = section.bytes("element", {sim::Bytes(1.0), sim::Bytes(64.0)}, usual_element);
  const std::vector<ElementwiseOperator> known = read_operators(config_folders());
  const ElementwiseOperator* const named = find_operator(known, name);
  if (named != nullptr) return kernel_of(*named, std::max<std::int64_t>(1, elements), element);
  section.fault("operator", "no operator is named '" + name + "'" + operator_hint(known, name));
  return {element, {}, {}};
}

models::ElementwiseSpec read_kernel(sim::Section section) {
  const int workgroups =
      section.has("workgroups") ? static_cast<int>(section.integer("workgroups", 1, most_workgroups)) : 0;
  if (section.has("operator")) {
    models::ElementwiseSpec named = read_operator(section);
    named.workgroups = workgroups;
    return named;
  }
  const sim::Limits<sim::Bytes> any_size{sim::Bytes(0.0), largest_array};
  models::ElementwiseSpec spec;
  spec.read = section.bytes("read", any_size, sim::Bytes(0.0));
  spec.written = section.bytes("write", any_size, sim::Bytes(0.0));
  spec.flops = sim::Flops(section.number("flops", 0.0, 1e18, 0.0));
  spec.reduces = section.flag("reduces", false);
  spec.strided = section.flag("strided", false);
  spec.workgroups = workgroups;
  return spec;
}

models::RemoteKernelSpec read_remote(sim::Section section, const models::PlatformSpec& platform) {
  models::RemoteKernelSpec spec;
  spec.gpu = static_cast<int>(section.integer("gpu", 0, platform.gpus - 1));
  spec.peers = section.integers("peers", 0, platform.gpus - 1);
  spec.access = section.choice<models::RemoteAccess>("access", remote_access_choices(), models::RemoteAccess::store);
  spec.bytes = section.bytes("bytes", array_sizes);
  spec.workgroups = static_cast<int>(section.integer("cus", 1, platform.gpu.cus(), platform.gpu.cus()));
  return spec;
}

models::FusedSpec read_fused(sim::Section section, const models::PlatformSpec& platform) {
  models::FusedSpec spec;
  spec.gemm = read_gemm(section);
  spec.kind =
      section.choice<models::CollectiveKind>("kind", collective_choices(), models::CollectiveKind::reduce_scatter);
  spec.path = section.choice<models::FusedPath>("path", fused_path_choices(), models::FusedPath::direct);
  spec.trigger = section.choice<models::TriggerChoice>("trigger", trigger_choices());
  spec.stores = section.flag("stores", false);
  spec.pieces = section.integer("pieces", 1, 1024, 1);
  spec.gpus = static_cast<int>(section.integer("gpus", 2, platform.gpus, 0));
  return spec;
}

// As in Work.
constexpr std::array<const char*, 10> kinds_of_work{"gemm",   "collective", "copy", "packets",   "kernel",
                                                    "remote", "delay",      "host", "attention", "fused"};
constexpr sim::Limits<sim::Time> pauses{sim::Time(0), sim::Time(3'600'000'000'000'000)};  // an hour

}  // namespace

Work read_work(sim::Section operation, const models::PlatformSpec& platform) {
  const auto kinds = std::count_if(kinds_of_work.begin(), kinds_of_work.end(),
                                   [&operation](const char* kind) { return operation.has(kind); });
  if (kinds != 1) {
    operation.fault("name",
                    "an operation has exactly one of the keys gemm, attention, collective, copy, packets, kernel, "
                    "remote, fused, dependent, delay and host");
  }
  if (operation.has("packets")) return read_packets(operation.section("packets"), platform);
  if (operation.has("collective")) return read_collective(operation.section("collective"), platform);
  if (operation.has("copy")) return read_copy(operation.section("copy"), platform);
  if (operation.has("kernel")) return read_kernel(operation.section("kernel"));
  if (operation.has("remote")) return read_remote(operation.section("remote"), platform);
  if (operation.has("fused")) return read_fused(operation.section("fused"), platform);
  if (operation.has("delay")) return DelaySpec{operation.time("delay", pauses)};
  if (operation.has("host")) return HostWorkSpec{operation.time("host", pauses)};
  if (operation.has("attention")) return read_attention(operation.section("attention"));
  return operation.has("gemm") ? read_gemm(operation) : models::GemmShape{1, 1, 1};
}

const char* kind_key(const Work& work) { return kinds_of_work[work.index()]; }

namespace {

// Whether CUs do any of the work.
bool uses_cus(const Work& work, const models::PlatformSpec& platform) {
  return std::visit(
      sim::Overloaded{
          [&](const models::CollectiveSpec& spec) { return models::kernel_part(spec, platform.gpu.sdma).has_value(); },
          [](const models::GemmShape&) { return true; }, [](const models::ElementwiseSpec&) { return true; },
          [](const models::AttentionShape&) { return true; }, [](const models::RemoteKernelSpec&) { return true; },
          [](const models::FusedSpec&) { return true; }, [](const auto&) { return false; }},
      work);
}

}  // namespace

int read_priority(sim::Section operation, const Work& work, const models::PlatformSpec& platform) {
  constexpr std::array<std::pair<std::string_view, int>, 3> priorities{{{"low", -1}, {"normal", 0}, {"high", 1}}};
  if (!operation.has("priority")) return 0;
  if (!uses_cus(work, platform))
    operation.fault("priority", "copy engines take no CUs, nor does the host: only kernels wait for them");
  return operation.choice<int>("priority", priorities);
}

models::CuMask read_mask(sim::Section operation, const Work& work, const models::PlatformSpec& platform) {
  if (!operation.has("cus")) return {};
  const bool remote = std::holds_alternative<models::RemoteKernelSpec>(work);
  if (remote || !uses_cus(work, platform)) {
    operation.integers("cus", 0, platform.gpu.cus());
    operation.fault("cus", remote
                               ? "remote has a number of CUs of its own: remote: {cus: 16}"
                               : "copy engines take no CUs, nor does the host: only kernels can be confined to some");
    return {};
  }
  const std::vector<int> ends = operation.integers("cus", 0, platform.gpu.cus());
  const int xcds = platform.gpu.memory.xcds;
  if (ends.size() != 2 || ends[0] >= ends[1] || ends[0] % xcds != 0 || ends[1] % xcds != 0) {
    operation.fault("cus", "two multiples of " + std::to_string(xcds) +
                               ", the first below the second, are accepted: as many CUs on each XCD");
    return {};
  }
  if (ends[1] - ends[0] == platform.gpu.cus()) return {};
  return {ends[0] / xcds, ends[1] / xcds};
}

std::vector<int> all_gpus(const models::PlatformSpec& platform) {
  std::vector<int> gpus(static_cast<std::size_t>(platform.gpus));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

std::vector<int> read_gpus(sim::Section operation, const Work& work, const models::PlatformSpec& platform) {
  if (!operation.has("gpus")) return {};
  std::vector<int> gpus = operation.integers("gpus", 0, platform.gpus - 1);
  const bool free =
      std::visit(sim::Overloaded{
                     [](const models::GemmShape&) { return true; }, [](const models::ElementwiseSpec&) { return true; },
                     [](const models::AttentionShape&) { return true; }, [](const DelaySpec&) { return true; },
                     [](const HostWorkSpec&) { return true; }, [](const auto&) { return false; }},
                 work);
  if (!free) {
    operation.fault(
        "gpus",
        "only a gemm, attention, a kernel, a delay and work of the host are told their GPUs so: of other work "
        "they are part of its own section");
  }
  std::ranges::sort(gpus);
  if (!free || !operation.is_sound("gpus")) return {};
  if (gpus.empty() || std::ranges::adjacent_find(gpus) != gpus.end()) {
    operation.fault("gpus", "at least one GPU is accepted, and each once");
    return {};
  }
  return gpus.size() == static_cast<std::size_t>(platform.gpus) ? std::vector<int>() : gpus;
}

std::vector<int> gpus_of(const Operation& operation, const models::PlatformSpec& platform) {
  const auto own = [&](std::vector<int> named) {
    std::erase(named, models::host_device);
    return named;
  };
  const std::vector<int> all = all_gpus(platform);
  const auto from = [&](int first, int count) {
    return std::vector<int>(all.begin() + first, all.begin() + std::clamp(first + count, first + 1, platform.gpus));
  };
  return std::visit(sim::Overloaded{[&](const models::CollectiveSpec& spec) { return from(spec.first, spec.gpus); },
                                    [&](const models::FusedSpec& spec) { return from(0, spec.gpus_of(platform.gpus)); },
                                    [&](const models::SdmaCopySpec& copy) {
                                      return own({copy.from, copy.to});
                                    },
                                    [&](const models::SdmaPacketList& list) { return own({list.gpu}); },
                                    [&](const models::RemoteKernelSpec& spec) { return own({spec.gpu}); },
                                    [&](const auto&) { return operation.gpus.empty() ? all : operation.gpus; }},
                    operation.work);
}

}  // namespace c3sim::study
