#include "study/step/pipeline_run.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "models/collectives/collective.h"
#include "models/machine/governor_loop.h"
#include "sim/check.h"
#include "study/play/known_work.h"
#include "study/play/play.h"
#include "study/play/power_meter.h"
#include "study/play/queue_time.h"
#include "study/play/timeline.h"
#include "study/program/pipeline.h"
#include "study/step/step_graph.h"

namespace c3sim::study {

Pace Pace::then(const Pace& next) const {
  return {gpu + next.gpu, host + next.host, std::max(both + next.gpu, host + next.both)};
}

Pace Pace::repeated(std::int64_t times) const {
  Pace all;
  for (std::int64_t i = 0; i < times; ++i) all = all.then(*this);
  return all;
}

namespace {

// Returns the stage that a turn of `stage` sends to.
std::size_t receiver_of(std::size_t stage, bool forward) { return forward ? stage + 1 : stage - 1; }

// Each stage has these classes of work; turns do not slow down the sends of the last.
enum StageClass : WorkClasses::Id { class_of_turns, sends_forward, sends_back, unslowed_sends, classes_of_stage };
WorkClasses::Id class_in(std::size_t stage, StageClass one) {
  return static_cast<WorkClasses::Id>(stage) * classes_of_stage + one;
}

WorkClasses classes_of_stages(std::size_t stages, const TurnSlowdowns& slowdowns) {
  WorkClasses classes;
  for (std::size_t added = 0; added < stages * classes_of_stage; ++added) classes.add();
  for (std::size_t stage = 0; stage < stages; ++stage) {
    for (const StageClass sends : {sends_forward, sends_back, unslowed_sends}) {
      for (const auto& [of, slowed] :
           {std::pair(stage, slowdowns.sending), {receiver_of(stage, sends == sends_forward), slowdowns.receiving}}) {
        if (of >= stages) continue;
        classes.slow_down(class_in(of, class_of_turns), class_in(stage, sends), slowed);
        classes.slow_down(class_in(stage, sends), class_in(of, class_of_turns),
                          sends == unslowed_sends ? 1.0 : slowdowns.send);
      }
    }
  }
  return classes;
}

}  // namespace

// Makes three works of each turn: what its GPUs do, its end, which a late host may put off, and its send, which takes
// no time where nothing is sent. The first of all works is the begin of the step.
sim::Time play_turns(TimedStages& stages, const TurnSlowdowns& slowdowns) {
  constexpr std::size_t first_turn = 1;
  constexpr std::size_t end = 1, send = 2, works_of_turn = 3;  // places after that of a turn's GPUs
  constexpr sim::Time none{0};
  // Sends by the stage that they arrive at, their direction (true: forward) and micro-batch.
  std::map<std::tuple<std::size_t, bool, int>, std::size_t> arrivals;
  std::size_t place = first_turn;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (const TimedTurn& turn : stages[stage]) {
      if (turn.sends)
        arrivals[{receiver_of(stage, turn.turn->forward), turn.turn->forward, turn.turn->micro}] = place + send;
      place += works_of_turn;
    }
  }
  std::vector<KnownWork> works;
  WaitLists waits;
  const auto add = [&](const KnownWork& work, const std::vector<After>& after) {
    works.push_back(work);
    for (const After& one : after) waits.add(one);
    waits.end_list();
  };
  add({}, {});
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    std::size_t before = 0;                       // the end of the previous turn, or the begin of the step
    std::size_t sent_forward = 0, sent_back = 0;  // the last send of that direction, or the begin
    sim::Time launched{0};                        // when the host has launched all up to here
    for (const TimedTurn& turn : stages[stage]) {
      place = works.size();
      std::vector<After> after{{before, none}};
      if (turn.waits) after.emplace_back(arrivals.at({stage, turn.turn->forward, turn.turn->micro}), none);
      add({turn.pace.gpu, class_in(stage, class_of_turns)}, after);
      add({}, {{place, none}, {0, launched + turn.pace.both}});
      launched += turn.pace.host + turn.send_launch;
      const bool forward = turn.turn && turn.turn->forward;
      std::size_t& sent = forward ? sent_forward : sent_back;
      const StageClass sends = !turn.send_is_slowed ? unslowed_sends : forward ? sends_forward : sends_back;
      add({turn.sends ? turn.send : none, class_in(stage, sends)}, {{place + end, none}, {sent, none}, {0, launched}});
      if (turn.sends) sent = place + send;
      before = place + end;
    }
  }
  const std::vector<Stay> played = play_known(works, waits, classes_of_stages(stages.size(), slowdowns));
  sim::Time last{0};
  place = first_turn;
  for (std::vector<TimedTurn>& turns : stages) {
    for (TimedTurn& turn : turns) {
      turn.at = {played[place].begin, played[place + end].end};
      turn.lost = played[place].length() - turn.pace.gpu;
      turn.sent = turn.sends ? played[place + send] : Stay{};
      last = std::max(last, turn.at.end);
      place += works_of_turn;
    }
  }
  return last;
}

