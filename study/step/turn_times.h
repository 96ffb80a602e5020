// When the turns of a pipeline's stages, and what they send, begin and end: a turn begins when the one before it on its
// stage has ended and what it waits for is there; what it sends follows it on a stream of its own, beside the next
// turn; the host of a stage launches turn after turn and gets as far ahead as it can. And how much longer turns take
// for what runs beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/units.h"
#include "study/program/pipeline.h"

namespace c3sim::study {

// How long operations that follow each other take.
struct Pace {
  sim::Time gpu{0};   // launched long before
  sim::Time host{0};  // of the host to launch them
  sim::Time both{0};  // from when the host begins to launch the first of them, on a GPU that has nothing else to do

  Pace then(const Pace& next) const;
  Pace repeated(std::int64_t times) const;
};

// When a turn, or what it sends, is under way.
struct TurnStay {
  sim::Time begin{0};
  sim::Time end{0};

  sim::Time length() const { return end - begin; }
  // For how long both are under way.
  sim::Time beside(const TurnStay& other) const;
};

struct TimedTurn {
  std::optional<Turn> turn{};  // none: the update behind them
  bool waits = false;          // for the stage before it, of a gradient for the one behind it
  bool sends = false;          // to the stage behind it, of a gradient to the one before it
  Pace pace{};
  sim::Time lost{0};         // more, for what runs beside it
  sim::Time send{0};         // from the end of the turn until the other stage has what it waits for
  sim::Time send_launch{0};  // of the host
  // Set by place:
  TurnStay at{};
  TurnStay sent{};
};
using TimedStages = std::vector<std::vector<TimedTurn>>;

// Each turn as early as it can be. Those of a stage are in its order; one without end is a failed check. Returns when
// the last one ends.
sim::Time place(TimedStages& stages);

// What is sent by a stage and to it, and its turns.
std::vector<TurnStay> sends_of(const TimedStages& stages, std::size_t stage);
std::vector<TurnStay> turns_of(const TimedStages& stages, std::size_t stage);
// For how long they are under way beside one, each for itself.
sim::Time beside(const TurnStay& one, const std::vector<TurnStay>& others);
// For how long what a turn of the stage sends is beside a turn of either stage.
sim::Time beside_send(const TimedStages& stages, std::size_t stage, const TimedTurn& sender);

// How much longer something takes for each moment that others are beside it: of those that are alike otherwise, by the
// line through what was seen that is nearest to it. Lengths are relative to the mean, others to the length.
class Slope {
 public:
  struct Sample {
    double length = 0.0;  // seconds, as is the time that others were beside it
    double beside = 0.0;
  };
  void add(const std::vector<Sample>& alike);
  // From 0 to 1; 0 where nothing was seen that differs.
  double value() const;

 private:
  double above_ = 0.0;
  double below_ = 0.0;
};

}  // namespace c3sim::study
