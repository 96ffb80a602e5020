#include "study/step/step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "study/play/power_meter.h"
#include "study/play/queue_time.h"
#include "study/play/testbed.h"
#include "study/play/timeline.h"
#include "study/step/pipeline_run.h"
#include "study/step/step_carriers.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

namespace {

constexpr double same_period = 5e-4;    // relative difference of two periods of a layer that count as equal
constexpr double settled_power = 2e-3;  // relative distance from the cap at which governors have settled

class StepRun {
 public:
  StepRun(const StepMachine& machine, const StepQuestion& question, const Testbed::Factor& factor = {})
      : question_(question),
        templates_(machine.templates),
        testbed_(launching(machine.platform, question.launch()), factor) {}

  // Returns the seconds of a step with this many layers.
  double time(std::int64_t layers) { return seen_of(layers).time; }
  // Returns the totals over all layers and micro-batches; at least `simulated` layers are simulated.
  StepTotals look(std::int64_t simulated) {
    if (!question_.has_turns() || simulated == in_whole) return of_all_layers(simulated);
    from_pipeline_ = pipeline_step(question_, templates_, testbed_);
    return from_pipeline_->totals;
  }
  // Runs the first layers, stages and micro-batches, launched as asked, for the timeline.
  void show(std::int64_t layers, StepResult& result) {
    const StepQuestion shown = question_.has_turns() ? few_of_pipeline(question_) : question_;
    result.layers_shown = layers;
    result.stages_shown = shown.pp;
    result.micro_shown = shown.micro;
    if (question_.graph && from_pipeline_) {
      result.graph = std::move(from_pipeline_->graph);
      result.spans = on_queues(result.graph.schedule(), from_pipeline_->timeline, testbed_.platform());
      return;
    }
    const StepMachine machine{testbed_.platform(), templates_};
    result.graph =
        graph_of(question_.has_turns() ? few_pipeline_blocks(question_, machine) : step_blocks(shown, layers, machine),
                 testbed_.platform());
    const Schedule schedule = result.graph.schedule();
    result.spans = on_queues(schedule, testbed_.run(schedule), testbed_.platform());
  }
  // Returns approximate seconds, taking each layer beyond a few, or beyond some more, to be like the last of them.
  double about() {
    if (question_.has_turns()) return pipeline_step(question_, templates_, testbed_).totals.time;
    const std::int64_t layers = std::ranges::max(layers_of_kinds());
    const auto look = [this](FewLayers of) { return seen_of(of); };
    for (const std::int64_t few : {simulated_layers, 4 * simulated_layers}) {
      if (few >= layers) break;
      if (const std::optional<StepTotals> all = from_few(few, look, few == simulated_layers)) return all->time;
    }
    return time(layers);
  }
  std::vector<std::string> warnings() const { return testbed_.warnings(); }

 private:
  // Returns the layers of each kind; a pipeline, all of which is simulated here, has those of its longest stage.
  std::vector<std::int64_t> layers_of_kinds() const {
    if (question_.has_turns()) return {question_.stage_layers()};
    std::vector<std::int64_t> counts;
    for (const LayerGroup& group : question_.groups()) counts.push_back(group.layers);
    return counts;
  }

  // Returns whether the periods of two layers agree in the time and in all of its parts.
  static bool alike(const StepTotals& one, const StepTotals& before, const StepTotals& other,
                    const StepTotals& before_other) {
    const double tolerance = same_period * std::abs(one.time - before.time);
    return std::ranges::all_of(
        std::array<double StepTotals::*, 5>{&StepTotals::time, &StepTotals::compute, &StepTotals::communication,
                                            &StepTotals::exposed, &StepTotals::host},
        [&](auto of) {
          const double period = one.*of - before.*of;
          return std::abs(period - (other.*of - before_other.*of)) <= tolerance;
        });
  }

  StepTotals of_all_layers(std::int64_t simulated) {
    const std::int64_t layers = std::ranges::max(layers_of_kinds());
    const auto look = [this](FewLayers of) { return metered(of); };
    for (std::int64_t few = simulated; few < layers; few *= 4) {
      if (few > simulated && 2 * few > layers) break;
      if (const std::optional<StepTotals> all = from_few(few, look, true); all && keeps_cap(*all)) return *all;
    }
    return metered(layers);
  }