sim::Time TurnSlowdowns::lost_to(const SendsBeside& beside) const {
  const auto lost = [](sim::Time time, double slowdown) { return (1.0 - 1.0 / slowdown) * sim::to_seconds(time); };
  return sim::to_time(lost(beside.from, sending) + lost(beside.to, receiving));
}

Lost& Lost::add(std::span<const Sample> alike) {
  if (alike.size() < 2) return *this;
  const Sample& alone = *std::ranges::min_element(alike, {}, &Sample::length);
  for (const Sample& one : alike) {
    beside_ += one.beside;
    if (one.beside >= alone.beside) lost_ += one.length - alone.length;
  }
  return *this;
}

double Lost::slowdown() const {
  constexpr double most = 10.0;
  if (lost_ <= sim::Time(0) || beside_ <= sim::Time(0)) return 1.0;
  const double share = sim::to_seconds(lost_) / sim::to_seconds(beside_);
  return 1.0 / std::max(1.0 / most, 1.0 - share);
}

namespace {

constexpr int simulated_stages = 3;  // the first, one for all between, the last
constexpr int simulated_micro = 3;

// Returns the platform with hosts that launch in no time.
models::PlatformSpec without_launches(models::PlatformSpec platform) {
  platform.host.kernel_launch = platform.host.collective_launch = platform.host.graph_launch = sim::Time(0);
  return platform;
}

// A KindOfTurn groups turns of a stage that take equally long; the first gradient has no sum to be added to.
enum class KindOfTurn { forward, first_gradient, gradient, update };
using TurnKey = std::pair<int, KindOfTurn>;

TurnKey key_of(int stage, const std::optional<Turn>& turn) {
  if (!turn) return {stage, KindOfTurn::update};
  if (turn->forward) return {stage, KindOfTurn::forward};
  return {stage, turn->micro == 0 ? KindOfTurn::first_gradient : KindOfTurn::gradient};
}

// Returns the simulated stage that stands for a stage of the whole step: the first, the last, or one in between.
int simulated_stage(int stage, int stages, int simulated) {
  if (stage == 0) return 0;
  return stage + 1 == stages ? simulated - 1 : 1;
}

// Returns the layers of the simulated stages; that in between has all kinds of layers of the stages that it stands for,
// and updates those of the largest.
std::vector<StageLayers> stages_of_few(const StepQuestion& question) {
  const int simulated = std::min(question.pp, simulated_stages);
  std::vector<StageLayers> stages(static_cast<std::size_t>(simulated));
  for (int stage = 0; stage < question.pp; ++stage) {
    StageLayers& layers = stages[static_cast<std::size_t>(simulated_stage(stage, question.pp, simulated))];
    const std::vector<LayerGroup> groups = question.groups(most_layers, stage);
    layers.most_behind = 1;
    if (layers.updated.empty()) layers.updated = layers.written = groups;
    for (std::size_t kind = 0; kind < groups.size(); ++kind) {
      std::int64_t& most = layers.written[kind].layers;
      most = std::min(layers_of_stage, std::max(most, groups[kind].layers));
    }
    if (question.layers_of(stage) == question.stage_layers()) layers.updated = groups;
  }
  return stages;
}

// Returns the weights of the layers of a stage on one GPU.
double weights_of(const std::vector<LayerGroup>& groups, const LayerTemplates& templates) {
  double weights = 0.0;
  for (const LayerGroup& group : groups) {
    weights += static_cast<double>(group.layers) * elements_of(tensors_of_layer(group.question, templates, "weights"));
  }
  return weights;
}

// Returns the time from an idle host's call that launches a kernel, or the kernel that adds in a collective by engines,
// until it may begin; 0 for other work.
sim::Time launch_of(const Work& work, const models::PlatformSpec& platform) {
  const models::HostSpec& host = platform.host;
  const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
  if (collective == nullptr) return is_kernel(work) ? host.kernel_launch : sim::Time(0);
  const std::optional<models::CollectiveSpec> kernels = models::kernel_part(*collective, platform.gpu.sdma);
  if (!kernels) return sim::Time(0);
  return kernels->graph ? host.graph_launch : host.kernel_launch + host.collective_launch;
}

double in_seconds(sim::Time time) { return sim::to_seconds(time).value(); }
sim::Time share_of(double share, sim::Time time) { return sim::to_time(share * sim::to_seconds(time)); }

// Returns the sends from a stage, or those that arrive at it.
std::vector<Stay> sends_of(const TimedStages& stages, std::size_t stage, bool from) {
  std::vector<Stay> sends;
  for (std::size_t sender = 0; sender < stages.size(); ++sender) {
    for (const TimedTurn& turn : stages[sender]) {
      if (turn.sends && (from ? sender : receiver_of(sender, turn.turn->forward)) == stage) sends.push_back(turn.sent);
    }
  }
  return sends;
}

sim::Time overlap(const Stay& one, const std::vector<Stay>& others) {
  sim::Time time{0};
  for (const Stay& other : others) time += one.beside(other);
  return time;
}

// A SeenPipeline is a run of some stages, without a pause, launched by hosts that are never late.
struct SeenPipeline {
  PartOfStep part;
  int stages = 1;
  std::vector<std::vector<std::int64_t>> layers{};  // by stage of the whole step, then by kind
  std::vector<double> updated{};                    // by that stage: weights that it updates over those simulated
  std::vector<PowerMeter> meters{};                 // of the first GPU of each metered stage
  sim::Time origin{0};                              // start of the metered run by the clock of its node
  Timeline timeline{};                              // with factors
  Timeline metered{};                               // as simulated and metered, without factors

