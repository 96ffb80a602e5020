// What the parts of a GPU draw, the bounds of its clock, and how its governor holds it under the cap.
#pragma once

#include <algorithm>

#include "models/platform/interference.h"
#include "sim/config/choice.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

// How the cap is kept.
enum class GovernorPolicy {
  at_once,      // at every instant, by the clock
  clock_steps,  // on average over a window, by a loop that moves the clock: models/machine/clock_loop.h
  power_limit   // by a loop that moves the bound of what may be drawn at once: models/machine/power_limit_loop.h
};
constexpr auto all_names(GovernorPolicy) { return sim::names("at_once", "clock_steps", "power_limit"); }

struct PowerSpec {
  sim::Watts cap;                    // of board power, on average over `window`
  sim::Watts burst_limit;            // of board power at every instant; not above the cap: the cap acts at once
  sim::Watts idle;                   // at the lowest clock
  sim::Watts clock_tree;             // added at the rated clock, in proportion to the clock
  sim::JoulesPerFlop matrix_energy;  // of a matrix operation at the reference clock
  sim::Hertz reference_clock;
  double voltage_exponent = 0.0;  // energy of an operation grows as clock^exponent
  sim::Watts busy_workgroup;      // of one workgroup that moves data, at the rated clock, in proportion to the clock
  sim::Watts streaming_cu;        // of a CU full of waves that load, store or compute, in proportion to the clock
  sim::JoulesPerFlop vector_energy{};  // of a vector operation in single precision, at any clock
  sim::JoulesPerByte l2_energy;
  sim::JoulesPerByte cache_energy;
  sim::JoulesPerByte hbm_energy;
  sim::JoulesPerByte update_energy{};  // of a byte that memory adds to another, beside those of its level
  // Of a byte at that level of the memory.
  sim::JoulesPerByte energy_at(Mechanism level) const {
    return level == Mechanism::l2 ? l2_energy : level == Mechanism::infinity_cache ? cache_energy : hbm_energy;
  }
  sim::Watts links_awake;  // while any of its links carries data, and for so long afterwards:
  sim::Time links_awake_for{0};
  sim::JoulesPerByte link_energy;  // per byte sent or received
  sim::Hertz lowest_clock;
  sim::Hertz highest_clock;
  sim::Hertz matrix_clock;  // the highest while matrix pipes are busy: a limit of each CU's own supply
  // The clock at which the platform file states whatever goes with the clock: rates of L2s, power of the clock tree and
  // of workgroups, steps of copy loops. Another highest clock leaves all of these as they are per cycle.
  sim::Hertz rated_clock;

  // Of the loop that holds the mean under the cap.
  GovernorPolicy governor = GovernorPolicy::at_once;
  sim::Time window{0};  // that it averages over, or the time constant of its filter
  sim::Time period{0};  // between its steps
  // Of clock steps.
  double dead_band = 0.0;    // relative distance from the cap at which it leaves the clock alone
  sim::Joules start_energy;  // above the cap, at which it starts
  // Of a power limit: so much a step moves its level (see level_of) for what power is off the cap, relative to that,
  // and for what this has changed by since the step before.
  double integral_gain = 0.0;
  double proportional_gain = 0.0;

  bool acts_at_once() const { return governor == GovernorPolicy::at_once || burst_limit <= cap; }
  // On what may be drawn at once, by a GPU that has long been busy.
  sim::Watts limit() const { return governor == GovernorPolicy::power_limit ? cap : std::max(burst_limit, cap); }
  sim::Watts at_rest() const { return idle + (highest_clock / rated_clock) * clock_tree; }
  // A limit as the clock at which a load meets it that meets the cap at 1: what is drawn above rest grows with the cube
  // of the clock.
  double level_of(sim::Watts limit) const;
  sim::Watts limit_at(double level) const;
  // What a clock is to be multiplied with for mean board power to become the cap: what is drawn above rest grows with
  // the cube of the clock.
  double step_to_cap(sim::Watts mean) const;

  static PowerSpec read(sim::Section section);
};

}  // namespace c3sim::models
