#include "study/step/pipeline_run.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "models/collectives/collective.h"
#include "models/machine/power_record.h"
#include "study/run/busy_times.h"
#include "study/run/play.h"
#include "study/run/power_meter.h"
#include "study/run/queue_time.h"
#include "study/run/steady_clock.h"
#include "study/step/part_of_step.h"
#include "study/step/pipeline.h"
#include "study/step/slope.h"
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

// What the host that launches kernels takes for an operation, that of a collective by engines which adds among them.
sim::Time launch_of_host(const Work& work, const models::PlatformSpec& platform) {
  const models::HostSpec& host = platform.host;
  const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
  if (collective == nullptr) return is_kernel(work) ? host.kernel_launch : sim::Time(0);
  const std::optional<models::CollectiveSpec> kernels = models::kernel_part(*collective, platform.gpu.sdma);
  if (!kernels) return sim::Time(0);
  return kernels->graph ? host.graph_launch : host.kernel_launch + host.collective_launch;
}

// Turns of a simulated stage that take as long as each other; the first gradient is added to nothing.
enum class KindOfTurn { forward, first_gradient, gradient, update };
using TurnKey = std::pair<int, KindOfTurn>;
TurnKey key_of(int stage, const std::optional<Turn>& turn) {
  if (!turn) return {stage, KindOfTurn::update};
  if (turn->forward) return {stage, KindOfTurn::forward};
  return {stage, turn->micro == 0 ? KindOfTurn::first_gradient : KindOfTurn::gradient};
}

double in_seconds(sim::Time time) { return sim::to_seconds(time).value(); }
sim::Time multiplied(double factor, sim::Time time) { return sim::to_time(factor * sim::to_seconds(time)); }

// What was seen of turns that are alike, of `count` of them together.
struct SeenTurns {
  struct Block {
    std::int64_t layers = 0;
    std::vector<Pace> operations{};
    PowerMeter::Drawn drawn{};
    double compute = 0.0;
    double communication = 0.0;
  };
  std::vector<Block> blocks;
  int count = 0;
  sim::Time beside{0};  // sends
};

// What one of them takes, with all layers.
struct WholeTurn {
  Pace pace;
  PowerMeter::Drawn drawn;
  double compute = 0.0;
  double communication = 0.0;
};

class PipelineRun {
 public:
  PipelineRun(const StepQuestion& question, std::span<const ElementwiseOperator> operators, Testbed& testbed)
      : question_(question),
        few_(few_of_pipeline(question)),
        testbed_(testbed),
        unlaunched_(without_launches(testbed.platform()), testbed.factor()),
        part_(part_of(few_, operators, unlaunched_, std::min(layers_of_stage, question.stage_layers()))),
        places_(part_.places()) {}

  PipelineStep step() {
    if (clock_settles(unlaunched_.platform())) {
      testbed_.settle([this](sim::Hertz ceiling) { return at_ceiling(ceiling); });
    } else {
      look();
    }
    StepTotals totals = count();
    totals.time = in_seconds(end_);
    add_busy_times(totals);
    PowerMeter::Drawn drawn = drawn_by(0);
    const double all = in_seconds(end_ + question_.pause);
    drawn += meters_.front().at_rest(sim::to_seconds(question_.pause));
    totals.energy = drawn.energy.value() * totals.time / all;
    totals.cycles = drawn.cycles * totals.time / all;
    return {std::move(totals), std::move(part_.graph), std::move(timeline_)};
  }

 private:
  const models::PowerSpec& power() const { return unlaunched_.platform().gpu.power; }
  int simulated(int stage) const { return stage == 0 ? 0 : stage == question_.pp - 1 ? few_.pp - 1 : 1; }
  // The whole step's turns of a stage are those of a simulated one.
  const WholeTurn& whole(std::size_t stage, const TimedTurn& turn) const {
    return whole_.at(key_of(simulated(static_cast<int>(stage)), turn.turn));
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
    const Timeline metered = unlaunched_.watch(part_.schedule, meter());
    timeline_ = known != nullptr ? *known : unlaunched_.with_factors(part_.schedule, metered);
    compose();
  }