  // Returns the simulated stage that stands for a stage of the whole step.
  int simulated(int stage) const { return simulated_stage(stage, static_cast<int>(layers.size()), stages); }
};

// A WholeTurn is the cost of a turn with all its layers.
struct WholeTurn {
  double seen = 0.0;  // number of simulated turns of which it is the mean; an update by parts of one
  Pace pace{};
  PowerMeter::Drawn drawn{};  // if factors lengthen a turn, the GPU is at rest for the added time
  BusySeconds busy{};
};

// TurnReadings are times and energies read from a run of a few turns: each kind of turn without concurrent sends, a
// send without concurrent turns, and the slowdown of each by the other.
struct TurnReadings {
  std::map<TurnKey, WholeTurn> turns;  // by stage of the whole step
  sim::Time send{0};                   // without concurrent turns
  sim::Time send_launch{0};
  std::map<int, sim::Time> sends_before_update;  // by simulated stage
  TurnSlowdowns slowdowns{};
};

// SeenTurns are sums over `count` turns of one kind.
struct SeenTurns {
  struct Block {
    std::optional<LayersOfStage> of_stage{};
    std::vector<Pace> operations{};
    PowerMeter::Drawn drawn{};
    BusySeconds busy{};
  };
  std::vector<Block> blocks;
  int count = 0;
  SendsBeside beside{};
};

struct SeenTurn {
  sim::Time length{0};
  SendsBeside beside{};
};

class TurnReader {
 public:
  // `unlaunched` is the machine of the run, whose hosts are never late; `launched` is the machine of the whole step.
  TurnReader(const SeenPipeline& run, const models::PlatformSpec& unlaunched, const models::PlatformSpec& launched)
      : run_(run),
        unlaunched_(unlaunched),
        launched_(launched),
        places_(run.part.places()),
        spans_(on_queues(run.part.schedule, run.timeline, unlaunched)),
        metered_(on_queues(run.part.schedule, run.metered, unlaunched)),
        latest_(static_cast<std::size_t>(run.stages)),
        stages_(static_cast<std::size_t>(run.stages)) {}

