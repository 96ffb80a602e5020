#include "study/step/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/config/config_error.h"
#include "study/run/power_meter.h"
#include "study/run/queue_time.h"
#include "study/run/testbed.h"
#include "study/step/step_faults.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

namespace {

using Busy = std::pair<sim::Time, sim::Time>;

// When any of them runs: apart and in order.
std::vector<Busy> unite(std::vector<Busy> intervals) {
  std::ranges::sort(intervals);
  std::vector<Busy> united;
  for (const Busy& one : intervals) {
    if (united.empty() || one.first > united.back().second) {
      united.push_back(one);
    } else {
      united.back().second = std::max(united.back().second, one.second);
    }
  }
  return united;
}

sim::Time length(const std::vector<Busy>& united) {
  sim::Time sum{0};
  for (const auto& [begin, end] : united) sum += end - begin;
  return sum;
}

// What an operation of a graph is of a step.
struct Listed {
  std::string name;
  Kind kind{};
  const StepBlock* block = nullptr;
};

// When a GPU of a stage was at work.
struct Lanes {
  std::vector<Busy> compute;
  std::vector<Busy> communication;
};

// What a run of some layers shows. All of it grows with the number of layers by as much for each, once there are
// enough.
struct Seen {
  double time = 0.0;  // seconds, as all times here
  double compute = 0.0;
  double communication = 0.0;
  double exposed = 0.0;
  std::map<std::string, StepShare> operations;
  double energy = 0.0;  // joules
  double cycles = 0.0;  // of the engine clock
  double flops = 0.0;

  // An operation, or a part of one, of which one GPU has such a share.
  void count(const StepPart& part, double share, const models::PlatformSpec& platform) {
    const double seconds = sim::to_seconds(part.end - part.start).value();
    StepShare& all = operations[part.name];
    all.kind = part.kind;
    all.work = to_string(part.work);
    all.count += share;
    all.time += share * seconds;
    Limits limits = limits_of(part.work, platform);
    limits *= share;
    all.limits += limits;
    time = std::max(time, sim::to_seconds(part.end).value());
    if (part.name.starts_with("again_")) return;
    if (const auto* gemm = std::get_if<models::GemmShape>(&part.work)) flops += share * gemm->flops().value();
    if (const auto* shape = std::get_if<models::AttentionShape>(&part.work)) flops += share * shape->flops().value();
  }

  template <class Visit>
  static void each(Seen& a, const Seen& b, const Visit& visit) {
    visit(a.time, b.time);
    visit(a.compute, b.compute);
    visit(a.communication, b.communication);
    visit(a.exposed, b.exposed);
    for (auto& [name, share] : a.operations) {
      const StepShare& other = b.operations.at(name);
      // What is of no layer takes as long: what differs is by what happens to run beside it.
      if (share.count == other.count && share.limits.longest() == other.limits.longest()) continue;
      visit(share.count, other.count);
      visit(share.time, other.time);
      visit(share.limits.arithmetic, other.limits.arithmetic);
      visit(share.limits.memory, other.limits.memory);
      visit(share.limits.links, other.limits.links);
    }
    visit(a.energy, b.energy);
    visit(a.cycles, b.cycles);
    visit(a.flops, b.flops);
  }
};

class StepRun {
 public:
  StepRun(const models::PlatformSpec& platform, const StepQuestion& question,
          std::span<const ElementwiseOperator> operators)
      : question_(question),
        operators_(operators),
        from_graph_(launching(platform, true)),
        op_by_op_(launching(platform, false)) {}

  // With its launches, and so many layers.
  double time(std::int64_t layers) {
    return look(question_, question_.graph ? from_graph_ : op_by_op_, layers, Looks::at_time).time;
  }
  Seen look(std::int64_t layers) {
    StepQuestion graph_question = question_;
    graph_question.graph = true;
    Seen seen = look(graph_question, from_graph_, layers, Looks::at_all);
    if (question_.graph) return seen;
    const Seen launched = look(question_, op_by_op_, layers, Looks::at_all);
    seen.time = launched.time;
    seen.energy = launched.energy;
    seen.cycles = launched.cycles;
    return seen;
  }
  // So many layers, as launched.
  void show(std::int64_t layers, StepResult& result) {
    Testbed& testbed = question_.graph ? from_graph_ : op_by_op_;
    result.graph = graph_of(step_blocks(question_, operators_, layers, testbed.platform()), testbed.platform().gpus);
    const Schedule schedule = result.graph.schedule();
    result.spans = on_queues(schedule, testbed.run(schedule), testbed.platform());
  }
  std::vector<std::string> warnings() const { return (question_.graph ? from_graph_ : op_by_op_).warnings(); }

