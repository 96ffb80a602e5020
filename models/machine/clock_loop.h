// ClockLoop is the loop by which firmware holds mean board power under the cap. It starts once a load has drawn
// `start_energy` more than the cap allows. Every `period` it reads the mean over the last `window` and, if that is
// further than `dead_band` from the cap, moves the clock's ceiling by PowerSpec::step_to_cap. It ends when power is
// within the cap at the highest clock. Measured on the H200 (validate/reference/h200x4/governor_series.csv).
#pragma once

#include <optional>

#include "models/machine/power.h"
#include "models/machine/power_record.h"
#include "sim/resource_network.h"

namespace c3sim::models {

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
  static State at_rest(const PowerSpec& spec);

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

}  // namespace c3sim::models
