// The loop by which firmware holds mean board power under the cap: once a load has drawn `start_energy` more than the
// cap would have let it, it looks every `period` at the mean over the last `window` and, where that is further than
// `dead_band` from the cap, moves the clock's ceiling by the law of PowerSpec::step_to_cap. It ends when nothing is
// left to do. Measured on the H200 (validate/reference/h200x4/governor_series.csv).
#pragma once

#include <optional>

#include "models/machine/power.h"
#include "models/machine/power_record.h"
#include "sim/resource_network.h"

namespace c3sim::models {

class ClockLoop {
 public:
  // What it remembers, at a time that counts as 0.
  struct State {
    sim::Hertz ceiling;
    sim::Joules excess;                    // over the cap since the load began
    PowerRecord record;                    // of the last window
    std::optional<sim::Time> next_step{};  // none: it does not step
  };
  // Of a GPU that has been at rest for long.
  static State at_rest(const PowerSpec& spec);

  // Acts on the governor from now on.
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
  sim::Joules excess_;                      // over the cap since the load began
  sim::Time start_due_ = sim::Time::max();  // when that will be the start energy at the power drawn now
  std::optional<sim::Time> next_step_;
};

}  // namespace c3sim::models
