// The loop by which firmware holds board power under the cap where it moves what may be drawn at once: every `period`
// it takes the mean since its last step through a filter of first order, and moves the level of its limit by how far
// that is off the cap and by how much this has changed. The change makes it undershoot where a load follows a phase of
// low power. The law was read off an MI300X (docs/model.md, "What a GPU remembers").
#pragma once

#include "models/machine/power.h"
#include "models/machine/power_record.h"
#include "sim/resource_network.h"

namespace c3sim::models {

class PowerLimitLoop {
 public:
  // What it remembers.
  struct State {
    double level = 0.0;     // of the limit: PowerSpec::level_of
    double filtered = 0.0;  // power over the cap
    sim::Time since_step{0};
    sim::Joules drawn;  // since then
  };
  // Of a GPU that has been at rest for long.
  static State at_rest(const PowerSpec& spec);
  // That draws the cap.
  static State at_cap() { return {1.0, 1.0, sim::Time(0), sim::Joules(0.0)}; }

  // Acts on the governor from now on.
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
  bool steps_ = false;  // while anything is drawn beyond rest
};

}  // namespace c3sim::models
