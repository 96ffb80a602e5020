#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "models/kernels/gemm.h"
#include "sim/config/config_error.h"
#include "sim/config/expression.h"
#include "sim/config/files_read.h"
#include "sim/config/nearest_name.h"
#include "sim/overloaded.h"
#include "study/ask/words.h"
#include "study/config_folders.h"
#include "study/experiment/experiment.h"
#include "study/play/work_bounds.h"
#include "study/program/dependent.h"

namespace c3sim::study {

namespace {

constexpr std::int64_t word_values = 2'147'483'647;  // a FENCE writes 32 bits

// Reads the question's words (study/ask/words.h) from a section.
template <class Question>
Question told(sim::Section section, const models::PlatformSpec& platform, Question question = {}) {
  read_words(question, section, platform);
  return question;
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

models::ElementwiseSpec read_kernel(sim::Section section, const models::PlatformSpec& platform) {
  if (!section.has("operator")) return told<models::ElementwiseSpec>(section, platform);
  const auto asked = told<NamedKernel>(section, platform);
  std::vector<sim::Fault> faults;
  models::ElementwiseSpec kernel = kernel_of(asked, faults);
  for (const sim::Fault& fault : faults) {
    if (section.is_sound(fault.where)) section.fault(fault.where, fault.what);
  }
  return kernel;
}

// Pieces may be told by how many tiles of the product each has: their number is then a power of two.
models::FusedSpec read_fused(sim::Section section, const models::PlatformSpec& platform) {
  auto fused = told<models::FusedSpec>(section, platform);
  if (!section.has("tiles")) return fused;
  constexpr std::int64_t most_tiles = 1 << 20;
  const auto tiles = static_cast<std::uint64_t>(section.integer("tiles", 1, most_tiles));
  if (section.has("pieces"))
    section.fault("tiles", "says how many pieces there are, as 'pieces' does: one is accepted");
  const bool has_plan = platform.gpu.gemm.precision(fused.gemm.dtype).has_value();  // else it is impossible
  if (!section.is_sound("gemm") || !section.is_sound("tiles") || !has_plan) return fused;
  const auto of_shard = models::plan_gemm(platform.gpu, fused.gemm).pieces() / fused.gpus_of(platform.gpus);
  fused.pieces = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(of_shard) / tiles));
  return fused;
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
  if (operation.has("packets")) {
    sim::Section packets = section("packets");
    auto list = told<models::SdmaPacketList>(packets, platform);
    for (sim::Section& packet : packets.list("commands")) list.packets.push_back(read_packet(packet, platform.gpus));
    return list;
  }
  if (operation.has("collective")) return read_collective(section("collective"), platform);
  if (operation.has("copy")) return copies_of(told<CopyTrial>(section("copy"), platform));
  if (operation.has("kernel")) return read_kernel(section("kernel"), platform);
  if (operation.has("remote")) {
    return told(section("remote"), platform,
                models::RemoteKernelSpec{.peers = {}, .bytes = {}, .workgroups = platform.gpu.cus()});
  }
  if (operation.has("fused")) return read_fused(section("fused"), platform);
  if (operation.has("delay")) return DelaySpec{operation.time("delay", pause_lengths)};
  if (operation.has("host")) return HostWorkSpec{operation.time("host", pause_lengths)};
  if (operation.has("attention")) {
    models::AttentionShape shape = told(section("attention"), platform, untold_attention);
    if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
    if (shape.keys == 0) shape.keys = shape.queries;
    return shape;
  }
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
                    "only what begins with a kernel is queued on its GPUs: copy engines and work of the host are "
                    "started by the host when it knows that all before them has ended");
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
    operation.fault("gpus",
                    "only a gemm, attention, a kernel, a delay and work of the host are told their GPUs so: of other "
                    "work they are part of its own section");
  } else if (operation.is_sound("gpus") && (gpus.empty() || std::ranges::adjacent_find(gpus) != gpus.end())) {
    operation.fault("gpus", "at least one GPU is accepted, and each once");
  }
  const bool all = gpus.size() == static_cast<std::size_t>(platform.gpus);
  return all || !operation.is_sound("gpus") ? std::vector<int>() : gpus;
}