 private:
  enum class Looks { at_time, at_all };
  Seen look(const StepQuestion& question, Testbed& testbed, std::int64_t layers, Looks looks) {
    const std::vector<StepBlock> blocks = step_blocks(question, operators_, layers, testbed.platform());
    const OperationGraph graph = graph_of(blocks, testbed.platform().gpus, question.pause);
    const Schedule schedule = graph.schedule();
    require_possible(testbed, schedule);
    const Timeline& timeline = testbed.run(schedule);
    Seen seen = tell(blocks, graph, timeline, testbed.platform(), question);
    const sim::Seconds time(seen.time);
    seen.time -= sim::to_seconds(question.pause).value();
    if (looks == Looks::at_time) return seen;
    PowerMeter meter;
    testbed.watch(schedule, [&meter](models::Node& node, sim::Time) { meter.attach(node); });
    seen.energy = (meter.mean_power(time) * sim::Seconds(seen.time)).value();
    seen.cycles = meter.mean_clock(time) * sim::Seconds(seen.time);
    return seen;
  }

  static void require_possible(const Testbed& testbed, const Schedule& schedule) {
    std::vector<sim::Fault> faults;
    for (const Operation& operation : schedule) {
      const std::string why = testbed.why_impossible(operation.work);
      const bool is_new = std::ranges::find(faults, why, &sim::Fault::what) == faults.end();
      if (!why.empty() && is_new) faults.push_back({"step", operation.name, why});
    }
    if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  }

  // None begins before the hosts have paused. Of one GPU: where there are stages, of the mean one.
  static Seen tell(const std::vector<StepBlock>& blocks, const OperationGraph& graph, const Timeline& timeline,
                   const models::PlatformSpec& platform, const StepQuestion& question) {
    std::map<std::string, Listed> listed;
    for (const StepBlock& block : blocks) {
      for (const StepOperation& one : block.operations) listed[one.name + block.suffix] = {one.name, one.kind, &block};
    }
    Seen seen;
    std::vector<Lanes> lanes(static_cast<std::size_t>(question.pp));
    const double share = 1.0 / question.pp;
    for (std::size_t place = 0; place < graph.nodes().size(); ++place) {
      const GraphNode& node = graph.nodes()[place];
      if (node.listed == pause_name) continue;
      const Listed& one = listed.at(node.listed);
      for (StepPart& part : parts_of(one.name, one.kind, node.operation.work, timeline.operations[place], platform)) {
        part.start = std::max(part.start, question.pause);
        seen.count(part, one.block->share(question.gpus()), platform);
        for (std::size_t stage = 0; stage < lanes.size(); ++stage) {
          const std::vector<int>& gpus = one.block->gpus;
          const int first = static_cast<int>(stage) * question.stage_gpus();
          if (!gpus.empty() && std::ranges::count(gpus, first) == 0) continue;
          Lanes& lane = lanes[stage];
          (communicates(part.kind) ? lane.communication : lane.compute).emplace_back(part.start, part.end);
        }
      }
    }
    for (Lanes& stage : lanes) {
      std::vector<Busy> all = stage.compute;
      all.insert(all.end(), stage.communication.begin(), stage.communication.end());
      const sim::Time busy = length(unite(std::move(stage.compute)));
      seen.compute += share * sim::to_seconds(busy).value();
      seen.communication += share * sim::to_seconds(length(unite(std::move(stage.communication)))).value();
      seen.exposed += share * sim::to_seconds(length(unite(std::move(all))) - busy).value();
    }
    return seen;
  }