  TurnReadings read() {
    for (std::size_t place = 0; place < places_.size(); ++place) {
      SIM_CHECK(places_[place].operation != nullptr);
      places_[place].block->is_sent() ? read_send(place) : read_operation(place);
    }
    for (std::vector<TimedTurn>& turns : stages_) queue_sends(turns);
    learn_slowdowns();
    for (std::size_t stage = 0; stage < run_.layers.size(); ++stage) {
      const int place = static_cast<int>(stage);
      for (const auto& [key, seen] : seen_) {
        if (key.first == run_.simulated(place)) {
          const double share = key.second == KindOfTurn::update ? run_.updated[stage] : 1.0;
          readings_.turns[{place, key.second}] = whole_of(seen, run_.layers[stage], share);
        }
      }
    }
    return std::move(readings_);
  }

 private:
  // A Reading is the position within the latest turn of a stage.
  struct Reading {
    const StepBlock* block = nullptr;
    std::size_t blocks = 0;      // index of the block within the turn
    std::size_t operations = 0;  // operations read so far in the block
    sim::Time metered{0};        // end of the last operation in the metered run
  };

  void read_send(std::size_t place) {
    const StepBlock& block = *places_[place].block;
    std::vector<TimedTurn>& turns = stages_[static_cast<std::size_t>(block.stage)];
    const auto sender = std::ranges::find(turns, block.turn, &TimedTurn::turn);
    SIM_CHECK(sender != turns.end());
    sender->sends = true;
    sender->send_launch = launch_of(run_.part.schedule[place].work, launched_);
    sender->sent = {sender->at.end, std::max(sender->sent.end, spans_[place].end)};
  }

  // Makes each send of a stage wait for the one before it in the same direction.
  static void queue_sends(std::vector<TimedTurn>& turns) {
    sim::Time sent_forward{0};
    sim::Time sent_back{0};
    for (TimedTurn& turn : turns) {
      if (!turn.sends) continue;
      sim::Time& sent = turn.turn->forward ? sent_forward : sent_back;
      turn.sent.begin = std::max(turn.sent.begin, sent);
      sent = turn.sent.end;
    }
  }