// Reads the work under the one key that names its kind (KindOfWork::key). Kernels may have `priority: low|normal|high`
// and `cus: [first, end]`, work that begins with a kernel `launch: queued|host`, and work that names no GPUs itself
// `gpus: [0, 1]`; Operation::gpus stays empty if all GPUs are named, or none.
Operation operation_in(sim::Section section, const models::PlatformSpec& platform) {
  Operation operation;
  operation.work = read_work(section, platform);
  operation.mask = read_mask(section, operation.work, platform);
  operation.priority = read_priority(section, operation.work, platform);
  operation.launch = read_launch(section, operation.work, platform);
  operation.gpus = read_gpus(section, operation.work, platform);
  return operation;
}

std::vector<int> count_from(int first, int end) {
  std::vector<int> values(static_cast<std::size_t>(end - first));
  std::iota(values.begin(), values.end(), first);
  return values;
}

// Returns the GPUs whose streams an operation is queued on: those that run it, and both ends of a copy.
std::vector<int> gpus_of(const Operation& operation, const models::PlatformSpec& platform) {
  const auto from = [&](int first, int count) {
    return count_from(first, std::clamp(first + count, first + 1, platform.gpus));
  };
  using Gpus = std::vector<int>;
  Gpus gpus = std::visit(
      sim::Overloaded{[&](const models::CollectiveSpec& spec) { return from(spec.first, spec.gpus); },
                      [&](const models::FusedSpec& spec) { return from(0, spec.gpus_of(platform.gpus)); },
                      [](const models::SdmaCopySpec& copy) {
                        return Gpus{copy.from, copy.to};
                      },
                      [](const models::SdmaPacketList& list) { return Gpus{list.gpu}; },
                      [](const models::RemoteKernelSpec& spec) { return Gpus{spec.gpu}; },
                      [&](const auto&) { return operation.gpus.empty() ? from(0, platform.gpus) : operation.gpus; }},
      operation.work);
  std::erase(gpus, models::host_device);
  return gpus;
}

constexpr int most_pieces = 1024;
constexpr std::size_t most_files = 64;

// Finds a file next to the including one or below it, or a shipped experiment of that name. No other path is accepted,
// so that an experiment from somebody else opens no other file.
std::filesystem::path included(const sim::PlacedText& base, const std::filesystem::path& file) {
  const std::filesystem::path name = std::filesystem::path(base.text).lexically_normal();
  if (name.is_absolute() || *name.begin() == "..") {
    throw sim::ConfigError({{base.place, "include",
                             "'" + base.text +
                                 "' lies elsewhere: files beside this one or in folders below it are accepted, and "
                                 "those of the folder experiments of the configurations"}});
  }
  std::filesystem::path beside = (file.parent_path() / name).lexically_normal();
  if (std::filesystem::exists(beside)) return beside;
  return sim::first_file(config_folders(), "experiments" / name).value_or(std::move(beside));
}

void include(sim::Config& config, const std::filesystem::path& file, std::vector<std::filesystem::path>& including) {
  for (const sim::PlacedText& base : config.take_includes("include")) {
    const std::filesystem::path path = included(base, file);
    if (std::ranges::find(including, path) != including.end()) {
      throw sim::ConfigError({{base.place, "include", "files include each other in a circle: " + path.string()}});
    }
    if (including.size() == most_files) {
      throw sim::ConfigError(
          {{base.place, "include", fmt::format("more than {} files within each other", most_files)}});
    }
    sim::Config under = sim::Config::from_file(path);
    including.push_back(path);
    include(under, path, including);
    including.pop_back();
    config.stand_on(under);
  }
}

