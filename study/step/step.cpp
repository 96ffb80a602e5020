#include "study/step/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "sim/config/config_error.h"
#include "study/run/busy_times.h"
#include "study/run/power_meter.h"
#include "study/run/queue_time.h"
#include "study/run/testbed.h"
#include "study/step/step_carriers.h"
#include "study/step/step_faults.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

namespace {

// So many layers of a step, all of whose operations the machine can do.
struct PartOfStep {
  std::vector<StepBlock> blocks;
  OperationGraph graph;
  Schedule schedule;
};

// When a GPU of a stage was at work.
struct Lanes {
  BusyTimes compute, communication;
};

double seconds_of(const BusyTimes& times) { return sim::to_seconds(length_of(times)).value(); }

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

// So many of its micro-batches.
StepQuestion of_micro(StepQuestion question, int micro) {
  question.batch = question.batch / question.micro * micro;
  question.micro = micro;
  return question;
}

constexpr double same_period = 2e-3;  // of a layer or a micro-batch: what differs by less takes as long

class StepRun {
 public:
  StepRun(const models::PlatformSpec& platform, const StepQuestion& question,
          std::span<const ElementwiseOperator> operators, const Testbed::Factor& factor = {})
      : question_(question),
        operators_(operators),
        from_graph_(launching(platform, models::LaunchMode::graph), factor),
        op_by_op_(launching(platform, models::LaunchMode::op_by_op), factor) {}

  // With its launches, and so many layers.
  double time(std::int64_t layers) { return time(question_, question_.graph ? from_graph_ : op_by_op_, layers); }
  // Of all layers and micro-batches; of the layers so many are simulated at least.
  Seen look(std::int64_t simulated) {
    StepQuestion graph_question = question_;
    graph_question.graph = true;
    Seen seen = of_all_micro(graph_question, from_graph_, simulated);
    if (question_.graph) return seen;
    const Seen launched = of_all_micro(question_, op_by_op_, simulated);
    seen.time = launched.time;
    seen.energy = launched.energy;
    seen.cycles = launched.cycles;
    return seen;
  }
  // The first of its layers and micro-batches, as launched.
  void show(std::int64_t layers, StepResult& result) {
    Testbed& testbed = question_.graph ? from_graph_ : op_by_op_;
    const StepQuestion shown = of_micro(question_, std::min(question_.micro, few_micro(question_)));
    result.layers_shown = layers;
    result.micro_shown = shown.micro;
    result.graph = graph_of(step_blocks(shown, operators_, layers, testbed.platform()), testbed.platform().gpus);
    const Schedule schedule = result.graph.schedule();
    result.spans = on_queues(schedule, testbed.run(schedule), testbed.platform());
  }
  // Of few micro-batches, and as if each layer beyond a few, or some more, took as long as the last of these.
  double about() {
    const StepQuestion few_batches = of_micro(question_, std::min(question_.micro, few_micro(question_)));
    Testbed& testbed = question_.graph ? from_graph_ : op_by_op_;
    const std::int64_t layers = question_.stage_layers();
    const std::int64_t least = question_.pp > 1 ? layers_of_stage : simulated_layers;
    for (const std::int64_t few : {least, 4 * least}) {
      if (few >= layers) break;
      const double seconds = time(few_batches, testbed, few);
      const double of_less = time(few_batches, testbed, few - 1);
      if (few == least && !repeats(few_batches, testbed, few, seconds, of_less)) continue;
      return seconds + static_cast<double>(layers - few) * (seconds - of_less);
    }
    return time(few_batches, testbed, layers);
  }
  std::vector<std::string> warnings() const { return (question_.graph ? from_graph_ : op_by_op_).warnings(); }

 private:
  enum class Of { all, layers };  // of a step, or its layers and their update, without what is before and behind them

  // Micro-batches until each further `micro_period` of them takes as long. With gradients, stages take turns by as many
  // as there are stages.
  static int micro_period(const StepQuestion& question) { return question.trains() ? question.pp : 1; }
  static int few_micro(const StepQuestion& question) {
    const int period = micro_period(question);
    return 2 * period + 2 + (question.micro - 2) % period;
  }

  static bool alike(double one, double other) { return std::abs(one - other) <= same_period * std::abs(one); }

  static void extend(Seen& seen, const Seen& of_one_less, std::int64_t by) {
    const double more = static_cast<double>(by);
    Seen::each(seen, of_one_less, [more](auto& of_few, auto less) { of_few = of_few + more * (of_few - less); });
  }