  // By what the governors of the whole step would hold.
  SteadyRun at_ceiling(sim::Hertz ceiling) {
    Played played = play_once(unlaunched_.platform(), part_.schedule, {.ceiling = ceiling}, meter());
    timeline_ = unlaunched_.with_factors(part_.schedule, std::move(played.timeline));
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
    const sim::Time waiting = turn.at.length() - turn.pace.gpu - turn.lost;
    drawn += meters_.front().at_rest(sim::to_seconds(waiting));
    return drawn;
  }
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
    read_off();
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
      const WholeTurn& one = whole_.at(key_of(simulated(stage), turn));
      TimedTurn timed{.turn = turn, .pace = one.pace};
      timed.waits = turn && (turn->forward ? stage > 0 : stage < question_.pp - 1);
      timed.sends = turn && (turn->forward ? stage < question_.pp - 1 : stage > 0);
      timed.send = is_before_update(stage, timed) ? sends_before_update_.at(simulated(stage)) : send_;
      timed.send_launch = send_launch_;
      turns.push_back(timed);
    };
    for (const Turn& turn : study::turns_of(stage, question_.pp, question_.micro, question_.trains())) add(turn);
    if (whole_.contains({simulated(stage), KindOfTurn::update})) add({});
  }

  // What a stage sends behind its last gradient is beside the update, whose kernels leave it no CUs for long.
  bool is_before_update(int stage, const TimedTurn& turn) const {
    const bool is_last = turn.turn && !turn.turn->forward && turn.turn->micro == question_.micro - 1;
    return turn.sends && is_last && sends_before_update_.contains(simulated(stage));
  }

  void lose() {
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      const std::vector<Stretch> sends = sends_of(stages_, stage);
      for (TimedTurn& turn : stages_[stage]) {
        turn.lost = multiplied(turn_slope_, beside(turn.at, sends));
        if (!turn.sends || is_before_update(static_cast<int>(stage), turn)) continue;
        turn.send = send_ + multiplied(send_slope_, beside_send(stages_, stage, turn));
      }
    }
  }

  // How long of what a turn sends a turn of either stage runs.
  static sim::Time beside_send(const TimedStages& stages, std::size_t stage, const TimedTurn& sender) {
    const std::size_t other = sender.turn->forward ? stage + 1 : stage - 1;
    const sim::Time both =
        beside(sender.sent, study::turns_of(stages, stage)) + beside(sender.sent, study::turns_of(stages, other));
    return std::min(both, sender.sent.length());
  }

  // What the simulated turns took, and of that what they lost to each other's sends.
  void read_off() {
    seen_.clear();
    const TimedStages observed = observe();
    std::map<TurnKey, std::vector<Slope::Sample>> turns;
    std::vector<TimedTurn> senders;
    sim::Time beside_sends{0};
    for (std::size_t stage = 0; stage < observed.size(); ++stage) {
      const std::vector<Stretch> beside_it = sends_of(observed, stage);
      for (const TimedTurn& turn : observed[stage]) {
        const TurnKey key = key_of(static_cast<int>(stage), turn.turn);
        const sim::Time together = beside(turn.at, beside_it);
        ++seen_[key].count;
        seen_[key].beside += together;
        turns[key].push_back({in_seconds(turn.at.length()), in_seconds(together)});
        if (!turn.sends) continue;
        if (!observed[stage].back().turn && &turn == &observed[stage].back() - 1) {
          sends_before_update_[static_cast<int>(stage)] = turn.sent.length();
          continue;
        }
        senders.push_back(turn);
        beside_sends += beside_send(observed, stage, turn);
      }
    }
    Slope of_turns;
    for (const auto& [key, alike] : turns) of_turns.add(alike);
    turn_slope_ = of_turns.value();
    learn_sends(senders, beside_sends);
    whole_.clear();
    for (const auto& [key, seen] : seen_) whole_[key] = whole_of(seen);
  }

  // All send as much: the one that took least is taken to have been alone, and what the others took more to be lost to
  // turns beside them.
  void learn_sends(const std::vector<TimedTurn>& senders, sim::Time beside_them) {
    if (senders.empty()) return;
    const auto length = [](const TimedTurn& sender) { return sender.sent.length(); };
    const TimedTurn& alone = *std::ranges::min_element(senders, {}, length);
    sim::Time lost{0};
    for (const TimedTurn& sender : senders) lost += length(sender) - length(alone);
    send_ = length(alone);
    send_launch_ = alone.send_launch;
    send_slope_ = beside_them > sim::Time(0) ? in_seconds(lost) / in_seconds(beside_them) : 0.0;
  }

  // When the simulated turns ran. Of a turn each operation takes from the end of the one before it to its own.
  TimedStages observe() {
    const models::PlatformSpec& platform = unlaunched_.platform();
    const std::vector<Span> spans = on_queues(part_.schedule, timeline_, platform);
    TimedStages stages(static_cast<std::size_t>(few_.pp));
    struct Reading {
      const StepBlock* block = nullptr;
      std::size_t blocks = 0;      // of this turn
      std::size_t operations = 0;  // of this block
    };
    std::vector<Reading> readings(stages.size());
    for (std::size_t place = 0; place < places_.size(); ++place) {
      const auto [operation, block] = places_[place];
      const Work& work = part_.schedule[place].work;
      const auto stage = static_cast<std::size_t>(block->stage);
      std::vector<TimedTurn>& turns = stages[stage];
      if (block->is_sent()) {
        const auto sender = std::ranges::find(turns, block->turn, &TimedTurn::turn);
        sender->sends = true;
        sender->send_launch = launch_of_host(work, testbed_.platform());
        sender->sent = {sender->at.end, std::max(sender->sent.end, spans[place].end)};
        continue;
      }
      Reading& reading = readings[stage];
      if (turns.empty() || turns.back().turn != block->turn) {
        const sim::Time begin = timeline_.operations[place].start;
        turns.push_back({.turn = block->turn, .at = {begin, begin}});
        reading = {block};
      } else if (reading.block != block) {
        reading = {block, reading.blocks + 1};
      }
      const Stretch taken{turns.back().at.end, spans[place].end};
      turns.back().at.end = taken.end;
      std::vector<SeenTurns::Block>& blocks = seen_[key_of(block->stage, block->turn)].blocks;
      if (blocks.size() <= reading.blocks) blocks.push_back({.layers = block->layers});
      SeenTurns::Block& seen = blocks[reading.blocks];
      if (seen.operations.size() <= reading.operations) seen.operations.emplace_back();
      Pace& pace = seen.operations[reading.operations++];
      pace.gpu += taken.length();
      pace.host = launch_of_host(work, testbed_.platform());
      if (stage < meters_.size()) {
        seen.drawn += meters_[stage].between(origin_ + taken.begin, origin_ + taken.end);
      }
      for (const StepPart& part :
           parts_of(operation->name, operation->kind, work, timeline_.operations[place], platform)) {
        (communicates(part.kind) ? seen.communication : seen.compute) += in_seconds(part.end - part.start);
      }
    }
    return stages;
  }

  // The mean of those seen, beside nothing that is sent. Of the layers behind the first one is simulated.
  WholeTurn whole_of(const SeenTurns& seen) const {
    WholeTurn whole;
    for (const SeenTurns::Block& block : seen.blocks) {
      const std::int64_t repeats = block.layers > 0 ? question_.stage_layers() - 1 : 1;
      Pace once;
      for (const Pace& sum : block.operations) {
        const sim::Time gpu = sum.gpu / seen.count;
        once = once.then({gpu, sum.host, sum.host + gpu});
      }
      whole.pace = whole.pace.then(once.repeated(repeats));
      const double share = static_cast<double>(repeats) / seen.count;
      whole.drawn += block.drawn * share;
      whole.compute += block.compute * share;
      whole.communication += block.communication * share;
    }
    const sim::Time lost = multiplied(turn_slope_, seen.beside / seen.count);
    whole.pace.gpu -= lost;
    whole.pace.both -= lost;
    return whole;
  }

  // By name: each simulated operation stands for as many as it is like.
  StepTotals count() const {
    const models::PlatformSpec& platform = unlaunched_.platform();
    std::map<TurnKey, int> turns;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      for (const TimedTurn& turn : stages_[stage]) ++turns[key_of(simulated(static_cast<int>(stage)), turn.turn)];
    }
    StepTotals totals;
    for (std::size_t place = 0; place < places_.size(); ++place) {
      const auto [operation, block] = places_[place];
      const TurnKey key = key_of(block->stage, block->turn);
      double like = static_cast<double>(turns.at(key)) / seen_.at(key).count;
      if (block->layers > 0) like *= static_cast<double>(question_.stage_layers() - 1);
      for (const StepPart& part : parts_of(operation->name, operation->kind, part_.schedule[place].work,
                                           timeline_.operations[place], platform)) {
        totals.count(part, like * block->share(question_.gpus()), platform);
      }
    }
    return totals;
  }

  // Of the mean stage. What is sent is exposed in the time between turns, and between kernels of a turn as long as
  // these are of it.
  void add_busy_times(StepTotals& totals) const {
    const double share = 1.0 / question_.pp;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      double compute = 0.0;
      double communication = 0.0;
      BusyTimes turns;
      for (const TimedTurn& turn : stages_[stage]) {
        compute += whole(stage, turn).compute;
        communication += whole(stage, turn).communication;
        add_busy(turns, turn.at.begin, turn.at.end);
      }
      BusyTimes sends;
      for (const Stretch& sent : sends_of(stages_, stage)) add_busy(sends, sent.begin, sent.end);
      const double all = in_seconds(length_of(sends));
      const double within = in_seconds(length_of(sends & turns));
      const double of_turns = in_seconds(length_of(turns));
      totals.compute += share * compute;
      totals.communication += share * (communication + all - within * communication / of_turns);
      totals.exposed += share * (communication + all - within * (compute + communication) / of_turns);
    }
  }

  const StepQuestion& question_;
  const StepQuestion few_;
  Testbed& testbed_;
  Testbed unlaunched_;
  PartOfStep part_;
  std::vector<PartOfStep::Place> places_;
  std::vector<PowerMeter> meters_;  // of simulated stages
  sim::Time origin_{0};             // of the run, by the clock of its meters
  Timeline timeline_;               // of the run
  std::map<TurnKey, SeenTurns> seen_;
  std::map<TurnKey, WholeTurn> whole_;
  double turn_slope_ = 0.0;  // time that a turn loses for each moment that a send is beside it
  double send_slope_ = 0.0;  // the same of a send and the turns of either stage
  sim::Time send_{0};        // of one beside nothing
  sim::Time send_launch_{0};
  std::map<int, sim::Time> sends_before_update_;  // by simulated stage
  TimedStages stages_;                            // of the whole step
  sim::Time end_{0};
};

}  // namespace

StepQuestion few_of_pipeline(const StepQuestion& question) {
  StepQuestion few = question;
  few.pause = sim::Time(0);
  few.pp = std::min(question.pp, simulated_stages);
  few.micro = std::min(question.micro, simulated_micro);
  few.batch = question.batch / question.micro * few.micro;
  if (few.layers) few.layers = static_cast<int>(question.stage_layers()) * few.pp;
  few.model.layers = question.stage_layers() * few.pp;
  return few;
}

PipelineStep pipeline_step(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                           Testbed& testbed) {
  return PipelineRun(question, operators, testbed).step();
}

}  // namespace c3sim::study
