#include "study/step/stage_turns.h"

#include <algorithm>
#include <map>
#include <tuple>

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

// A TurnPlayer makes three works of each turn: what its GPUs do, its end, which a late host may put off, and its send,
// which takes no time where nothing is sent. The first of all works is the begin of the step.
class TurnPlayer {
 public:
  TurnPlayer(TimedStages& stages, const TurnSlowdowns& slowdowns) : stages_(stages), classes_of_(stages.size()) {
    for (Classes& one : classes_of_) {
      one = {.turns = classes_.add(), .forward = classes_.add(), .back = classes_.add(), .unslowed = classes_.add()};
    }
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      const Classes& own = classes_of_[stage];
      connect(own.forward, stage, true, slowdowns);
      connect(own.back, stage, false, slowdowns);
      connect(own.unslowed, stage, false, {slowdowns.sending, slowdowns.receiving, 1.0});
    }
    std::size_t place = first_turn;
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      for (const TimedTurn& turn : stages[stage]) {
        if (turn.sends)
          arrivals_[{receiver_of(stage, turn.turn->forward), turn.turn->forward, turn.turn->micro}] = place + send;
        place += works_of_turn;
      }
    }
  }

  sim::Time play() {
    add({}, {});
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) add_stage(stage);
    const std::vector<Stay> played = play_known(works_, waits_, std::move(classes_));
    sim::Time last{0};
    std::size_t place = first_turn;
    for (std::vector<TimedTurn>& turns : stages_) {
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

 private:
  static constexpr std::size_t first_turn = 1;
  static constexpr std::size_t end = 1, send = 2, works_of_turn = 3;  // places after that of a turn's GPUs

  struct Classes {
    WorkClasses::Id turns = 0, forward = 0, back = 0;
    WorkClasses::Id unslowed = 0;  // sends back that turns do not slow down
  };

  void connect(WorkClasses::Id sends, std::size_t stage, bool forward, const TurnSlowdowns& slowdowns) {
    const auto connect_turns = [&](std::size_t of, double slowed) {
      if (of >= stages_.size()) return;
      classes_.slow_down(classes_of_[of].turns, sends, slowed);
      classes_.slow_down(sends, classes_of_[of].turns, slowdowns.send);
    };
    connect_turns(stage, slowdowns.sending);
    connect_turns(receiver_of(stage, forward), slowdowns.receiving);
  }

  void add(const KnownWork& work, const std::vector<After>& after) {
    works_.push_back(work);
    for (const After& one : after) waits_.add(one);
    waits_.end_list();
  }

  void add_stage(std::size_t stage) {
    const Classes& classes = classes_of_[stage];
    std::size_t before = 0;                       // the end of the previous turn, or the begin of the step
    std::size_t sent_forward = 0, sent_back = 0;  // the last send of that direction, or the begin
    sim::Time launched{0};                        // when the host has launched all up to here
    const sim::Time none{0};
    for (const TimedTurn& turn : stages_[stage]) {
      const std::size_t place = works_.size();
      std::vector<After> after{{before, none}};
      if (turn.waits) after.emplace_back(arrivals_.at({stage, turn.turn->forward, turn.turn->micro}), none);
      add({turn.pace.gpu, classes.turns}, after);
      add({}, {{place, none}, {0, launched + turn.pace.both}});
      launched += turn.pace.host + turn.send_launch;
      const bool forward = turn.turn && turn.turn->forward;
      std::size_t& sent = forward ? sent_forward : sent_back;
      const WorkClasses::Id slowed = forward ? classes.forward : classes.back;
      add({turn.sends ? turn.send : none, turn.send_is_slowed ? slowed : classes.unslowed},
          {{place + end, none}, {sent, none}, {0, launched}});
      if (turn.sends) sent = place + send;
      before = place + end;
    }
  }

  TimedStages& stages_;
  WorkClasses classes_;
  std::vector<Classes> classes_of_;  // by stage
  // Sends by the stage that they arrive at, their direction (true: forward) and micro-batch.
  std::map<std::tuple<std::size_t, bool, int>, std::size_t> arrivals_;
  std::vector<KnownWork> works_;
  WaitLists waits_;
};

}  // namespace

sim::Time play_turns(TimedStages& stages, const TurnSlowdowns& slowdowns) {
  return TurnPlayer(stages, slowdowns).play();
}

std::vector<Stay> sends_from(const TimedStages& stages, std::size_t stage) {
  std::vector<Stay> sends;
  for (const TimedTurn& turn : stages[stage]) {
    if (turn.sends) sends.push_back(turn.sent);
  }
  return sends;
}

std::vector<Stay> sends_to(const TimedStages& stages, std::size_t stage) {
  std::vector<Stay> sends;
  for (std::size_t from = 0; from < stages.size(); ++from) {
    for (const TimedTurn& turn : stages[from]) {
      if (turn.sends && receiver_of(from, turn.turn->forward) == stage) sends.push_back(turn.sent);
    }
  }
  return sends;
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

}  // namespace c3sim::study
