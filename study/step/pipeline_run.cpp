#include "study/step/pipeline_run.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "models/machine/power_record.h"
#include "sim/check.h"
#include "study/run/play.h"
#include "study/run/power_meter.h"
#include "study/run/timeline.h"
#include "study/step/part_of_step.h"
#include "study/step/pipeline.h"
#include "study/step/step_graph.h"
#include "study/step/turn_readings.h"
#include "study/step/turn_times.h"

namespace c3sim::study {

namespace {

constexpr int simulated_stages = 3;  // the first, one for all between, the last
constexpr int simulated_micro = 3;
constexpr int replaced = 2;  // so often turns are placed again

// Launched by hosts that are never late.
models::PlatformSpec without_launches(models::PlatformSpec platform) {
  platform.host.kernel_launch = platform.host.collective_launch = platform.host.graph_launch = sim::Time(0);
  return platform;
}

double in_seconds(sim::Time time) { return sim::to_seconds(time).value(); }

class PipelineRun {
 public:
  PipelineRun(const StepQuestion& question, std::span<const ElementwiseOperator> operators, Testbed& testbed)
      : question_(question),
        few_(few_of_pipeline(question)),
        testbed_(testbed),
        unlaunched_(without_launches(testbed.platform()), testbed.factor()),
        part_(part_of(few_pipeline_blocks(question, operators, unlaunched_.platform()), few_.pause, unlaunched_)) {
    for (int stage = 0; stage < question.pp; ++stage) {
      std::vector<std::int64_t>& of_kinds = layers_.emplace_back();
      for (const LayerGroup& group : question.groups(most_layers, stage)) of_kinds.push_back(group.layers);
    }
  }

  PipelineStep step() {
    if (clock_settles(unlaunched_.platform())) {
      settle();
    } else {
      look();
    }
    StepTotals totals = count();
    totals.time = in_seconds(end_);
    add_busy_times(totals);
    testbed_.count(timeline_);
    PowerMeter::Drawn drawn = drawn_by(0);
    const double all = in_seconds(end_ + question_.pause);
    drawn += meters_.front().at_rest(sim::to_seconds(question_.pause));
    totals.energy = drawn.energy.value() * totals.time / all;
    totals.cycles = drawn.cycles * totals.time / all;
    return {std::move(totals), std::move(part_.graph), std::move(timeline_)};
  }

 private:
  const models::PowerSpec& power() const { return unlaunched_.platform().gpu.power; }
  int simulated(int stage) const { return simulated_stage(static_cast<std::size_t>(stage), layers_.size(), few_.pp); }
  const WholeTurn& whole(std::size_t stage, const TimedTurn& turn) const {
    return readings_.turns.at(key_of(static_cast<int>(stage), turn.turn));
  }

  // Of the first stage, whose energy is told, and of all where governors hold the mean of whichever draws most.
  Attach meter() {
    meters_.assign(clock_settles(unlaunched_.platform()) ? static_cast<std::size_t>(few_.pp) : 1, {});
    return [this](models::Node& node, sim::Time origin) {
      origin_ = origin;
      for (std::size_t stage = 0; stage < meters_.size(); ++stage) {
        meters_[stage].record(node, static_cast<int>(stage) * question_.stage_gpus());
      }
    };
  }

  void look() {
    const bool many = rounds_differ(unlaunched_.platform());
    const Timeline* const known = many ? &unlaunched_.run(part_.schedule) : nullptr;
    metered_ = unlaunched_.watch(part_.schedule, meter());
    timeline_ = known != nullptr ? *known : unlaunched_.with_factors(part_.schedule, metered_);
    compose();
  }

  // By what the governors of the whole step would hold, as simulated: factors tell on times alone.
  void settle() {
    testbed_.settle([this](sim::Hertz ceiling) { return at_ceiling(ceiling); });
    if (!unlaunched_.factor()) return;
    timeline_ = unlaunched_.with_factors(part_.schedule, metered_);
    compose();
  }

  SteadyRun at_ceiling(sim::Hertz ceiling) {
    Played played = play_once(unlaunched_.platform(), part_.schedule, {.ceiling = ceiling}, meter());
    timeline_ = metered_ = std::move(played.timeline);
    compose();
    SteadyRun run{{}, played.as_repeated.clock_at_work};
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      run.power = std::max(run.power, highest_mean(stage));
    }
    return run;
  }

