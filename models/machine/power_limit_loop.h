// PowerLimitLoop is the loop by which firmware holds board power under the cap by moving a limit on instantaneous
// power. Every `period` it passes the mean since its last step through a first-order filter, and moves the level of the
// limit by the distance of the result from the cap and by its change. The latter makes power undershoot when a load
// follows a phase of low power. The law was read off an MI300X (docs/model.md, "What a GPU remembers").
#pragma once

#include "models/machine/power.h"
#include "models/machine/power_record.h"
#include "sim/resource_network.h"

namespace c3sim::models {

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
  static State at_rest(const PowerSpec& spec);
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

}  // namespace c3sim::models