// Returns the operation before cutting, as a stream of its own would have it: on all CUs, with its collective by RCCL,
// and with fused operations one after the other.
Schedule wholes_of(const GraphNode& node, const Testbed& testbed) {
  if (const auto* const fused = std::get_if<models::FusedSpec>(&node.operation.work)) {
    const models::CollectiveSpec collective = models::collective_of(*fused, testbed.platform().gpus);
    Schedule wholes{operation_of(fused->gemm), operation_of(collective)};
    if (fused->gathers()) std::swap(wholes[0], wholes[1]);
    return wholes;
  }
  Operation whole = operation_of(node.operation.work);
  whole.name = node.listed;
  whole.gpus = node.operation.gpus;
  whole.launch = node.operation.launch;
  auto* const collective = std::get_if<models::CollectiveSpec>(&whole.work);
  if (collective != nullptr && collective->backend != models::Backend::rccl) {
    models::CollectiveSpec by_rccl{.kind = collective->kind,
                                   .bytes = collective->bytes,
                                   .gpus = collective->gpus,
                                   .first = collective->first,
                                   .host_threads = collective->host_threads,
                                   .graph = collective->graph,
                                   .dtype = collective->dtype};
    if (testbed.why_impossible(by_rccl).empty()) *collective = by_rccl;
  }
  return {std::move(whole)};
}

// A ScheduleChoice is one schedule or, if its flag is set, the machine's fastest of those by shards and finer pieces.
using ScheduleChoice = std::pair<DependentSchedule, bool>;
std::vector<sim::Choice<ScheduleChoice>> schedule_choices() {
  using Collective = DependentSchedule::Collective;
  std::vector<sim::Choice<ScheduleChoice>> choices;
  for (const auto& schedules : {all_dependent_schedules(), triggered_schedules()}) {
    for (const DependentSchedule& one : schedules) choices.push_back({to_string(one), {one, false}});
  }
  for (const auto& [name, collective] :
       {std::pair("fastest_finer", Collective::gather), {"scatter_fastest_finer", Collective::scatter}}) {
    choices.push_back({name, {{.collective = collective, .backend = models::Backend::sdma}, true}});
  }
  return choices;
}

// Runs each possible schedule with shards or finer pieces on the machine and returns the fastest.
DependentSchedule fastest_finer(const models::PlatformSpec& platform, DependentSchedule::Collective collective,
                                const models::GemmShape& shape) {
  using Grain = DependentSchedule::Grain;
  Testbed testbed(platform);
  DependentSchedule fastest{.collective = collective, .backend = models::Backend::sdma};
  sim::Time least = sim::Time::max();
  for (const DependentSchedule& schedule : all_dependent_schedules()) {
    const bool is_finer = schedule.grain == Grain::shard || schedule.grain == Grain::finer;
    if (schedule.collective != collective || !is_finer || !why_impossible(schedule, shape, platform).empty()) continue;
    const sim::Time time = testbed.run(operations_of(schedule, shape, platform)).makespan();
    if (time < least) fastest = schedule;
    least = std::min(least, time);
  }
  return fastest;
}

sim::NamedValue number(std::int64_t value) { return sim::Amount{static_cast<double>(value), {}}; }

class ExperimentReader {
 public:
  ExperimentReader(sim::Config& config, const Testbed& testbed)
      : config_(config), testbed_(testbed), platform_(testbed.platform()) {}

  Experiment read() {
    resolve_parameters(config_, platform_);
    sim::Section root = config_.root();
    experiment_.name = root.name("name");
    experiment_.by_framework = root.has("launch");
    if (root.has("measure")) {
      experiment_.measured = root.choices<Measured>("measure", sim::choices_of<Measured>());
    }
    collect_names(root);
    if (listed_.empty() && root.is_sound("operations"))
      root.fault("operations", "an experiment has at least one operation");
    std::vector<Axis> layers;
    if (root.has("layers")) {
      layers.emplace_back("layer", counted(root, "layers", 1));
      if (config_.variables().has("layer")) root.fault("layers", "a parameter is named layer: it has another name");
    }
    repeat(layers, [&] {
      count_one(root);
      read_list(root);
    });
    if (experiment_.wholes.empty() && root.is_sound("operations") && !listed_.empty()) {
      root.fault("operations", "all are repeated no times: an experiment has at least one operation");
    }
    config_.finish();
    for (sim::Fault& fault : experiment_.graph.resolve()) {
      listed_.at(fault.where).section.fault(fault.path, std::move(fault.what));
    }
    const Schedule schedule = experiment_.graph.schedule();
    if (std::optional<OtherThreads> other = other_threads(schedule)) {
      const GraphNode& node = experiment_.graph.nodes()[other->place];
      listed_.at(node.listed).section.fault(kind_of(node.operation.work).key, std::move(other->what));
    }
    config_.check();
    return std::move(experiment_);
  }