  sim::Watts highest_mean(std::size_t stage) const {
    models::PowerRecord record(power().at_rest());
    sim::Time until = question_.pause;
    for (const TimedTurn& turn : stages_[stage]) {
      const sim::Time begin = question_.pause + turn.at.begin;
      const sim::Time end = question_.pause + turn.at.end;
      record.add(until, begin, power().at_rest());
      if (end > begin) record.add(begin, end, drawn_in(stage, turn).energy / sim::to_seconds(end - begin));
      until = end;
    }
    return record.highest_mean(sim::Time(0), question_.pause + end_, power().window + power().period);
  }

  // A turn whose host is late is at rest for the rest of it.
  PowerMeter::Drawn drawn_in(std::size_t stage, const TimedTurn& turn) const {
    PowerMeter::Drawn drawn = whole(stage, turn).drawn;
    drawn += meters_.front().at_rest(sim::to_seconds(waits_in(turn)));
    return drawn;
  }
  static sim::Time waits_in(const TimedTurn& turn) { return turn.at.length() - turn.pace.gpu - turn.lost; }
  PowerMeter::Drawn drawn_by(std::size_t stage) const {
    PowerMeter::Drawn drawn;
    sim::Time at_rest = end_;
    for (const TimedTurn& turn : stages_[stage]) {
      drawn += drawn_in(stage, turn);
      at_rest -= turn.at.length();
    }
    drawn += meters_.front().at_rest(sim::to_seconds(at_rest));
    return drawn;
  }

  // The turns of all stages, one after the other. What runs beside each is known when they are placed, so that they are
  // placed again with what they lose to that.
  void compose() {
    readings_ = read_turns(
        {part_, few_.pp, layers_, unlaunched_.platform(), testbed_.platform(), timeline_, metered_, meters_, origin_});
    stages_.assign(static_cast<std::size_t>(question_.pp), {});
    for (int stage = 0; stage < question_.pp; ++stage) lay_out(stage);
    end_ = place(stages_);
    for (int again = 0; again < replaced; ++again) {
      lose();
      end_ = place(stages_);
    }
  }

  void lay_out(int stage) {
    std::vector<TimedTurn>& turns = stages_[static_cast<std::size_t>(stage)];
    const auto add = [&](const std::optional<Turn>& turn) {
      const WholeTurn& one = readings_.turns.at(key_of(stage, turn));
      TimedTurn timed{.turn = turn, .pace = one.pace};
      timed.waits = turn && (turn->forward ? stage > 0 : stage < question_.pp - 1);
      timed.sends = turn && (turn->forward ? stage < question_.pp - 1 : stage > 0);
      timed.send = is_before_update(stage, timed) ? readings_.sends_before_update.at(simulated(stage)) : readings_.send;
      timed.send_launch = readings_.send_launch;
      turns.push_back(timed);
    };
    for (const Turn& turn : study::turns_of(stage, question_.pp, question_.micro, question_.trains())) add(turn);
    if (readings_.turns.contains({stage, KindOfTurn::update})) add({});
  }

  // What a stage sends behind its last gradient is beside the update, whose kernels leave it no CUs for long.
  bool is_before_update(int stage, const TimedTurn& turn) const {
    const bool is_last = turn.turn && !turn.turn->forward && turn.turn->micro == question_.micro - 1;
    return turn.sends && is_last && readings_.sends_before_update.contains(simulated(stage));
  }

  void lose() {
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      const std::vector<TurnStay> sends = sends_of(stages_, stage);
      for (TimedTurn& turn : stages_[stage]) {
        turn.lost = readings_.lost_by_turn(beside(turn.at, sends));
        if (!turn.sends || is_before_update(static_cast<int>(stage), turn)) continue;
        turn.send = readings_.send_beside(beside_send(stages_, stage, turn));
      }
    }
  }

