#include "study/experiment.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "sim/config/config_error.h"
#include "sim/config/nearest_name.h"
#include "sim/overloaded.h"
#include "study/choices.h"
#include "study/config_folders.h"
#include "study/operators.h"

namespace c3sim::study {

namespace {

constexpr std::size_t most_operations = 10'000;
constexpr std::int64_t word_values = 2'147'483'647;  // a FENCE writes 32 bits
constexpr sim::Limits<sim::Bytes> sizes{sim::Bytes(1.0), largest_array};

models::GemmShape read_gemm(sim::Section operation) {
  const models::ParsedGemmShape parsed = models::parse_gemm_shape(operation.text("gemm"));
  if (!parsed.ok()) operation.fault("gemm", parsed.error);
  return parsed.shape;
}

models::CollectiveSpec read_collective(sim::Section section, const models::PlatformSpec& platform) {
  models::CollectiveSpec spec;
  spec.kind = section.choice<models::CollectiveKind>("kind", collective_choices());
  spec.bytes = section.bytes("bytes", sizes);
  spec.backend = section.choice<models::Backend>("backend", backend_choices(), models::Backend::rccl);
  spec.variant = section.choice<models::SdmaVariant>("variant", variant_choices(), models::SdmaVariant::pcpy);
  spec.prelaunch = section.flag("prelaunch", false);
  spec.gpus = static_cast<int>(section.integer("gpus", 2, platform.gpus, platform.gpus));
  spec.engines = static_cast<int>(section.integer("engines", 1, 1024, 1));
  spec.graph = section.flag("graph", false);
  for (const char* of_engines : {"variant", "prelaunch", "engines"}) {
    if (spec.backend == models::Backend::rccl && section.has(of_engines))
      section.fault(of_engines, "RCCL uses no copy engines: backend: sdma does");
  }
  if (spec.backend == models::Backend::sdma && section.has("graph"))
    section.fault("graph", "copy engines are not launched from graphs: backend: rccl can be");
  return spec;
}

models::SdmaCopySpec read_copy(sim::Section section, const models::PlatformSpec& platform) {
  models::SdmaCopySpec copy;
  copy.from = static_cast<int>(section.integer("from", 0, platform.gpus - 1));
  copy.to = static_cast<int>(section.integer("to", 0, platform.gpus - 1));
  copy.bytes = section.bytes("bytes", sizes);
  if (section.has("engine")) copy.engine = static_cast<int>(section.integer("engine", 0, 1'000'000));
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
    read.bytes = packet.bytes(packet.has("swap") ? "swap" : "copy", sizes);
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
  if (section.has("operator")) return read_operator(section);
  const sim::Limits<sim::Bytes> any_size{sim::Bytes(0.0), largest_array};
  models::ElementwiseSpec spec;
  spec.read = section.bytes("read", any_size, sim::Bytes(0.0));
  spec.written = section.bytes("write", any_size, sim::Bytes(0.0));
  spec.flops = sim::Flops(section.number("flops", 0.0, 1e18, 0.0));
  return spec;
}

models::RemoteKernelSpec read_remote(sim::Section section, const models::PlatformSpec& platform) {
  models::RemoteKernelSpec spec;
  spec.gpu = static_cast<int>(section.integer("gpu", 0, platform.gpus - 1));
  spec.peers = section.integers("peers", 0, platform.gpus - 1);
  spec.access = section.choice<models::RemoteAccess>("access", remote_access_choices(), models::RemoteAccess::store);
  spec.bytes = section.bytes("bytes", sizes);
  spec.workgroups = static_cast<int>(section.integer("cus", 1, platform.gpu.cus(), platform.gpu.cus()));
  return spec;
}

constexpr std::array<const char*, 6> kinds_of_work{"gemm",    "collective", "copy",
                                                   "packets", "kernel",     "remote"};  // as in Work

Work read_work(sim::Section operation, const models::PlatformSpec& platform) {
  const auto kinds = std::count_if(kinds_of_work.begin(), kinds_of_work.end(),
                                   [&operation](const char* kind) { return operation.has(kind); });
  if (kinds != 1) {
    operation.fault("name",
                    "an operation has exactly one of the keys gemm, collective, copy, packets, kernel and remote");
  }
  if (operation.has("packets")) return read_packets(operation.section("packets"), platform);
  if (operation.has("collective")) return read_collective(operation.section("collective"), platform);
  if (operation.has("copy")) return read_copy(operation.section("copy"), platform);
  if (operation.has("kernel")) return read_kernel(operation.section("kernel"));
  if (operation.has("remote")) return read_remote(operation.section("remote"), platform);
  return operation.has("gemm") ? read_gemm(operation) : models::GemmShape{1, 1, 1};
}

// Whether CUs do any of the work.
bool uses_cus(const Work& work, const models::PlatformSpec& platform) {
  return std::visit(
      sim::Overloaded{
          [&](const models::CollectiveSpec& spec) { return models::kernel_part(spec, platform.gpu.sdma).has_value(); },
          [](const models::SdmaCopySpec&) { return false; }, [](const models::SdmaPacketList&) { return false; },
          [](const auto&) { return true; }},
      work);
}

int read_priority(sim::Section operation, const Work& work, const models::PlatformSpec& platform) {
  constexpr std::array<std::pair<std::string_view, int>, 3> priorities{{{"low", -1}, {"normal", 0}, {"high", 1}}};
  if (!operation.has("priority")) return 0;
  if (!uses_cus(work, platform)) operation.fault("priority", "copy engines take no CUs: only kernels wait for them");
  return operation.choice<int>("priority", priorities);
}

models::CuMask read_mask(sim::Section operation, const Work& work, const models::PlatformSpec& platform) {
  if (!operation.has("cus")) return {};
  const bool remote = std::holds_alternative<models::RemoteKernelSpec>(work);
  if (remote || !uses_cus(work, platform)) {
    operation.integers("cus", 0, platform.gpu.cus());
    operation.fault("cus", remote ? "remote has a number of CUs of its own: remote: {cus: 16}"
                                  : "copy engines take no CUs: only kernels can be confined to some");
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

// Operations by name and the last one of each stream, as far as the list has been read.
struct Places {
  std::map<std::string, std::size_t> by_name;
  std::map<std::string, std::size_t> last_of_stream;
};

std::vector<std::size_t> read_after(sim::Section section, const Operation& operation, const Places& places) {
  std::vector<std::size_t> after;
  if (const auto last = places.last_of_stream.find(operation.stream); last != places.last_of_stream.end()) {
    after.push_back(last->second);
  }
  if (!section.has("after")) return after;
  std::vector<std::string> known;
  for (const auto& [name, place] : places.by_name) known.push_back(name);
  for (const std::string& name : section.names("after")) {
    const auto found = places.by_name.find(name);
    if (found == places.by_name.end()) {
      section.fault("after", "no operation before this one is named '" + name + "'" + sim::name_hint(name, known));
    } else {
      after.push_back(found->second);
    }
  }
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  return after;
}

bool waits_for_others(const Work& work) { return std::holds_alternative<models::SdmaPacketList>(work); }

const Timeline& run(Testbed& testbed, const Experiment& experiment) {
  const bool may_wait_for_ever =
      std::any_of(experiment.schedule.begin(), experiment.schedule.end(),
                  [](const Operation& operation) { return waits_for_others(operation.work); });
  if (!may_wait_for_ever) return testbed.run(experiment.schedule);
  try {
    return testbed.run(experiment.schedule);
  } catch (const sim::Deadlock& deadlock) {
    throw sim::ConfigError({{"operations", {}, deadlock.what()}});
  }
}

// The same operations one after another, as they are listed, each launched when the one before it has ended; nothing
// where they cannot be run so, because packets wait for others that are listed later.
std::optional<sim::Time> one_after_another(Testbed& testbed, Schedule schedule) {
  for (std::size_t i = 1; i < schedule.size(); ++i) schedule[i].after = {i - 1};
  try {
    return testbed.run(schedule).makespan();
  } catch (const sim::Deadlock&) {
    return {};
  }
}

}  // namespace

Experiment read_experiment(sim::Section root, const Testbed& testbed) {
  Experiment experiment;
  experiment.name = root.name("name");
  std::vector<sim::Section> sections = root.list("operations");
  if (sections.empty()) root.fault("operations", "an experiment has at least one operation");
  if (sections.size() > most_operations) {
    root.fault("operations", "at most " + std::to_string(most_operations) + " operations are accepted");
    return experiment;
  }
  Places places;
  for (sim::Section& section : sections) {
    Operation operation;
    operation.name = section.name("name");
    operation.stream = section.name("stream");
    operation.work = read_work(section, testbed.platform());
    operation.mask = read_mask(section, operation.work, testbed.platform());
    operation.priority = read_priority(section, operation.work, testbed.platform());
    operation.after = read_after(section, operation, places);
    if (const std::string reason = testbed.why_impossible(operation.work); !reason.empty()) {
      section.fault(kinds_of_work[operation.work.index()], reason);
    }
    const std::size_t place = experiment.schedule.size();
    if (!places.by_name.emplace(operation.name, place).second) {
      section.fault("name", "an operation before this one has the same name");
    }
    places.last_of_stream[operation.stream] = place;
    experiment.schedule.push_back(std::move(operation));
  }
  return experiment;
}

Results run_experiment(Testbed& testbed, const Experiment& experiment) {
  const Timeline timeline = run(testbed, experiment);
  ResultTable operations({{"operation", "operation", ""},
                          {"stream", "stream", ""},
                          {"work", "work", ""},
                          {"start_us", "start", "us"},
                          {"end_us", "end", "us"},
                          {"time_us", "time", "us"},
                          {"alone_us", "alone", "us"},
                          {"slowdown", "slowdown", "", 3}});
  std::optional<sim::Time> serial = sim::Time::zero();
  bool all_apart = true;
  for (std::size_t i = 0; i < experiment.schedule.size(); ++i) {
    const Operation& operation = experiment.schedule[i];
    const Span& span = timeline.operations[i];
    const sim::Time time = span.end - span.start;
    const bool apart = !waits_for_others(operation.work);
    const sim::Time alone = apart ? testbed.alone(operation.work, operation.mask) : sim::Time::zero();
    if (serial) *serial += alone;
    all_apart = all_apart && apart;
    operations.add_row({operation.name, operation.stream, to_string(operation.work), sim::to_microseconds(span.start),
                        sim::to_microseconds(span.end), sim::to_microseconds(time),
                        apart ? Cell(sim::to_microseconds(alone)) : Cell(),
                        apart ? Cell(sim::to_seconds(time) / sim::to_seconds(alone)) : Cell()});
  }
  ResultTable overlap({{"experiment", "experiment", ""},
                       {"makespan_us", "makespan", "us"},
                       {"serial_us", "one after another", "us"},
                       {"speedup", "speedup", "", 3}});
  // What packets wait for is no work of theirs, so that their own time says nothing of how long they take alone.
  if (!all_apart) serial = one_after_another(testbed, experiment.schedule);
  overlap.add_row({experiment.name, sim::to_microseconds(timeline.makespan()),
                   serial ? Cell(sim::to_microseconds(*serial)) : Cell(),
                   serial ? Cell(sim::to_seconds(*serial) / sim::to_seconds(timeline.makespan())) : Cell()});
  return {testbed.platform().name,
          {{"results", "", std::move(operations)}, {"overlap", "", std::move(overlap)}},
          {},
          {{experiment.name, experiment.schedule}}};
}

}  // namespace c3sim::study
