// A PowerSpec describes the power of the parts of a GPU, the bounds of its clock, and how its governor keeps the cap.
#pragma once

#include <algorithm>
#include <cmath>

#include "models/platform/interference.h"
#include "sim/config/choice.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

// The policy tells how the governor keeps the cap.
enum class GovernorPolicy {
  at_once,      // at every instant, by the clock
  clock_steps,  // on average over a window, by a loop that moves the clock (models/machine/governor_loop.h)
  power_limit   // by a loop that moves a limit on instantaneous power (models/machine/governor_loop.h)
};
constexpr auto all_names(GovernorPolicy) { return sim::names("at_once", "clock_steps", "power_limit"); }

struct PowerSpec {
  sim::Watts cap;          // limit on board power, averaged over `window`
  sim::Watts burst_limit;  // limit on instantaneous board power; unless it is above the cap, the cap acts at once
  sim::Watts idle;         // power of an idle GPU at the lowest clock
  sim::Watts clock_tree;   // power added at the rated clock, in proportion to the clock
  sim::JoulesPerFlop matrix_energy;  // energy of a matrix operation at the reference clock
  sim::Hertz reference_clock;
  double voltage_exponent = 0.0;  // the energy of an operation grows as clock^exponent
  sim::Watts busy_workgroup;      // power per workgroup that moves data, at the rated clock, in proportion to the clock
  sim::Watts streaming_cu;        // power per CU full of waves that load, store or compute, in proportion to the clock
  sim::JoulesPerFlop vector_energy{};  // energy of a vector operation in single precision, at any clock
  sim::JoulesPerByte l2_energy;
  sim::JoulesPerByte cache_energy;
  sim::JoulesPerByte hbm_energy;
  sim::JoulesPerByte update_energy{};  // energy per byte that memory adds to another, beyond that of the byte's level
  // Returns the energy of a byte at a level of the memory.
  sim::JoulesPerByte energy_at(Mechanism level) const {
    return level == Mechanism::l2 ? l2_energy : level == Mechanism::infinity_cache ? cache_energy : hbm_energy;
  }
  sim::Watts links_awake;  // power while any link carries data and for links_awake_for afterwards
  sim::Time links_awake_for{0};
  sim::JoulesPerByte link_energy;  // energy per byte sent or received
  sim::Hertz lowest_clock;
  sim::Hertz highest_clock;
  sim::Hertz matrix_clock;  // highest clock while matrix pipes are busy: a limit of each CU's own supply
  // The platform file states everything that goes with the clock at this clock: rates of L2s, power of the clock tree
  // and of workgroups, steps of copy loops. Another highest clock does not change these values per cycle.
  sim::Hertz rated_clock;

  // These describe the loop that holds mean power under the cap.
  GovernorPolicy governor = GovernorPolicy::at_once;
  sim::Time window{0};  // averaging window, or time constant of the filter
  sim::Time period{0};  // time between steps
  // The policy clock_steps uses these.
  double dead_band = 0.0;    // relative distance from the cap within which the clock stays
  sim::Joules start_energy;  // energy above the cap at which the loop starts
  // For power_limit, a step moves the level of the limit (see level_of()) by integral_gain times how far power is below
  // the cap, less proportional_gain times its rise since the last step, both relative to the cap.
  double integral_gain = 0.0;
  double proportional_gain = 0.0;

  bool acts_at_once() const { return governor == GovernorPolicy::at_once || burst_limit <= cap; }
  // Returns the limit on instantaneous power of a GPU that has long been busy.
  sim::Watts limit() const { return governor == GovernorPolicy::power_limit ? cap : std::max(burst_limit, cap); }
  sim::Watts at_rest() const { return idle + (highest_clock / rated_clock) * clock_tree; }
  // Returns the clock at which a load draws `limit`, relative to the clock at which it draws the cap: power above rest
  // grows with the cube of the clock.
  double level_of(sim::Watts limit) const { return std::cbrt((limit - at_rest()) / (cap - at_rest())); }
  // Returns the limit at a level: the inverse of level_of().
  sim::Watts limit_at(double level) const { return at_rest() + level * level * level * (cap - at_rest()); }
  // Returns the factor on the clock that brings mean board power to the cap, by the same law.
  double step_to_cap(sim::Watts mean) const;

  static PowerSpec read(sim::Section section);
};

}  // namespace c3sim::models
