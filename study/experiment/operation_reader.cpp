#include "study/experiment/operation_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/overloaded.h"
#include "study/ask/words.h"
#include "study/play/work_bounds.h"

namespace c3sim::study {

namespace {

constexpr std::int64_t word_values = 2'147'483'647;  // a FENCE writes 32 bits

// Reads the question's words (study/ask/words.h) from a section.
template <class Question>
Question told(sim::Section section, const models::PlatformSpec& platform, Question question = {}) {
  read_words(question, section, platform);
  return question;
}

models::AttentionShape read_attention(sim::Section section, const models::PlatformSpec& platform) {
  models::AttentionShape shape = told(section, platform, untold_attention);
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  if (shape.keys == 0) shape.keys = shape.queries;
  return shape;
}

models::CollectiveSpec read_collective(sim::Section section, const models::PlatformSpec& platform) {
  const models::CollectiveSpec spec = on_gpus_of(platform, told<CollectiveTrial>(section, platform).spec);
  for (const char* of_engines : {"variant", "prelaunch", "engines"}) {
    if (models::by_kernels(spec.backend) && section.has(of_engines))
      section.fault(of_engines, name_of(spec.backend) + " uses no copy engines: backend: sdma does");
  }
  if (spec.backend == models::Backend::sdma && section.has("graph"))
    section.fault("graph", "copy engines are not launched from graphs: backend: rccl can be");
  return spec;
}

models::Condition read_condition(sim::Section& packet) {
  using Named = std::pair<const char*, models::Comparison>;
  for (const auto& [name, comparison] :
       {Named{"at_least", models::Comparison::at_least}, Named{"at_most", models::Comparison::at_most}}) {
    if (packet.has(name)) return {comparison, packet.integer(name, -word_values, word_values)};
  }
  return {models::Comparison::equal, packet.integer("equal", -word_values, word_values)};
}

// GPUs as copies and remote kernels name theirs: 0 or gpu0.
std::vector<int> gpus_in(sim::Section& section, std::string_view key, int gpus) {
  std::vector<int> named;
  Arguments arguments;
  for (const std::string& text : section.texts(key)) named.push_back(arguments.gpu(key, text, gpus));
  for (const sim::Fault& fault : arguments.faults()) section.fault_value(key, fault.what, fault.is_word);
  return named;
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
    read.bytes = packet.quantity(packet.has("swap") ? "swap" : "copy", array_sizes);
    const std::vector<int> peers = gpus_in(packet, packet.has("swap") ? "with" : "to", gpus);
    read.peer = peers.empty() ? 0 : peers.front();
  }
  return read;
}

models::SdmaPacketList read_packets(sim::Section section, const models::PlatformSpec& platform) {
  auto list = told<models::SdmaPacketList>(section, platform);
  for (sim::Section& packet : section.list("commands")) list.packets.push_back(read_packet(packet, platform.gpus));
  return list;
}

models::ElementwiseSpec read_kernel(sim::Section section, const models::PlatformSpec& platform) {
  if (!section.has("operator")) return told<models::ElementwiseSpec>(section, platform);
  const auto asked = told<NamedKernel>(section, platform);
  std::vector<sim::Fault> faults;
  const models::ElementwiseSpec kernel = kernel_of(asked, faults);
  for (const sim::Fault& fault : faults) {
    if (section.is_sound(fault.where)) section.fault(fault.where, fault.what);
  }
  return kernel;
}

Work read_work(sim::Section& operation, const models::PlatformSpec& platform) {
  const auto kinds = std::ranges::count_if(
      kinds_of_work(), [&](const char* key) { return operation.has(key); }, &KindOfWork::key);
  if (kinds != 1) {
    operation.fault("name",
                    "an operation has exactly one of the keys gemm, attention, collective, copy, packets, kernel, "
                    "remote, fused, dependent, delay and host");
  }
  const auto section = [&](const char* kind) { return operation.section(kind); };
  if (operation.has("packets")) return read_packets(section("packets"), platform);
  if (operation.has("collective")) return read_collective(section("collective"), platform);
  if (operation.has("copy")) return copies_of(told<CopyTrial>(section("copy"), platform));
  if (operation.has("kernel")) return read_kernel(section("kernel"), platform);
  if (operation.has("remote")) {
    return told(section("remote"), platform,
                models::RemoteKernelSpec{.peers = {}, .bytes = {}, .workgroups = platform.gpu.cus()});
  }
  if (operation.has("fused")) return told<models::FusedSpec>(section("fused"), platform);
  if (operation.has("delay")) return DelaySpec{operation.time("delay", pause_lengths)};
  if (operation.has("host")) return HostWorkSpec{operation.time("host", pause_lengths)};
  if (operation.has("attention")) return read_attention(section("attention"), platform);
  return operation.has("gemm") ? told<models::GemmShape>(operation, platform) : models::GemmShape{1, 1, 1};
}

// Returns whether CUs do any of the work.
bool uses_cus(const Work& work, const models::PlatformSpec& platform) {
  const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
  return collective == nullptr ? is_kernel(work) : models::kernel_part(*collective, platform.gpu.sdma).has_value();
}

int read_priority(sim::Section& operation, const Work& work, const models::PlatformSpec& platform) {
  if (!operation.has("priority")) return 0;
  if (!uses_cus(work, platform))
    operation.fault("priority", "copy engines take no CUs, nor does the host: only kernels wait for them");
  return operation.choice<int>("priority", priorities);
}

std::optional<Launch> read_launch(sim::Section& operation, const Work& work, const models::PlatformSpec& platform) {
  if (!operation.has("launch")) return {};
  if (!may_be_queued(work, platform.gpu.sdma)) {
    operation.fault("launch",
                    "only what begins with a kernel is queued on its GPUs: copy engines and work of the host "
                    "are started by the host when it knows that all before them has ended");
  }
  return operation.choice<Launch>("launch", sim::choices_of<Launch>());
}

models::CuMask read_mask(sim::Section& operation, const Work& work, const models::PlatformSpec& platform) {
  if (!operation.has("cus")) return {};
  const std::vector<int> ends = operation.integers("cus", 0, platform.gpu.cus());
  const int xcds = platform.gpu.memory.xcds;
  if (std::holds_alternative<models::RemoteKernelSpec>(work)) {
    operation.fault("cus", "remote has a number of CUs of its own: remote: {cus: 16}");
  } else if (!uses_cus(work, platform)) {
    operation.fault("cus", "copy engines take no CUs, nor does the host: only kernels can be confined to some");
  } else if (ends.size() != 2 || ends[0] >= ends[1] || ends[0] % xcds != 0 || ends[1] % xcds != 0) {
    operation.fault("cus", "two multiples of " + std::to_string(xcds) +
                               ", the first below the second, are accepted: as many CUs on each XCD");
  } else if (ends[1] - ends[0] != platform.gpu.cus()) {
    return {ends[0] / xcds, ends[1] / xcds};
  }
  return {};
}

std::vector<int> read_gpus(sim::Section& operation, const Work& work, const models::PlatformSpec& platform) {
  if (!operation.has("gpus")) return {};
  std::vector<int> gpus = gpus_in(operation, "gpus", platform.gpus);
  std::ranges::sort(gpus);
  if (!kind_of(work).on_any_gpus) {
    operation.fault(
        "gpus",
        "only a gemm, attention, a kernel, a delay and work of the host are told their GPUs so: of other work "
        "they are part of its own section");
  } else if (operation.is_sound("gpus") && (gpus.empty() || std::ranges::adjacent_find(gpus) != gpus.end())) {
    operation.fault("gpus", "at least one GPU is accepted, and each once");
  }
  const bool all = gpus.size() == static_cast<std::size_t>(platform.gpus);
  return all || !operation.is_sound("gpus") ? std::vector<int>() : gpus;
}

}  // namespace

Operation operation_in(sim::Section section, const models::PlatformSpec& platform) {
  Operation operation;
  operation.work = read_work(section, platform);
  operation.mask = read_mask(section, operation.work, platform);
  operation.priority = read_priority(section, operation.work, platform);
  operation.launch = read_launch(section, operation.work, platform);
  operation.gpus = read_gpus(section, operation.work, platform);
  return operation;
}

std::vector<int> all_gpus(const models::PlatformSpec& platform) {
  std::vector<int> gpus(static_cast<std::size_t>(platform.gpus));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
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