 private:
  using Axis = std::pair<std::string, std::vector<int>>;

  void collect_names(sim::Section& list_of) {
    for (sim::Section& item : list_of.list("operations")) {
      if (item.has("operations")) {
        collect_names(item);
        continue;
      }
      const std::string name = item.name("name");
      if (name.empty()) continue;  // a fault that has been told
      const Listed listed{item, static_cast<Handle>(listed_.size())};
      if (!listed_.emplace(name, listed).second) item.fault("name", "an operation before this one has the same name");
    }
  }

  static std::vector<int> counted(sim::Section& section, std::string_view key, int least) {
    return count_from(0, static_cast<int>(section.integer(key, least, most_repetitions)));
  }

  std::vector<Axis> read_repeat(sim::Section& section) {
    std::vector<Axis> axes;
    if (!section.has("repeat")) return axes;
    if (!section.holds_section("repeat")) {
      return {{"repetition", counted(section, "repeat", 0)}};
    }
    sim::Section indices = section.section("repeat");
    for (const std::string& name : indices.keys()) {
      axes.emplace_back(
          name, indices.holds_list(name) ? indices.integers(name, 0, most_repetitions) : counted(indices, name, 0));
      if (config_.variables().has(name) || sim::is_reserved(name)) {
        indices.fault(name,
                      "this name is a parameter's, another index's, a unit's or a function's: another is accepted");
        axes.pop_back();
      }
    }
    return axes;
  }

  // Calls `body` for every combination of the indices' values, the first index changing slowest.
  template <class Body>
  void repeat(const std::vector<Axis>& axes, const Body& body, std::size_t depth = 0) {
    if (depth == axes.size()) return body();
    const auto& [name, values] = axes[depth];
    for (const int value : values) {
      indices_[name] = value;
      config_.variables().bind(name, number(value));
      repeat(axes, body, depth + 1);
    }
    indices_.erase(name);
    config_.variables().unbind(name);
  }

  // Throws sim::ConfigError at once if there are too many: what follows is not read and would be full of unknown keys.
  void count_one(sim::Section& section) {
    if (++counted_ <= most_operations) return;
    section.fault("repeat", fmt::format("the experiment has more than {} operations", most_operations));
    config_.check();
  }

  void read_list(sim::Section& list_of) {
    for (sim::Section& item : list_of.list("operations")) {
      std::vector<Axis> axes = read_repeat(item);
      const Indices outer = never_;
      for (auto& [name, values] : axes) {
        if (!values.empty()) continue;
        never_[name] = 0;
        values = {0};  // it is read once all the same, so that its faults are told
      }
      repeat(axes, [&] {
        count_one(item);
        item.has("operations") ? read_list(item) : read_operation(item);
      });
      never_ = outer;
    }
  }

  static Piece read_pieces(sim::Section& section) {
    Piece piece;
    if (!section.has("pieces")) return piece;
    if (!section.holds_section("pieces")) {
      piece.count = section.integer("pieces", 1, most_pieces);
      return piece;
    }
    sim::Section pieces = section.section("pieces");
    piece.count = pieces.integer("count", 1, most_pieces);
    piece.axis = pieces.choice<CutAxis>("of", sim::choices_of<CutAxis>(), CutAxis::tokens);
    return piece;
  }

  std::string instance(const std::string& name, const Piece& piece) const {
    std::vector<std::string> told_apart;
    for (const auto& [index, value] : indices_) told_apart.push_back(fmt::format("{}={}", index, value));
    if (piece.count > 1) told_apart.push_back(fmt::format("piece={}", piece.index));
    return told_apart.empty() ? name : fmt::format("{}[{}]", name, fmt::join(told_apart, ","));
  }