  // Counts an operation from the end of the one before it in its turn to its own end.
  void read_operation(std::size_t place) {
    const auto [operation, block] = places_[place];
    const Work& work = run_.part.schedule[place].work;
    const auto stage = static_cast<std::size_t>(block->stage);
    std::vector<TimedTurn>& turns = stages_[stage];
    Reading& reading = latest_[stage];
    if (turns.empty() || turns.back().turn != block->turn) {
      const sim::Time begin = run_.timeline.operations[place].start;
      turns.push_back({.turn = block->turn, .at = {begin, begin}});
      reading = {.block = block, .metered = run_.metered.operations[place].start};
    } else if (reading.block != block) {
      reading = {.block = block, .blocks = reading.blocks + 1, .metered = reading.metered};
    }
    const Stay taken{turns.back().at.end, spans_[place].end};
    turns.back().at.end = taken.end;
    const Stay metered{reading.metered, metered_[place].end};
    reading.metered = metered.end;
    std::vector<SeenTurns::Block>& blocks = seen_[key_of(block->stage, block->turn)].blocks;
    if (blocks.size() <= reading.blocks) blocks.push_back({.of_stage = block->of_stage});
    SeenTurns::Block& seen = blocks[reading.blocks];
    if (seen.operations.size() <= reading.operations) seen.operations.emplace_back();
    Pace& pace = seen.operations[reading.operations++];
    pace.gpu += taken.length();
    pace.host = launch_of(work, launched_);
    if (stage < run_.meters.size()) seen.drawn += drawn_in(run_.meters[stage], metered, taken.length());
    BusyTimes compute;
    BusyTimes communication;
    for (const StepPart& part : parts_of(*operation, run_.timeline.operations[place], unlaunched_)) {
      add_busy(communicates(part.kind) ? communication : compute, part.start, part.end);
    }
    seen.busy += busy_seconds(compute, communication);
  }

  PowerMeter::Drawn drawn_in(const PowerMeter& meter, const Stay& metered, sim::Time taken) const {
    PowerMeter::Drawn drawn = meter.between(run_.origin + metered.begin, run_.origin + metered.end);
    if (taken != metered.length()) drawn += meter.at_rest(sim::to_seconds(taken - metered.length()));
    return drawn;
  }

  // Counts turns and their overlap with sends, and learns how much both slow each other down.
  void learn_slowdowns() {
    std::map<TurnKey, std::vector<SeenTurn>> turns;
    std::vector<Lost::Sample> sends;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      const std::vector<Stay> leaving = sends_of(stages_, stage, true);
      const std::vector<Stay> arriving = sends_of(stages_, stage, false);
      for (const TimedTurn& turn : stages_[stage]) {
        const TurnKey key = key_of(static_cast<int>(stage), turn.turn);
        const SendsBeside beside{overlap(turn.at, leaving), overlap(turn.at, arriving)};
        ++seen_[key].count;
        seen_[key].beside.from += beside.from;
        seen_[key].beside.to += beside.to;
        turns[key].push_back({turn.at.length(), beside});
        if (!turn.sends) continue;
        if (!stages_[stage].back().turn && &turn == &stages_[stage].back() - 1) {
          readings_.sends_before_update[static_cast<int>(stage)] = turn.sent.length();
          continue;
        }
        sends.push_back({turn.sent.length(), beside_send(stage, turn)});
        if (sends.size() == 1 || turn.sent.length() < readings_.send) {
          readings_.send = turn.sent.length();
          readings_.send_launch = turn.send_launch;
        }
      }
    }
    readings_.slowdowns = slowdowns_of(turns);
    readings_.slowdowns.send = Lost().add(sends).slowdown();
  }

  // Turns beside which nothing is sent from their stage tell what they lose to sends that arrive, others what more they
  // lose to their own.
  static TurnSlowdowns slowdowns_of(const std::map<TurnKey, std::vector<SeenTurn>>& turns) {
    // Returns what turns for which `sample_of` has a sample tell.
    const auto slowdown_of = [&turns](const auto& sample_of) {
      Lost lost;
      for (const auto& [key, alike] : turns) {
        std::vector<Lost::Sample> samples;
        for (const SeenTurn& turn : alike) {
          if (const std::optional<Lost::Sample> sample = sample_of(turn)) samples.push_back(*sample);
        }
        lost.add(samples);
      }
      return lost.slowdown();
    };
    TurnSlowdowns slowdowns;
    slowdowns.receiving = slowdown_of([](const SeenTurn& turn) -> std::optional<Lost::Sample> {
      if (turn.beside.from > sim::Time(0)) return {};
      return Lost::Sample{turn.length, turn.beside.to};
    });
    slowdowns.sending = slowdown_of([&slowdowns](const SeenTurn& turn) -> std::optional<Lost::Sample> {
      return Lost::Sample{turn.length - slowdowns.lost_to({{}, turn.beside.to}), turn.beside.from};
    });
    return slowdowns;
  }

