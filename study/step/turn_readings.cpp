#include "study/step/turn_readings.h"

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "models/collectives/collective.h"
#include "sim/check.h"
#include "study/run/queue_time.h"
#include "study/run/timeline.h"
#include "study/step/slope.h"

namespace c3sim::study {

namespace {

// What the host that launches kernels takes for an operation, that of a collective by engines which adds among them.
sim::Time launch_of_host(const Work& work, const models::PlatformSpec& platform) {
  const models::HostSpec& host = platform.host;
  const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
  if (collective == nullptr) return is_kernel(work) ? host.kernel_launch : sim::Time(0);
  const std::optional<models::CollectiveSpec> kernels = models::kernel_part(*collective, platform.gpu.sdma);
  if (!kernels) return sim::Time(0);
  return kernels->graph ? host.graph_launch : host.kernel_launch + host.collective_launch;
}

double as_seconds(sim::Time time) { return sim::to_seconds(time).value(); }
sim::Time share_of(double share, sim::Time time) { return sim::to_time(share * sim::to_seconds(time)); }

// What was seen of turns that are alike, of `count` of them together.
struct SeenTurns {
  struct Block {
    std::optional<LayersOfStage> of_stage{};
    std::vector<Pace> operations{};
    PowerMeter::Drawn drawn{};
    double compute = 0.0;
    double communication = 0.0;
    double exposed = 0.0;
  };
  std::vector<Block> blocks;
  int count = 0;
  sim::Time beside{0};  // sends
};

class TurnReader {
 public:
  explicit TurnReader(const SeenPipeline& run)
      : run_(run),
        places_(run.part.places()),
        spans_(on_queues(run.part.schedule, run.timeline, run.unlaunched)),
        metered_(on_queues(run.part.schedule, run.metered, run.unlaunched)),
        latest_(static_cast<std::size_t>(run.stages)),
        stages_(static_cast<std::size_t>(run.stages)) {}

  TurnReadings read() {
    for (std::size_t place = 0; place < places_.size(); ++place) {
      SIM_CHECK(places_[place].operation != nullptr);
      places_[place].block->is_sent() ? read_send(place) : read_operation(place);
    }
    for (std::vector<TimedTurn>& turns : stages_) queue_sends(turns);
    learn_slopes();
    for (std::size_t stage = 0; stage < run_.layers.size(); ++stage) {
      const int like = simulated_stage(stage, run_.layers.size(), run_.stages);
      for (const auto& [key, seen] : seen_) {
        if (key.first == like)
          readings_.turns[{static_cast<int>(stage), key.second}] = whole_of(seen, run_.layers[stage]);
      }
    }
    return std::move(readings_);
  }

 private:
  // Where the latest turn of a stage has come to.
  struct Reading {
    const StepBlock* block = nullptr;
    std::size_t blocks = 0;      // of this turn
    std::size_t operations = 0;  // of this block
    sim::Time metered{0};        // the end of the last one, in the run that was metered
  };

  void read_send(std::size_t place) {
    const StepBlock& block = *places_[place].block;
    std::vector<TimedTurn>& turns = stages_[static_cast<std::size_t>(block.stage)];
    const auto sender = std::ranges::find(turns, block.turn, &TimedTurn::turn);
    SIM_CHECK(sender != turns.end());
    sender->sends = true;
    sender->send_launch = launch_of_host(run_.part.schedule[place].work, run_.launched);
    sender->sent = {sender->at.end, std::max(sender->sent.end, spans_[place].end)};
  }

  // What a stage sends one way waits for what it sent before.
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

  // Each takes from the end of the one before it in its turn to its own.
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
    const TurnStay taken{turns.back().at.end, spans_[place].end};
    turns.back().at.end = taken.end;
    const TurnStay metered{reading.metered, metered_[place].end};
    reading.metered = metered.end;
    std::vector<SeenTurns::Block>& blocks = seen_[key_of(block->stage, block->turn)].blocks;
    if (blocks.size() <= reading.blocks) blocks.push_back({.of_stage = block->of_stage});
    SeenTurns::Block& seen = blocks[reading.blocks];
    if (seen.operations.size() <= reading.operations) seen.operations.emplace_back();
    Pace& pace = seen.operations[reading.operations++];
    pace.gpu += taken.length();
    pace.host = launch_of_host(work, run_.launched);
    if (stage < run_.meters.size()) seen.drawn += drawn_in(run_.meters[stage], metered, taken.length());
    BusyTimes compute;
    BusyTimes communication;
    for (const StepPart& part : parts_of(*operation, run_.timeline.operations[place], run_.unlaunched)) {
      add_busy(communicates(part.kind) ? communication : compute, part.start, part.end);
    }
    seen.compute += as_seconds(length_of(compute));
    seen.communication += as_seconds(length_of(communication));
    seen.exposed += as_seconds(length_of(communication - compute));
  }