  // Reads "down"; "down@layer-1", the operation of the layer before; or "down@layer=3", that of layer 3.
  std::optional<Wait> read_wait(sim::Section& section, const char* key, const std::string& text) {
    Wait wait;
    const std::size_t at = text.find('@');
    const std::string name = text.substr(0, at);
    const auto named = listed_.find(name);
    if (named == listed_.end()) {
      section.fault(key, "no operation is named '" + name + "'" +
                             sim::name_hint(name, listed_, [](const auto& one) { return one.first; }));
      return {};
    }
    wait.on = named->second.handle;
    if (at == std::string::npos) return wait;
    const std::string shift = text.substr(at + 1);
    const std::size_t sign = shift.find_first_of("+-=");
    const sim::Parsed<std::int64_t> by = sim::parse_integer(shift.substr(std::min(shift.size(), sign + 1)));
    wait.index = shift.substr(0, sign);
    const bool only = sign != std::string::npos && shift[sign] == '=';
    if (sign == std::string::npos || !by.error.empty() || by.value < (only ? 0 : 1) || by.value > most_repetitions) {
      section.fault(
          key, "'" + text + "' is no repetition: write down@layer-1, the one of the layer before, or down@layer=3");
      return {};
    }
    if (only) {
      wait.only = by.value;
      return wait;
    }
    if (!indices_.contains(wait.index)) {
      section.fault(key, "'" + wait.index + "' is no index of this operation's repetitions");
      return {};
    }
    wait.shift = shift[sign] == '-' ? -by.value : by.value;
    return wait;
  }

  std::vector<Wait> read_waits(sim::Section& section) {
    std::vector<Wait> waits;
    if (section.has("stored")) {
      sim::Section stored = section.section("stored");
      std::optional<Wait> wait = read_wait(stored, "of", stored.text("of"));
      StoredRange range{};
      read_words(range, stored, platform_);
      if (wait && section.is_sound("stored")) {
        wait->range = range;
        waits.push_back(std::move(*wait));
      }
    }
    if (!section.has("after")) return waits;
    for (const std::string& text : section.texts("after")) {
      if (std::optional<Wait> wait = read_wait(section, "after", text)) waits.push_back(std::move(*wait));
    }
    return waits;
  }

  void read_operation(sim::Section& section) {
    GraphNode node;
    node.listed = section.name("name");
    if (const auto named = listed_.find(node.listed); named != listed_.end()) node.handle = named->second.handle;
    std::string stream = section.name("stream");
    node.indices = indices_;
    node.never = never_;
    const std::vector<Wait> waits = read_waits(section);
    if (section.has("dependent")) return read_dependent(section, std::move(node), stream, waits);
    Operation& operation = node.operation;
    operation = operation_in(section, platform_);
    // A framework launches each kernel when it comes to it, and does not wait for any.
    const bool queues = experiment_.by_framework && may_be_queued(operation.work, platform_.gpu.sdma);
    if (queues && !operation.launch) operation.launch = Launch::queued;
    operation.stream = std::move(stream);
    const Work work = operation.work;
    node.piece = read_pieces(section);
    node.gpus = gpus_of(operation, platform_);
    // What follows from a wrong value is not reported as a further fault.
    if (!section.is_sound(kind_of(work).key)) return;
    std::string reason = node.is_left_out() ? "" : testbed_.why_impossible(work);
    if (reason.empty() && !node.is_left_out()) reason = why_too_many_waves(work, platform_, operation.mask);
    if (!reason.empty()) return section.fault(kind_of(work).key, std::move(reason));
    reason = why_uncut(work, node.piece);
    if (!reason.empty() && !node.is_left_out()) return section.fault("pieces", reason);
    if (!reason.empty()) node.piece = {};
    node.whole = experiment_.wholes.size();
    if (!node.is_left_out()) experiment_.wholes.push_back(wholes_of(node, testbed_));
    for (std::int64_t i = 0; i < node.piece.count; ++i) {
      if (i > 0) count_one(section);
      node.piece.index = i;
      operation.work = piece_of(work, node.piece);
      operation.name = instance(node.listed, node.piece);
      experiment_.graph.add(node, waits);
    }
  }

