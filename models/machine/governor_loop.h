// A governor's loop is how firmware holds mean board power under the cap. There are two kinds: PowerLimitLoop moves a
// limit on power, ClockLoop the ceiling of the clock.
#pragma once

#include <deque>
#include <optional>
#include <variant>

#include "models/machine/power.h"
#include "sim/resource_network.h"
#include "sim/units.h"

namespace c3sim::models {

// A PowerRecord holds the board power of one GPU over time, for loops that average it over a window.
class PowerRecord {
 public:
  // `at_rest` is the power before the first stretch and after the last.
  explicit PowerRecord(sim::Watts at_rest) : at_rest_(at_rest) {}

  // Adds a stretch of constant power from `since`, where the stretch before ended if there was one, to `until`.
  void add(sim::Time since, sim::Time until, sim::Watts power);
  // Returns the record with all times shifted by `by`.
  PowerRecord moved(sim::Time by) const;
  // Drops what lies before `time`; nobody may ask for it afterwards.
  void forget_before(sim::Time time) {
    while (marks_.size() > 1 && marks_[1].time <= time) marks_.pop_front();
  }

  sim::Watts mean(sim::Time since, sim::Time until) const {
    return (energy_until(until) - energy_until(since)) / sim::to_seconds(until - since);
  }
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

// PowerLimitLoop is the loop by which firmware holds board power under the cap by moving a limit on instantaneous
// power. Every `period` it passes the mean since its last step through a first-order filter, and moves the level of the
// limit by the distance of the result from the cap and by its change. The latter makes power undershoot when a load
// follows a phase of low power. The law was read off an MI300X (docs/model.md, "What a GPU remembers").
class PowerLimitLoop {
 public:
  // The loop's memory.
  struct State {
    double level = 0.0;       // PowerSpec::level_of the limit
    double filtered = 0.0;    // filtered power, relative to the cap
    sim::Time since_step{0};  // time since the last step
    sim::Joules drawn;        // energy drawn since the last step
  };
  // Returns the state of a GPU that has been at rest for long.
  static State at_rest(const PowerSpec& spec) {
    return {spec.level_of(spec.burst_limit), spec.at_rest() / spec.cap, sim::Time(0), sim::Joules(0.0)};
  }
  // Returns the state of a GPU that has long drawn exactly the cap.
  static State at_cap() { return {1.0, 1.0, sim::Time(0), sim::Joules(0.0)}; }

  // The loop acts on the governor from now on.
  PowerLimitLoop(const PowerSpec& spec, sim::ResourceNetwork& network, PowerGovernor& governor, const State& state);
  PowerLimitLoop(const PowerLimitLoop&) = delete;
  PowerLimitLoop& operator=(const PowerLimitLoop&) = delete;

  State state();

 private:
  bool at_work() const;
  void wake();
  void make_up();
  void step();
  void move(sim::Watts mean);

  PowerSpec spec_;
  sim::ResourceNetwork& network_;
  sim::Simulator& simulator_;
  PowerGovernor& governor_;
  PowerRecord record_;
  sim::Time last_step_;
  double filtered_;
  double level_;
  bool steps_ = false;  // true while the GPU draws more than at rest
};

// ClockLoop is the loop by which firmware holds mean board power under the cap. It starts once a load has drawn
// `start_energy` more than the cap allows. Every `period` it reads the mean over the last `window` and, if that is
// further than `dead_band` from the cap, moves the clock's ceiling by PowerSpec::step_to_cap. It ends when power is
// within the cap at the highest clock. Measured on the H200 (validate/reference/h200x4/governor_series.csv).
class ClockLoop {
 public:
  // The loop's memory; its times count from the moment of state().
  struct State {
    sim::Hertz ceiling;
    sim::Joules excess;                    // energy drawn over the cap since the load began
    PowerRecord record;                    // power of the last window
    std::optional<sim::Time> next_step{};  // none: the loop has not started
  };
  // Returns the state of a GPU that has been at rest for long.
  static State at_rest(const PowerSpec& spec) {
    return {spec.highest_clock, sim::Joules(0.0), PowerRecord(spec.at_rest())};
  }

  // The loop acts on the governor from now on.
  ClockLoop(const PowerSpec& spec, sim::ResourceNetwork& network, PowerGovernor& governor, const State& state);
  ClockLoop(const ClockLoop&) = delete;
  ClockLoop& operator=(const ClockLoop&) = delete;

  State state();

 private:
  void note(sim::Time since, sim::Time until);
  void foresee_start();
  void start_if_due(sim::Time due);
  void step();
  void step_at(sim::Time time);

  PowerSpec spec_;
  sim::ResourceNetwork& network_;
  sim::Simulator& simulator_;
  PowerGovernor& governor_;
  PowerRecord record_;
  sim::Time noted_until_;
  sim::Joules excess_;                      // energy drawn over the cap since the load began
  sim::Time start_due_ = sim::Time::max();  // when the excess reaches the start energy at the power drawn now
  std::optional<sim::Time> next_step_;
};

// GovernorState is the state of a loop of either kind. A loop remembers work that has ended, so its state passes from
// one run on a GPU to the next.
using GovernorState = std::variant<PowerLimitLoop::State, ClockLoop::State>;

}  // namespace c3sim::models