  Seen of_all_micro(const StepQuestion& question, Testbed& testbed, std::int64_t simulated) {
    const int few = few_micro(question);
    const int period = micro_period(question);
    if (few >= question.micro) return of_all_layers(question, testbed, simulated);
    Seen seen = of_all_layers(of_micro(question, few), testbed, simulated);
    const Seen less = of_all_layers(of_micro(question, few - period), testbed, simulated);
    const Seen least = of_all_layers(of_micro(question, few - 2 * period), testbed, simulated);
    if (!alike(seen.time - less.time, less.time - least.time)) return of_all_layers(question, testbed, simulated);
    extend(seen, less, (question.micro - few) / period);
    return seen;
  }

  Seen of_all_layers(const StepQuestion& question, Testbed& testbed, std::int64_t simulated) {
    const std::int64_t layers = question.stage_layers();
    for (std::int64_t few = question.pp > 1 ? layers_of_stage : simulated; few < layers; few *= 4) {
      if (few > simulated && 2 * few > layers) break;
      Seen seen = look(question, testbed, few);
      const Seen less = look(question, testbed, few - 1);
      if (!repeats(question, testbed, few, seen.time, less.time)) continue;
      extend(seen, less, layers - few);
      return seen;
    }
    return look(question, testbed, layers);
  }

  // Whether the last of so many layers took as long as any further one will. Training goes through them twice: what
  // gets ahead in one pass, such as the host, is used up in the other, sooner the less there is before and behind the
  // layers, so that layers alone show it at once.
  bool repeats(const StepQuestion& question, Testbed& testbed, std::int64_t few, double time_of_few, double of_less) {
    if (few < 3) return true;
    const double last = time_of_few - of_less;
    if (!question.trains() || question.layers || question.micro > 1) {
      return alike(last, of_less - time(question, testbed, few - 2));
    }
    return alike(last, time(question, testbed, few, Of::layers) - time(question, testbed, few - 1, Of::layers));
  }

  PartOfStep part_of(const StepQuestion& question, const Testbed& testbed, std::int64_t layers, Of of = Of::all) const {
    PartOfStep part{step_blocks(question, operators_, layers, testbed.platform()), {}, {}};
    if (of == Of::layers) {
      std::erase_if(part.blocks, [](const StepBlock& block) {
        return block.layers == 0 && block.operations.front().kind != Kind::optimizer;
      });
    }
    part.graph = graph_of(part.blocks, testbed.platform().gpus, question.pause);
    part.schedule = part.graph.schedule();
    std::vector<sim::Fault> faults;
    for (const Operation& operation : part.schedule) {
      const std::string why = testbed.why_impossible(operation.work);
      const bool is_new = std::ranges::find(faults, why, &sim::Fault::what) == faults.end();
      if (!why.empty() && is_new) faults.push_back({"step", operation.name, why});
    }
    if (!faults.empty()) throw sim::ConfigError(std::move(faults));
    return part;
  }

  double time(const StepQuestion& question, Testbed& testbed, std::int64_t layers, Of of = Of::all) {
    const PartOfStep part = part_of(question, testbed, layers, of);
    return tell(part, testbed.run(part.schedule), testbed.platform(), question).time -
           sim::to_seconds(question.pause).value();
  }

  Seen look(const StepQuestion& question, Testbed& testbed, std::int64_t layers) {
    const PartOfStep part = part_of(question, testbed, layers);
    // Where runs are not each as from rest, what is metered is the last of them; factors are on no run that is watched.
    const bool many = clock_settles(testbed.platform()) || rounds_differ(testbed.platform());
    const Timeline* const known = many || testbed.factor() ? &testbed.run(part.schedule) : nullptr;
    PowerMeter meter;
    const Timeline metered =
        testbed.watch(part.schedule, [&meter](models::Node& node, sim::Time) { meter.attach(node); });
    Seen seen = tell(part, known != nullptr ? *known : metered, testbed.platform(), question);
    const sim::Seconds time(seen.time);
    seen.time -= sim::to_seconds(question.pause).value();
    seen.energy = (meter.mean_power(time) * sim::Seconds(seen.time)).value();
    seen.cycles = meter.mean_clock(time) * sim::Seconds(seen.time);
    return seen;
  }