  void read_dependent(sim::Section& section, GraphNode node, const std::string& stream,
                      const std::vector<Wait>& waits) {
    sim::Section asked = section.section("dependent");
    const sim::Parsed<models::GemmShape> shape = models::parse_gemm_shape(asked.text("gemm"));
    auto [schedule, fastest] = asked.choice<ScheduleChoice>("schedule", schedule_choices());
    if (!asked.is_sound("gemm")) return;
    if (!shape.ok()) return asked.fault("gemm", shape.error);
    for (const KindOfWork& other : kinds_of_work()) {
      if (section.has(other.key)) section.fault(other.key, "'dependent' is this operation's work already");
    }
    node.gpus = count_from(0, platform_.gpus);
    node.operation.stream = stream;
    if (node.is_left_out()) return experiment_.graph.add(std::move(node), waits);
    std::string reason = why_impossible(schedule, shape.value, platform_);
    if (reason.empty()) reason = testbed_.why_impossible(Work(shape.value));
    if (!reason.empty()) return asked.fault("gemm", std::move(reason));
    if (fastest) schedule = fastest_finer(platform_, schedule.collective, shape.value);
    const std::size_t first = experiment_.graph.size();
    node.whole = experiment_.wholes.size();
    // The uncut pair runs one after the other, with its collective by RCCL.
    experiment_.wholes.push_back(operations_of({.collective = schedule.collective}, shape.value, platform_));
    if (schedule.collective != DependentSchedule::Collective::none) {
      experiment_.pairs.push_back({node.listed, shape.value, collective_of(schedule, shape.value, platform_)});
    }
    std::size_t place = 0;
    for (Operation& operation : operations_of(schedule, shape.value, platform_)) {
      if (place > 0) count_one(section);
      node.inner.clear();
      for (const std::size_t earlier : operation.after) node.inner.push_back(first + earlier);
      operation.name = fmt::format("{}.{}", instance(node.listed, {}), place++);
      operation.stream = operation.stream == "compute" ? stream : stream + " " + operation.stream;
      node.operation = std::move(operation);
      experiment_.graph.add(node, node.inner.empty() ? waits : std::vector<Wait>());
    }
    experiment_.graph.join(stream, node.gpus, first);
  }

  sim::Config& config_;
  const Testbed& testbed_;
  const models::PlatformSpec& platform_;
  Experiment experiment_;
  Indices indices_;
  struct Listed {
    sim::Section section;
    Handle handle;
  };
  std::map<std::string, Listed> listed_;  // operations of the file by name
  std::size_t counted_ = 0;               // repetitions of operations and of lists
  Indices never_;                         // of what is being read: indices without values
};

}  // namespace

sim::Config experiment_config(const std::filesystem::path& file) {
  sim::Config config = sim::Config::from_file(file);
  std::vector<std::filesystem::path> including{file.lexically_normal()};
  include(config, file, including);
  return config;
}

void set_parameters(sim::Config& config, std::span<const std::string> assignments) {
  for (const std::string& assignment : assignments) {
    config.set({"parameters." + std::string(sim::trimmed(assignment)), "--param " + assignment});
  }
  config.declare_parameters("parameters");
}

ExperimentMachine read_machine(sim::Config& config) {
  sim::Section root = config.root();
  ExperimentMachine machine;
  if (root.has("protocol"))
    machine.protocol = root.choice<models::Protocol>("protocol", sim::choices_of<models::Protocol>());
  if (root.has("launch"))
    machine.launch = root.choice<models::LaunchMode>("launch", sim::choices_of<models::LaunchMode>());
  machine.platform = root.text("platform", "mi300x");
  if (root.has("set")) {
    for (sim::PlacedText& assignment : root.placed_texts("set")) machine.settings.push_back(std::move(assignment));
  }
  config.check();
  return machine;
}

void resolve_parameters(sim::Config& config, const models::PlatformSpec& platform) {
  sim::Variables& variables = config.variables();
  for (const std::string name : {"gpus", "cus"}) {
    if (!variables.has(name)) continue;
    config.root().fault("parameters", "'" + name + "' is the platform's: a parameter has another name");
  }
  config.check();
  variables.bind("gpus", number(platform.gpus));
  variables.bind("cus", number(platform.gpu.cus()));
  config.evaluate_parameters();
}

Experiment read_experiment(sim::Config& config, const Testbed& testbed) {
  return ExperimentReader(config, testbed).read();
}

}  // namespace c3sim::study