  // Returns how long a turn's send overlaps turns of its stage or of the receiving stage.
  sim::Time beside_send(std::size_t stage, const TimedTurn& sender) const {
    sim::Time both{0};
    for (const std::size_t one : {stage, receiver_of(stage, sender.turn->forward)}) {
      for (const TimedTurn& turn : stages_[one]) both += sender.sent.beside(turn.at);
    }
    return std::min(both, sender.sent.length());
  }

  // Returns the mean of the turns seen, without concurrent sends, with `layers` layers of each kind, and with
  // operations that are `share` of those seen.
  WholeTurn whole_of(const SeenTurns& seen, const std::vector<std::int64_t>& layers, double share) const {
    WholeTurn whole{.seen = seen.count / share};
    for (const SeenTurns::Block& block : seen.blocks) {
      const std::int64_t repeats = block.of_stage ? block.of_stage->shown_of(layers[block.of_stage->kind]) : 1;
      if (repeats == 0) continue;
      Pace once;
      for (const Pace& sum : block.operations) {
        const sim::Time gpu = share_of(share, sum.gpu / seen.count);
        once = once.then({gpu, sum.host, sum.host + gpu});
      }
      whole.pace = whole.pace.then(once.repeated(repeats));
      whole.drawn += block.drawn * (static_cast<double>(repeats) / whole.seen);
      whole.busy += block.busy * (static_cast<double>(repeats) / whole.seen);
    }
    const sim::Time lost = std::min(whole.pace.gpu, readings_.slowdowns.lost_to(seen.beside) / seen.count);
    whole.pace.gpu -= lost;
    whole.pace.both -= lost;
    return whole;
  }

  const SeenPipeline& run_;
  const models::PlatformSpec& unlaunched_;
  const models::PlatformSpec& launched_;
  const std::vector<PartOfStep::Place> places_;
  const std::vector<Span> spans_;
  const std::vector<Span> metered_;
  std::vector<Reading> latest_;  // by stage
  TimedStages stages_;           // as they ran
  std::map<TurnKey, SeenTurns> seen_;
  TurnReadings readings_;
};