  // None begins before the hosts have paused. Of one GPU: where there are stages, of the mean one.
  static Seen tell(const PartOfStep& of, const Timeline& timeline, const models::PlatformSpec& platform,
                   const StepQuestion& question) {
    std::map<std::string, std::pair<const StepOperation*, const StepBlock*>> listed;
    for (const StepBlock& block : of.blocks) {
      for (const StepOperation& one : block.operations) listed[one.name + block.suffix] = {&one, &block};
    }
    Seen seen;
    std::vector<Lanes> lanes(static_cast<std::size_t>(question.pp));
    const double share = 1.0 / question.pp;
    for (std::size_t place = 0; place < of.graph.nodes().size(); ++place) {
      const GraphNode& node = of.graph.nodes()[place];
      if (node.listed == pause_name) continue;
      const auto& [one, block] = listed.at(node.listed);
      for (StepPart& part : parts_of(one->name, one->kind, node.operation.work, timeline.operations[place], platform)) {
        part.start = std::max(part.start, question.pause);
        seen.count(part, block->share(question.gpus()), platform);
        for (std::size_t stage = 0; stage < lanes.size(); ++stage) {
          const std::vector<int>& gpus = block->gpus;
          const int first = static_cast<int>(stage) * question.stage_gpus();
          if (!gpus.empty() && std::ranges::count(gpus, first) == 0) continue;
          add_busy(communicates(part.kind) ? lanes[stage].communication : lanes[stage].compute, part.start, part.end);
        }
      }
    }
    for (const auto& [compute, communication] : lanes) {
      seen.compute += share * seconds_of(compute);
      seen.communication += share * seconds_of(communication);
      seen.exposed += share * seconds_of(communication - compute);
    }
    return seen;
  }

  const StepQuestion& question_;
  std::span<const ElementwiseOperator> operators_;
  Testbed from_graph_;
  Testbed op_by_op_;
};

// Infinite where the machine cannot do what is asked.
double seconds_or_never(const std::function<double()>& seconds) {
  try {
    return seconds();
  } catch (const sim::ConfigError&) {
    return std::numeric_limits<double>::infinity();
  }
}

// What each kind of collective is best carried by, but for those that were chosen.
StepQuestion with_chosen_carriers(const models::PlatformSpec& platform, const StepQuestion& question,
                                  std::span<const ElementwiseOperator> operators) {
  const std::int64_t few = std::min<std::int64_t>(2, question.stage_layers());
  const std::vector<StepCollective> collectives = collectives_of(step_blocks(question, operators, 1, platform));
  const auto times = [&](const std::vector<StepQuestion>& questions) {
    std::vector<double> seconds;
    for (const StepQuestion& one : questions) {
      seconds.push_back(seconds_or_never([&] { return StepRun(platform, one, operators).time(few); }));
    }
    return seconds;
  };
  return descend(with_all_chosen(question, collectives), decisions_by_kind(question, collectives), times);
}

}  // namespace

models::PlatformSpec launching(models::PlatformSpec platform, models::LaunchMode mode) {
  platform.host = platform.host.launched(mode);
  return platform;
}

double about(const models::PlatformSpec& platform, const StepQuestion& question,
             std::span<const ElementwiseOperator> operators) {
  if (!faults_of(question, platform).empty()) return std::numeric_limits<double>::infinity();
  return seconds_or_never([&] { return StepRun(platform, question, operators).about(); });
}

double StepResult::tokens_per_second() const {
  const double tokens = static_cast<double>(question.new_tokens() * question.dp);
  return tokens / sim::to_seconds(time).value();
}

StepResult ask(const models::PlatformSpec& platform, const StepQuestion& question,
               std::span<const ElementwiseOperator> operators, const Testbed::Factor& factor, std::int64_t simulated) {
  if (std::vector<sim::Fault> faults = faults_of(question, platform); !faults.empty()) {
    throw sim::ConfigError(std::move(faults));
  }
  if (std::vector<sim::Fault> faults = faults_of_carriers(question, platform, operators); !faults.empty()) {
    throw sim::ConfigError(std::move(faults));
  }
  StepResult result;
  result.question = question.collectives.backend ? question : with_chosen_carriers(platform, question, operators);
  StepRun run(platform, result.question, operators, factor);
  const Seen seen = run.look(simulated);
  const auto time = [](double seconds) { return sim::to_time(sim::Seconds(seconds)); };
  result.time = time(seen.time);
  result.compute = time(seen.compute);
  result.communication = time(seen.communication);
  result.exposed = std::min(time(seen.exposed), result.communication);
  std::array<double, all_kinds.size()> by_kind{};
  for (const auto& [name, share] : seen.operations) by_kind[static_cast<std::size_t>(share.kind)] += share.time;
  std::ranges::transform(by_kind, result.by_kind.begin(), time);
  result.power = sim::Joules(seen.energy) / sim::Seconds(seen.time);
  result.clock = sim::Hertz(seen.cycles / seen.time);
  result.flops = sim::Flops(seen.flops);
  result.memory = memory_of(question);
  result.warnings = run.warnings();
  result.operations = seen.operations;
  run.show(std::min(question.stage_layers(), question.pp > 1 ? layers_of_stage : simulated), result);
  return result;
}

}  // namespace c3sim::study
