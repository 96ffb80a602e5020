// Board power of one GPU over time: what a loop that averages looks back on.
#pragma once

#include <deque>

#include "sim/units.h"

namespace c3sim::models {

class PowerRecord {
 public:
  // `at_rest`: what is drawn before the first stretch and after the last.
  explicit PowerRecord(sim::Watts at_rest) : at_rest_(at_rest) {}

  // So much was drawn from `since`, where the stretch before ended if there was one, to `until`.
  void add(sim::Time since, sim::Time until, sim::Watts power);
  // The same so much later.
  PowerRecord moved(sim::Time by) const;
  // Nothing before `time` will be asked for.
  void forget_before(sim::Time time);

  sim::Watts mean(sim::Time since, sim::Time until) const;
  // The highest mean over any stretch so long between the two times; where they are nearer, the mean between them.
  sim::Watts highest_mean(sim::Time since, sim::Time until, sim::Time width) const;

 private:
  sim::Joules energy_until(sim::Time time) const;

  struct Mark {
    sim::Time time;
    sim::Joules energy;  // drawn so far
  };
  sim::Watts at_rest_;
  std::deque<Mark> marks_;
};

}  // namespace c3sim::models