class PipelineRun {
 public:
  PipelineRun(const StepQuestion& question, const LayerTemplates& templates, Testbed& testbed)
      : question_(question),
        few_(few_of_pipeline(question)),
        testbed_(testbed),
        unlaunched_(without_launches(testbed.platform()), testbed.factor()),
        run_{part_of(few_pipeline_blocks(question, {unlaunched_.platform(), templates}), few_.pause, unlaunched_),
             few_.pp} {
    const std::vector<StageLayers> few_stages = stages_of_few(question);
    for (int stage = 0; stage < question.pp; ++stage) {
      std::vector<std::int64_t>& of_kinds = run_.layers.emplace_back();
      const std::vector<LayerGroup> groups = question.groups(most_layers, stage);
      for (const LayerGroup& group : groups) of_kinds.push_back(group.layers);
      const auto simulated = static_cast<std::size_t>(simulated_stage(stage, question.pp, few_.pp));
      run_.updated.push_back(weights_of(groups, templates) / weights_of(few_stages[simulated].updated, templates));
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
    testbed_.count(run_.timeline);
    PowerMeter::Drawn drawn = drawn_by(0);
    const double all = in_seconds(end_ + question_.pause);
    drawn += run_.meters.front().at_rest(sim::to_seconds(question_.pause));
    totals.energy = drawn.energy.value() * totals.time / all;
    totals.cycles = drawn.cycles * totals.time / all;
    return {std::move(totals), std::move(run_.part.graph), std::move(run_.timeline)};
  }

 private:
  const models::PowerSpec& power() const { return unlaunched_.platform().gpu.power; }
  const WholeTurn& whole(std::size_t stage, const TimedTurn& turn) const {
    return readings_.turns.at(key_of(static_cast<int>(stage), turn.turn));
  }

  // Meters the first stage, whose energy is reported, or all stages if governors limit the one that draws most.
  Attach meter() {
    run_.meters.assign(clock_settles(unlaunched_.platform()) ? static_cast<std::size_t>(few_.pp) : 1, {});
    return [this](models::Node& node, sim::Time origin) {
      run_.origin = origin;
      for (std::size_t stage = 0; stage < run_.meters.size(); ++stage) {
        run_.meters[stage].record(node, static_cast<int>(stage) * question_.stage_gpus());
      }
    };
  }

  void look() {
    const bool many = rounds_differ(unlaunched_.platform());
    const Timeline* const known = many ? &unlaunched_.run(run_.part.schedule) : nullptr;
    run_.metered = unlaunched_.watch(run_.part.schedule, meter());
    run_.timeline = known != nullptr ? *known : unlaunched_.with_factors(run_.part.schedule, run_.metered);
    compose();
  }

  // Finds the clock's ceiling under the governors of the whole step as simulated: factors change times only.
  void settle() {
    testbed_.settle([this](sim::Hertz ceiling) { return at_ceiling(ceiling); });
    if (!unlaunched_.factor()) return;
    run_.timeline = unlaunched_.with_factors(run_.part.schedule, run_.metered);
    compose();
  }

  SteadyRun at_ceiling(sim::Hertz ceiling) {
    Played played = play_once(unlaunched_.platform(), run_.part.schedule, {.ceiling = ceiling}, meter());
    run_.timeline = run_.metered = std::move(played.timeline);
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

  // Returns what a turn draws; while it waits for a late host, the GPU is at rest.
  PowerMeter::Drawn drawn_in(std::size_t stage, const TimedTurn& turn) const {
    PowerMeter::Drawn drawn = whole(stage, turn).drawn;
    drawn += run_.meters.front().at_rest(sim::to_seconds(waits_in(turn)));
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
    drawn += run_.meters.front().at_rest(sim::to_seconds(at_rest));
    return drawn;
  }

  void compose() {
    readings_ = TurnReader(run_, unlaunched_.platform(), testbed_.platform()).read();
    stages_.assign(static_cast<std::size_t>(question_.pp), {});
    for (int stage = 0; stage < question_.pp; ++stage) lay_out(stage);
    end_ = play_turns(stages_, readings_.slowdowns);
  }

  void lay_out(int stage) {
    std::vector<TimedTurn>& turns = stages_[static_cast<std::size_t>(stage)];
    const auto add = [&](const std::optional<Turn>& turn) {
      const WholeTurn& one = readings_.turns.at(key_of(stage, turn));
      TimedTurn timed{.turn = turn, .pace = one.pace};
      timed.waits = turn && (turn->forward ? stage > 0 : stage < question_.pp - 1);
      timed.sends = turn && (turn->forward ? stage < question_.pp - 1 : stage > 0);
      timed.send_is_slowed = !is_before_update(stage, timed);
      timed.send = timed.send_is_slowed ? readings_.send : readings_.sends_before_update.at(run_.simulated(stage));
      if (timed.sends) timed.send_launch = readings_.send_launch;
      turns.push_back(timed);
    };
    for (const Turn& turn : study::turns_of(stage, question_.pp, question_.micro, question_.trains())) add(turn);
    if (readings_.turns.contains({stage, KindOfTurn::update})) add({});
  }

  // Returns whether a send follows the last gradient, so that the update's kernels leave it no CUs for long.
  bool is_before_update(int stage, const TimedTurn& turn) const {
    const bool is_last = turn.turn && !turn.turn->forward && turn.turn->micro == question_.micro - 1;
    return turn.sends && is_last && readings_.sends_before_update.contains(run_.simulated(stage));
  }

  // Counts operations by name: each simulated operation stands for all that are like it.
  StepTotals count() const {
    const models::PlatformSpec& platform = unlaunched_.platform();
    std::map<TurnKey, int> turns;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      for (const TimedTurn& turn : stages_[stage]) ++turns[key_of(static_cast<int>(stage), turn.turn)];
    }
    StepTotals totals;
    const std::vector<PartOfStep::Place> places = run_.part.places();
    for (std::size_t place = 0; place < places.size(); ++place) {
      const auto [operation, block] = places[place];
      SIM_CHECK(operation != nullptr);
      const double like = turns_like(*block, turns);
      for (const StepPart& part : parts_of(*operation, run_.timeline.operations[place], platform)) {
        totals.count(part, like * block->share(question_.gpus()), platform);
      }
    }
    return totals;
  }

  // Returns how many runs of a block in the whole step each simulated run of it stands for; `turns` counts the turns of
  // each kind.
  double turns_like(const StepBlock& block, const std::map<TurnKey, int>& turns) const {
    const KindOfTurn kind = key_of(block.stage, block.turn).second;
    double like = 0.0;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (run_.simulated(static_cast<int>(stage)) != block.stage) continue;
      const std::int64_t shown =
          block.of_stage ? block.of_stage->shown_of(run_.layers[stage][block.of_stage->kind]) : 1;
      const TurnKey key{static_cast<int>(stage), kind};
      like += static_cast<double>(shown * turns.at(key)) / readings_.turns.at(key).seen;
    }
    return like;
  }