  // Returns whether the mean power is at most the cap. It is not if layers draw more than what surrounds them, so that
  // the cap held only the longer of the two runs: their difference then counts energy that no layer draws.
  bool keeps_cap(const StepTotals& totals) const {
    const double cap = testbed_.platform().gpu.power.cap.value();
    return totals.energy <= (1.0 + settled_power) * cap * totals.time;
  }

  // Extrapolates to all layers: each further layer of a kind adds the difference to one fewer of this kind. If asked to
  // check, returns nothing unless the last layer of each kind is like any further one.
  std::optional<StepTotals> from_few(std::int64_t few, const std::function<StepTotals(FewLayers)>& look,
                                     bool asks_whether_they_repeat) {
    const std::vector<std::int64_t> counts = layers_of_kinds();
    const StepTotals seen = look(few);
    StepTotals all = seen;
    for (std::size_t kind = 0; kind < counts.size(); ++kind) {
      if (counts[kind] <= few) continue;
      const StepTotals less = look({few, kind, 1});
      if (asks_whether_they_repeat && !repeats(few, kind, seen, less)) return {};
      all.extend(seen, less, static_cast<double>(counts[kind] - few));
    }
    return all;
  }

  // Returns whether the last of `few` layers took as long as any further one will. Training goes through the layers
  // twice: a lead gained in one pass, such as the host's, is lost in the other, and the less there is before and after
  // the layers, the sooner; so a run of layers alone shows it at once.
  bool repeats(std::int64_t few, std::size_t kind, const StepTotals& of_few, const StepTotals& of_less) {
    if (few < 3) return true;
    if (!question_.trains() || question_.layers) return alike(of_few, of_less, of_less, seen_of({few, kind, 2}));
    return alike(of_few, of_less, seen_of(few, true), seen_of({few, kind, 1}, true));
  }

  StepTotals seen_of(FewLayers layers, bool are_alone = false) {
    const PartOfStep played = part_of(question_, templates_, testbed_, layers, are_alone);
    return tell(played, testbed_.run(played.schedule));
  }

  // Adds the power and clock that a meter measures.
  StepTotals metered(FewLayers layers) {
    const PartOfStep played = part_of(question_, templates_, testbed_, layers);
    // If runs are not all alike, the last one is metered. A metered run has no factors.
    const bool many = clock_settles(testbed_.platform()) || rounds_differ(testbed_.platform());
    const Timeline* const known = many || testbed_.factor() ? &testbed_.run(played.schedule) : nullptr;
    PowerMeter meter;
    const Timeline metered =
        testbed_.watch(played.schedule, [&meter](models::Node& node, sim::Time) { meter.attach(node); });
    if (known == nullptr) testbed_.count(metered);
    StepTotals seen = tell(played, known != nullptr ? *known : metered);
    const sim::Seconds time(seen.time);
    const sim::Seconds with_pause = time + sim::to_seconds(question_.pause);
    seen.energy = (meter.mean_power(with_pause) * time).value();
    seen.cycles = meter.mean_clock(with_pause) * time;
    return seen;
  }

  // Returns totals of the mean stage. The pause of the hosts before the step does not count.
  StepTotals tell(const PartOfStep& of, const Timeline& timeline) const {
    StepTotals seen;
    struct Stage {
      BusyTimes compute, communication, launching;
    };
    std::vector<Stage> stages(static_cast<std::size_t>(question_.pp));
    const std::vector<PartOfStep::Place> places = of.places();
    for (std::size_t place = 0; place < places.size(); ++place) {
      const auto [one, block] = places[place];
      if (one == nullptr) continue;
      const Span& span = timeline.operations[place];
      std::vector<StepPart> parts = parts_of(*one, span, testbed_.platform());
      for (StepPart& part : parts) {
        part.start = std::max(part.start, question_.pause);
        seen.count(part, block->share(question_.gpus()), testbed_.platform());
      }
      for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        if (!block->is_on(static_cast<int>(stage) * question_.stage_gpus())) continue;
        for (const StepPart& part : parts) {
          add_busy(communicates(part.kind) ? stages[stage].communication : stages[stage].compute, part.start, part.end);
        }
        if (span.launched_late) {
          add_busy(stages[stage].launching, std::max(span.start, question_.pause), *span.began);
        }
      }
    }
    seen.time -= sim::to_seconds(question_.pause).value();
    const double share = 1.0 / static_cast<double>(stages.size());
    for (const auto& [compute, communication, launching] : stages) {
      seen += busy_seconds(compute, communication, launching) * share;
    }
    return seen;
  }