  const StepQuestion& question_;
  std::span<const ElementwiseOperator> operators_;
  Testbed from_graph_;
  Testbed op_by_op_;
};

bool is_possible(const models::PlatformSpec& platform, const StepQuestion& question,
                 std::span<const ElementwiseOperator> operators) {
  const Testbed testbed(platform);
  for (const StepBlock& block : step_blocks(question, operators, 1, platform)) {
    for (const StepOperation& one : block.operations) {
      if (!testbed.why_impossible(one.work).empty()) return false;
    }
  }
  return true;
}

// What each kind of collective is best carried by: one kind after the other by what makes the step fastest.
StepQuestion with_chosen_carriers(const models::PlatformSpec& platform, StepQuestion question,
                                  std::span<const ElementwiseOperator> operators) {
  const std::int64_t few = std::min<std::int64_t>(2, question.stage_layers());
  std::set<models::CollectiveKind> kinds_of_step;
  for (const StepBlock& block : step_blocks(question, operators, 1, platform)) {
    for (const StepOperation& one : block.operations) {
      if (const auto* spec = std::get_if<models::CollectiveSpec>(&one.work)) kinds_of_step.insert(spec->kind);
    }
  }
  double fastest = StepRun(platform, question, operators).time(few);
  for (const models::CollectiveKind kind : kinds_of_step) {
    for (const models::BackendAbilities& backend : models::backends()) {
      if (std::ranges::count(backend.kinds, kind) == 0) continue;
      StepQuestion other = question;
      other.chosen[kind] = backend.backend;
      if (!is_possible(platform, other, operators)) continue;
      const double time = StepRun(platform, other, operators).time(few);
      if (time <= fastest) question.chosen[kind] = backend.backend;
      fastest = std::min(fastest, time);
    }
  }
  return question;
}

}  // namespace

models::PlatformSpec launching(models::PlatformSpec platform, bool graph) {
  platform.host.kernel_launch = graph ? sim::Time(0) : platform.host.framework_call;
  platform.host.collective_launch =
      graph ? sim::Time(0) : std::max(sim::Time(0), platform.host.framework_collective - platform.host.framework_call);
  platform.host.graph_launch = sim::Time(0);
  platform.host.kernel_gap = graph ? sim::Time(0) : platform.host.framework_gap;
  return platform;
}

double StepResult::tokens_per_second() const {
  const double tokens = static_cast<double>(question.new_tokens() * question.dp);
  return tokens / sim::to_seconds(time).value();
}

StepResult ask(const models::PlatformSpec& platform, const StepQuestion& question,
               std::span<const ElementwiseOperator> operators, std::int64_t simulated) {
  if (std::vector<sim::Fault> faults = faults_of(question, platform); !faults.empty()) {
    throw sim::ConfigError(std::move(faults));
  }
  StepResult result;
  result.question = question.collectives.backend ? question : with_chosen_carriers(platform, question, operators);
  StepRun run(platform, result.question, operators);
  const std::int64_t layers = question.stage_layers();
  const std::int64_t few = std::min(layers, question.pp > 1 ? layers_of_stage : simulated);
  Seen seen = run.look(few);
  if (few < layers) {
    const double more = static_cast<double>(layers - few);
    Seen::each(seen, run.look(few - 1),
               [more](auto& of_few, auto of_one_less) { of_few = of_few + more * (of_few - of_one_less); });
  }
  const auto time = [](double seconds) { return sim::to_time(sim::Seconds(seconds)); };
  result.time = time(seen.time);
  result.compute = time(seen.compute);
  result.communication = time(seen.communication);
  result.exposed = std::min(time(seen.exposed), result.communication);
  std::array<double, kinds> by_kind{};
  for (const auto& [name, share] : seen.operations) by_kind[static_cast<std::size_t>(share.kind)] += share.time;
  for (std::size_t kind = 0; kind < kinds; ++kind) result.by_kind[kind] = time(by_kind[kind]);
  result.power = sim::Joules(seen.energy) / sim::Seconds(seen.time);
  result.clock = sim::Hertz(seen.cycles / seen.time);
  result.flops = sim::Flops(seen.flops);
  result.memory = memory_of(question);
  result.warnings = run.warnings();
  result.operations = std::move(seen.operations);
  run.show(few, result);
  return result;
}

}  // namespace c3sim::study
