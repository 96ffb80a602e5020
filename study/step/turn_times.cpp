#include "study/step/turn_times.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/check.h"

namespace c3sim::study {

namespace {

class TurnPlacer {
 public:
  explicit TurnPlacer(TimedStages& stages) : stages_(stages), states_(stages.size()) {}

  sim::Time place() {
    std::size_t left = 0;
    for (const std::vector<TimedTurn>& turns : stages_) left += turns.size();
    while (left > 0) {
      const std::size_t before = left;
      for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        while (can_begin(stage)) {
          place_next(stage);
          --left;
        }
      }
      SIM_CHECK(left < before);
    }
    return std::ranges::max(states_, {}, &State::gpu_free).gpu_free;
  }

 private:
  struct State {
    std::size_t next = 0;
    sim::Time gpu_free{0};
    sim::Time host_free{0};
    sim::Time sent_forward{0};  // end of the last send in this direction
    sim::Time sent_back{0};
  };
  using Arrival = std::tuple<std::size_t, bool, int>;  // stage, whether activations arrive, micro-batch

  bool can_begin(std::size_t stage) const {
    if (states_[stage].next == stages_[stage].size()) return false;
    const TimedTurn& turn = stages_[stage][states_[stage].next];
    return !turn.waits || arrivals_.contains({stage, turn.turn->forward, turn.turn->micro});
  }

  void place_next(std::size_t stage) {
    State& state = states_[stage];
    TimedTurn& turn = stages_[stage][state.next++];
    turn.at.begin = state.gpu_free;
    if (turn.waits) {
      turn.at.begin = std::max(turn.at.begin, arrivals_.at({stage, turn.turn->forward, turn.turn->micro}));
    }
    turn.at.end = std::max(turn.at.begin + turn.pace.gpu, state.host_free + turn.pace.both) + turn.lost;
    state.gpu_free = turn.at.end;
    state.host_free += turn.pace.host;
    if (!turn.sends) return;
    state.host_free += turn.send_launch;
    const bool forward = turn.turn->forward;
    sim::Time& sent = forward ? state.sent_forward : state.sent_back;
    turn.sent.begin = std::max({turn.at.end, sent, state.host_free});
    turn.sent.end = turn.sent.begin + turn.send;
    sent = turn.sent.end;
    arrivals_[{forward ? stage + 1 : stage - 1, forward, turn.turn->micro}] = sent;
  }

  TimedStages& stages_;
  std::vector<State> states_;
  std::map<Arrival, sim::Time> arrivals_;
};

}  // namespace

Pace Pace::then(const Pace& next) const {
  return {gpu + next.gpu, host + next.host, std::max(both + next.gpu, host + next.both)};
}

Pace Pace::repeated(std::int64_t times) const {
  Pace all;
  for (std::int64_t i = 0; i < times; ++i) all = all.then(*this);
  return all;
}

sim::Time TurnStay::beside(const TurnStay& other) const {
  return std::max(sim::Time(0), std::min(end, other.end) - std::max(begin, other.begin));
}

sim::Time place(TimedStages& stages) { return TurnPlacer(stages).place(); }

std::vector<TurnStay> sends_of(const TimedStages& stages, std::size_t stage) {
  std::vector<TurnStay> sends;
  const auto add = [&](std::size_t from, auto&& is_for_it) {
    if (from >= stages.size()) return;
    for (const TimedTurn& turn : stages[from]) {
      if (turn.sends && is_for_it(turn)) sends.push_back(turn.sent);
    }
  };
  add(stage, [](const TimedTurn&) { return true; });
  if (stage > 0) add(stage - 1, [](const TimedTurn& turn) { return turn.turn->forward; });
  add(stage + 1, [](const TimedTurn& turn) { return !turn.turn->forward; });
  return sends;
}

std::vector<TurnStay> turns_of(const TimedStages& stages, std::size_t stage) {
  std::vector<TurnStay> turns;
  for (const TimedTurn& turn : stages[stage]) turns.push_back(turn.at);
  return turns;
}

sim::Time beside(const TurnStay& one, const std::vector<TurnStay>& others) {
  sim::Time time{0};
  for (const TurnStay& other : others) time += one.beside(other);
  return time;
}

sim::Time beside_send(const TimedStages& stages, std::size_t stage, const TimedTurn& sender) {
  const std::size_t other = sender.turn->forward ? stage + 1 : stage - 1;
  const sim::Time both = beside(sender.sent, turns_of(stages, stage)) + beside(sender.sent, turns_of(stages, other));
  return std::min(both, sender.sent.length());
}

void Slope::add(const std::vector<Sample>& alike) {
  const auto count = static_cast<double>(alike.size());
  double length = 0.0;
  double share = 0.0;
  for (const Sample& one : alike) {
    length += one.length / count;
    share += one.beside / one.length / count;
  }
  for (const Sample& one : alike) {
    const double off = one.beside / one.length - share;
    above_ += off * (one.length / length - 1.0);
    below_ += off * off;
  }
}

double Slope::value() const { return below_ > 0.0 ? std::clamp(above_ / below_, 0.0, 1.0) : 0.0; }

}  // namespace c3sim::study