  // By name: each simulated operation stands for as many as it is like.
  StepTotals count() const {
    const models::PlatformSpec& platform = unlaunched_.platform();
    std::map<TurnKey, int> turns;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      for (const TimedTurn& turn : stages_[stage]) ++turns[key_of(static_cast<int>(stage), turn.turn)];
    }
    StepTotals totals;
    const std::vector<PartOfStep::Place> places = part_.places();
    for (std::size_t place = 0; place < places.size(); ++place) {
      const auto [operation, block] = places[place];
      SIM_CHECK(operation != nullptr);
      const double like = turns_like(*block, turns);
      for (const StepPart& part : parts_of(*operation, timeline_.operations[place], platform)) {
        totals.count(part, like * block->share(question_.gpus()), platform);
      }
    }
    return totals;
  }

  // Times that the whole step, whose stages have so many turns of each kind, has what a block shows, for each of its
  // simulated turns.
  double turns_like(const StepBlock& block, const std::map<TurnKey, int>& turns) const {
    const KindOfTurn kind = key_of(block.stage, block.turn).second;
    double like = 0.0;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (simulated(static_cast<int>(stage)) != block.stage) continue;
      const std::int64_t shown = block.of_stage ? block.of_stage->shown_of(layers_[stage][block.of_stage->kind]) : 1;
      const TurnKey key{static_cast<int>(stage), kind};
      like += static_cast<double>(shown * turns.at(key)) / readings_.turns.at(key).seen;
    }
    return like;
  }

  // Of the mean stage. In a turn its kernels run, which take longer for what it loses to sends, or they wait for the
  // host that launches them, or lie apart. What is sent is exposed in the time between turns, and in a turn for the
  // same share of both: that without kernels.
  void add_busy_times(StepTotals& totals) const {
    const double share = 1.0 / question_.pp;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      double compute = 0.0;
      double communication = 0.0;
      double exposed = 0.0;
      double host = 0.0;
      BusyTimes turns;
      for (const TimedTurn& turn : stages_[stage]) {
        const WholeTurn& seen = whole(stage, turn);
        const double waiting = in_seconds(waits_in(turn));
        const double busy = seen.compute + seen.exposed;
        const double longest = in_seconds(turn.at.length()) - waiting;
        const double longer = busy > 0.0 ? std::min(longest, busy + in_seconds(turn.lost)) / busy : 0.0;
        compute += longer * seen.compute;
        communication += longer * seen.communication;
        exposed += longer * seen.exposed;
        host += waiting;
        add_busy(turns, turn.at.begin, turn.at.end);
      }
      BusyTimes sends;
      for (const TurnStay& sent : sends_of(stages_, stage)) add_busy(sends, sent.begin, sent.end);
      const double all = in_seconds(length_of(sends));
      const double within = in_seconds(length_of(sends & turns));
      const double of_turns = in_seconds(length_of(turns));
      totals.compute += share * compute;
      const double beside_sends = within / of_turns;
      totals.communication += share * (communication + all - beside_sends * communication);
      totals.exposed += share * (exposed + all - beside_sends * (compute + exposed));
      totals.host += share * (host - beside_sends * host);
    }
  }

  const StepQuestion& question_;
  const StepQuestion few_;
  Testbed& testbed_;
  Testbed unlaunched_;
  PartOfStep part_;
  std::vector<std::vector<std::int64_t>> layers_;  // of each stage, of each kind
  std::vector<PowerMeter> meters_;                 // of simulated stages
  sim::Time origin_{0};                            // of the run, by the clock of its meters
  Timeline timeline_;                              // of the run, with factors
  Timeline metered_;                               // of what meters saw, without
  TurnReadings readings_;                          // of it
  TimedStages stages_;                             // of the whole step
  sim::Time end_{0};
};

}  // namespace

StepQuestion few_of_pipeline(const StepQuestion& question) {
  StepQuestion few = question;
  few.pause = sim::Time(0);
  few.pp = std::min(question.pp, simulated_stages);
  few.micro = std::min(question.micro, simulated_micro);
  few.batch = question.batch / question.micro * few.micro;
  return few;
}

std::vector<StepBlock> few_pipeline_blocks(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                                           const models::PlatformSpec& platform) {
  const StepQuestion few = few_of_pipeline(question);
  std::vector<StageLayers> stages(static_cast<std::size_t>(few.pp));
  for (int stage = 0; stage < question.pp; ++stage) {
    const int like = simulated_stage(static_cast<std::size_t>(stage), static_cast<std::size_t>(question.pp), few.pp);
    StageLayers& layers = stages[static_cast<std::size_t>(like)];
    const std::vector<LayerGroup> groups = question.groups(most_layers, stage);
    layers.most_behind = 1;
    if (layers.updated.empty()) layers.updated = layers.written = groups;
    for (std::size_t kind = 0; kind < groups.size(); ++kind) {
      std::int64_t& most = layers.written[kind].layers;
      most = std::min(layers_of_stage, std::max(most, groups[kind].layers));
    }
    if (question.layers_of(stage) == question.stage_layers()) layers.updated = groups;
  }
  return pipeline_blocks(few, operators, stages, platform);
}

PipelineStep pipeline_step(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                           Testbed& testbed) {
  return PipelineRun(question, operators, testbed).step();
}

}  // namespace c3sim::study