  const StepQuestion& question_;
  const LayerTemplates& templates_;
  Testbed testbed_;
  std::optional<PipelineStep> from_pipeline_;
};

// Returns infinity if the machine cannot do what is asked.
double seconds_or_never(const std::function<double()>& seconds) {
  try {
    return seconds();
  } catch (const sim::ConfigError&) {
    return std::numeric_limits<double>::infinity();
  }
}

// Chooses the fastest backend for each kind of collective, except those already chosen.
StepQuestion with_chosen_carriers(const StepMachine& machine, const StepQuestion& question) {
  const std::int64_t few = std::min<std::int64_t>(2, question.stage_layers());
  const std::vector<StepCollective> collectives = collectives_of(question, machine);
  const auto times = [&](const std::vector<StepQuestion>& questions) {
    std::vector<double> seconds;
    for (const StepQuestion& one : questions) {
      seconds.push_back(seconds_or_never([&] {
        StepRun run(machine, one);
        return one.has_turns() ? run.about() : run.time(few);
      }));
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

double about(const StepMachine& machine, const StepQuestion& question) {
  if (!faults_of(question, machine).empty()) return std::numeric_limits<double>::infinity();
  return seconds_or_never([&] { return StepRun(machine, question).about(); });
}

double StepResult::tokens_per_second() const {
  const double tokens = static_cast<double>(question.tokens_in_all(question.new_tokens()));
  return tokens / sim::to_seconds(time).value();
}

StepResult ask(const StepMachine& machine, const StepQuestion& question, const Testbed::Factor& factor,
               std::int64_t simulated) {
  std::vector<sim::Fault> faults = faults_of(question, machine);
  if (faults.empty()) faults = faults_of_carriers(question, machine);
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  StepResult result;
  result.question = question.collectives.backend ? question : with_chosen_carriers(machine, question);
  StepRun run(machine, result.question, factor);
  const StepTotals seen = run.look(simulated);
  const auto time = [](double seconds) { return sim::to_time(sim::Seconds(seconds)); };
  result.time = time(seen.time);
  result.compute = time(seen.compute);
  result.communication = time(seen.communication);
  result.exposed = std::min({time(seen.exposed), result.communication, result.time - result.compute});
  result.host = std::clamp(time(seen.host), sim::Time(0), result.time - result.compute - result.exposed);
  std::array<double, all_kinds.size()> by_kind{};
  for (const auto& [name, share] : seen.operations) by_kind[static_cast<std::size_t>(share.kind)] += share.time;
  std::ranges::transform(by_kind, result.by_kind.begin(), time);
  result.power = sim::Joules(seen.energy) / sim::Seconds(seen.time);
  result.clock = sim::Hertz(seen.cycles / seen.time);
  result.flops = model_flops(question, machine) / question.gpus();
  result.memory = memory_of(question, machine.templates);
  result.warnings = run.warnings();
  result.operations = seen.operations;
  result.of_few_turns = question.has_turns() && simulated != in_whole;
  const std::int64_t shown = simulated == in_whole ? simulated_layers : simulated;
  run.show(std::min(question.stage_layers(), question.has_turns() ? layers_of_stage : shown), result);
  return result;
}

Fidelity fidelity_of(const StepQuestion& question, const StepMachine& machine) {
  Fidelity weakest = Fidelity::extrapolated;
  if (!question.graph) weakest = weaker(weakest, by_parameters(machine.platform, "host.framework_call"));
  for (const StepBlock& block : step_blocks(question, 1, machine)) {
    for (const StepOperation& one : block.operations)
      weakest = weaker(weakest, fidelity_of(one.work, machine.platform));
  }
  return weakest;
}

}  // namespace c3sim::study
