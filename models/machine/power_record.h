// A PowerRecord holds the board power of one GPU over time, for loops that average it over a window.
#pragma once

#include <deque>

#include "sim/units.h"

namespace c3sim::models {

class PowerRecord {
 public:
  // `at_rest` is the power before the first stretch and after the last.
  explicit PowerRecord(sim::Watts at_rest) : at_rest_(at_rest) {}

  // Adds a stretch of constant power from `since`, where the stretch before ended if there was one, to `until`.
  void add(sim::Time since, sim::Time until, sim::Watts power);
  // Returns the record with all times shifted by `by`.
  PowerRecord moved(sim::Time by) const;
  // Drops what lies before `time`; nobody may ask for it afterwards.
  void forget_before(sim::Time time);

  sim::Watts mean(sim::Time since, sim::Time until) const;
  // Returns the highest mean over any window of length `width` between the two times; if they are nearer, their mean.
  sim::Watts highest_mean(sim::Time since, sim::Time until, sim::Time width) const;

 private:
  sim::Joules energy_until(sim::Time time) const;

  struct Mark {
    sim::Time time;
    sim::Joules energy;  // drawn up to `time`
  };
  sim::Watts at_rest_;
  std::deque<Mark> marks_;
};

}  // namespace c3sim::models