  PowerMeter::Drawn drawn_in(const PowerMeter& meter, const TurnStay& metered, sim::Time taken) const {
    PowerMeter::Drawn drawn = meter.between(run_.origin + metered.begin, run_.origin + metered.end);
    if (taken != metered.length()) drawn += meter.at_rest(sim::to_seconds(taken - metered.length()));
    return drawn;
  }

  // What the simulated turns took, and of that what they lost to each other's sends.
  void learn_slopes() {
    std::map<TurnKey, std::vector<Slope::Sample>> turns;
    std::vector<TimedTurn> senders;
    sim::Time beside_sends{0};
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      const std::vector<TurnStay> beside_it = sends_of(stages_, stage);
      for (const TimedTurn& turn : stages_[stage]) {
        const TurnKey key = key_of(static_cast<int>(stage), turn.turn);
        const sim::Time together = beside(turn.at, beside_it);
        ++seen_[key].count;
        seen_[key].beside += together;
        turns[key].push_back({as_seconds(turn.at.length()), as_seconds(together)});
        if (!turn.sends) continue;
        if (!stages_[stage].back().turn && &turn == &stages_[stage].back() - 1) {
          readings_.sends_before_update[static_cast<int>(stage)] = turn.sent.length();
          continue;
        }
        senders.push_back(turn);
        beside_sends += beside_send(stages_, stage, turn);
      }
    }
    Slope of_turns;
    for (const auto& [key, alike] : turns) of_turns.add(alike);
    readings_.turn_slope = of_turns.value();
    learn_sends(senders, beside_sends);
  }

  // All send as much: the one that took least is taken to have been alone, and what the others took more to be lost to
  // turns beside them.
  void learn_sends(const std::vector<TimedTurn>& senders, sim::Time beside_them) {
    if (senders.empty()) return;
    const auto length = [](const TimedTurn& sender) { return sender.sent.length(); };
    const TimedTurn& alone = *std::ranges::min_element(senders, {}, length);
    sim::Time lost{0};
    for (const TimedTurn& sender : senders) lost += length(sender) - length(alone);
    readings_.send = length(alone);
    readings_.send_launch = alone.send_launch;
    if (beside_them > sim::Time(0)) readings_.send_slope = as_seconds(lost) / as_seconds(beside_them);
  }

  // The mean of those seen, beside nothing that is sent, with so many layers of each kind.
  WholeTurn whole_of(const SeenTurns& seen, const std::vector<std::int64_t>& layers) const {
    WholeTurn whole{.seen = seen.count};
    for (const SeenTurns::Block& block : seen.blocks) {
      const std::int64_t repeats = block.of_stage ? block.of_stage->shown_of(layers[block.of_stage->kind]) : 1;
      if (repeats == 0) continue;
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
      whole.exposed += block.exposed * share;
    }
    const sim::Time lost = std::min(whole.pace.gpu, readings_.lost_by_turn(seen.beside / seen.count));
    whole.pace.gpu -= lost;
    whole.pace.both -= lost;
    return whole;
  }

  const SeenPipeline& run_;
  const std::vector<PartOfStep::Place> places_;
  const std::vector<Span> spans_;
  const std::vector<Span> metered_;
  std::vector<Reading> latest_;  // by stage
  TimedStages stages_;           // as they ran
  std::map<TurnKey, SeenTurns> seen_;
  TurnReadings readings_;
};

}  // namespace

int simulated_stage(std::size_t stage, std::size_t stages, int simulated) {
  if (stage == 0) return 0;
  return stage + 1 == stages ? simulated - 1 : 1;
}

TurnKey key_of(int stage, const std::optional<Turn>& turn) {
  if (!turn) return {stage, KindOfTurn::update};
  if (turn->forward) return {stage, KindOfTurn::forward};
  return {stage, turn->micro == 0 ? KindOfTurn::first_gradient : KindOfTurn::gradient};
}

sim::Time TurnReadings::lost_by_turn(sim::Time beside_sends) const { return share_of(turn_slope, beside_sends); }
sim::Time TurnReadings::send_beside(sim::Time its_turns) const { return send + share_of(send_slope, its_turns); }

TurnReadings read_turns(const SeenPipeline& run) { return TurnReader(run).read(); }

}  // namespace c3sim::study
