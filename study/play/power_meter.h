// Measures mean board power and clock of a GPU over a run (PowerMeter) and finds the clock of repeated runs
// (settle_clock).
#pragma once

#include <functional>
#include <vector>

#include "models/node.h"
#include "models/platform/power_spec.h"
#include "sim/units.h"
#include "study/play/timeline.h"

namespace c3sim::study {

// A PowerMeter is attached to an idle node before anything runs there. It must outlive the run.
class PowerMeter {
 public:
  void attach(models::Node& node);
  // record() keeps a run of which only the end may count; count_from() then counts its time from `from` on.
  void record(models::Node& node, int gpu = 0);
  void count_from(sim::Time from);

  // Return means over a run of length `time`. Time that was not metered counts as idle.
  sim::Watts mean_power(sim::Seconds time) const;
  sim::Hertz mean_clock(sim::Seconds time) const;
  // Returns the mean clock without the part `at_rest` of the run, during which the GPU was at rest.
  sim::Hertz clock_at_work(sim::Seconds time, sim::Seconds at_rest) const;

  // Drawn is what a GPU draws: between two times of the node's clock in a recorded run, or during `time` at rest.
  struct Drawn {
    sim::Joules energy;
    double cycles = 0.0;

    Drawn& operator+=(const Drawn& more);
    Drawn operator*(double factor) const { return {energy * factor, cycles * factor}; }
  };
  Drawn between(sim::Time since, sim::Time until) const;
  Drawn at_rest(sim::Seconds time) const { return {idle_power_ * time, idle_clock_ * time}; }

 private:
  struct Held {
    sim::Time since;
    sim::Time until;
    sim::Watts power;
    sim::Hertz clock;
  };
  template <class Note>
  void watch(models::Node& node, int gpu, Note note);
  void count(const Held& held, sim::Time from);

  std::vector<Held> recorded_;
  sim::Watts idle_power_;
  sim::Hertz idle_clock_;
  sim::Seconds busy_;
  sim::Joules energy_;
  double cycles_ = 0.0;
};

// settle_clock() finds where the clock settles when runs follow each other without end and a governor holds the mean of
// board power under the cap: at one ceiling for the whole run, if the governor's window is long against it. Except for
// its dead band, the governor's loop has the same fixed point (models/machine/governor_loop.h). For a run longer than
// window plus period, the governor holds the highest mean over a stretch of that length.

// A SteadyRun is what a governor sees of a run under a ceiling.
struct SteadyRun {
  sim::Watts power;          // the mean that the governor holds
  sim::Hertz clock_at_work;  // the last clock at which matrix work ran
  sim::Watts peak{0.0};      // the highest mean over the governor's window
};

// Tries ceilings, the highest clock first, until mean power meets the cap or the highest clock leaves it below. The
// clock settles at the last ceiling tried. Takes a few runs, or one if power stays below the cap.
ClockSearch settle_clock(const models::PowerSpec& spec, const std::function<SteadyRun(sim::Hertz ceiling)>& run);

}  // namespace c3sim::study