  // Adds busy times of the mean stage. During a turn its kernels run, slowed down by sends, or it waits for its host,
  // or nothing runs. Sends are exposed between turns; during turns they are exposed for the same share of time in which
  // no kernel runs.
  void add_busy_times(StepTotals& totals) const {
    const double share = 1.0 / question_.pp;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      BusySeconds of_turns;
      BusyTimes turns;
      for (const TimedTurn& turn : stages_[stage]) {
        const BusySeconds& seen = whole(stage, turn).busy;
        const double waiting = in_seconds(waits_in(turn));
        const double busy = seen.compute + seen.exposed;
        const double longest = in_seconds(turn.at.length()) - waiting;
        const double longer = busy > 0.0 ? std::min(longest, busy + in_seconds(turn.lost)) / busy : 0.0;
        of_turns += seen * longer;
        // Gaps between kernels are waits for the host, too, as far as the turn is as long as its host takes.
        const double behind = in_seconds(turn.pace.host - turn.pace.gpu);
        const double late = behind > 0.0 ? std::min(1.0, waiting / behind) : 0.0;
        of_turns.host += waiting + late * std::max(0.0, longest - busy * longer);
        add_busy(turns, turn.at.begin, turn.at.end);
      }
      BusyTimes sends;
      for (const bool from : {true, false}) {
        for (const Stay& sent : sends_of(stages_, stage, from)) add_busy(sends, sent.begin, sent.end);
      }
      const double all = in_seconds(length_of(sends));
      const double within = in_seconds(length_of(sends & turns));
      const double beside_sends = within / in_seconds(length_of(turns));
      const auto& [compute, communication, exposed, host] = of_turns;
      totals += BusySeconds{compute, communication + all - beside_sends * communication,
                            exposed + all - beside_sends * (compute + exposed), host - beside_sends * host} *
                share;
    }
  }

  const StepQuestion& question_;
  const StepQuestion few_;
  Testbed& testbed_;
  Testbed unlaunched_;
  SeenPipeline run_;
  TurnReadings readings_;  // of `run_`
  TimedStages stages_;     // of the whole step
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

std::vector<StepBlock> few_pipeline_blocks(const StepQuestion& question, const StepMachine& machine) {
  const std::vector<StageLayers> stages = stages_of_few(question);
  return pipeline_blocks(few_of_pipeline(question), stages, machine);
}

PipelineStep pipeline_step(const StepQuestion& question, const LayerTemplates& templates, Testbed& testbed) {
  return PipelineRun(question, templates, testbed).step();
}

}  // namespace c3sim::study
