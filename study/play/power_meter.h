// Board power and clock of one of a node's GPUs, means over a run.
#pragma once

#include <functional>
#include <vector>

#include "models/node.h"
#include "models/platform/power_spec.h"
#include "sim/units.h"

namespace c3sim::study {

// Attach it to an idle node before anything runs on it; it must outlive the run.
class PowerMeter {
 public:
  void attach(models::Node& node);
  // The same for a run of which only the end shows what counts: nothing before `from`, once that is told.
  void record(models::Node& node, int gpu = 0);
  void count_from(sim::Time from);

  // Over so long a run, whatever was not metered of it being idle.
  sim::Watts mean_power(sim::Seconds time) const;
  sim::Hertz mean_clock(sim::Seconds time) const;
  // The same of a run that was at rest for a part of it, without that part.
  sim::Hertz clock_at_work(sim::Seconds time, sim::Seconds at_rest) const;

  // Of a recorded run between two moments of the node's clock; of a GPU at rest for so long.
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

// Where the clock settles when one run follows another without end and a governor holds the mean of board power under
// the cap: at one ceiling for the whole run, as the governor's window is long against it. It is the fixed point of its
// loop (models/machine/clock_loop.h) but for the dead band. A run longer than the governor's memory, its window and
// period, has it hold the highest mean over so long a stretch.

// What was seen of a run under a ceiling.
struct SteadyRun {
  sim::Watts power;          // the mean that the governor would hold
  sim::Hertz clock_at_work;  // of matrix work, at the last
  sim::Watts peak{0.0};      // the highest mean over the governor's window
};

// Tries ceilings, the highest clock first, until mean power meets the cap or the highest clock leaves it below; the
// last one tried is where the clock settles. A few runs; one where nothing comes near the cap. False where it did not
// settle: neither does mean power meet the cap, nor is it known at which clock it passes it.
bool settle_clock(const models::PowerSpec& spec, const std::function<SteadyRun(sim::Hertz ceiling)>& run);

}  // namespace c3sim::study
