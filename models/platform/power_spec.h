// What the parts of a GPU draw, the bounds of its clock, and how its governor holds it under the cap.
#pragma once

#include <algorithm>

#include "models/platform/interference.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

struct PowerSpec {
  sim::Watts cap;                    // of board power, on average over `window`
  sim::Watts burst_limit;            // of board power at every instant; not above the cap: the cap acts at once
  sim::Watts idle;                   // at the lowest clock
  sim::Watts clock_tree;             // added at the highest clock, in proportion to the clock
  sim::JoulesPerFlop matrix_energy;  // of a matrix operation at the reference clock
  sim::Hertz reference_clock;
  double voltage_exponent = 0.0;  // energy of an operation grows as clock^exponent
  sim::Watts busy_workgroup;      // of one workgroup that moves data, at the highest clock
  sim::JoulesPerByte l2_energy;
  sim::JoulesPerByte cache_energy;
  sim::JoulesPerByte hbm_energy;
  // Of a byte at that level of the memory.
  sim::JoulesPerByte energy_at(Mechanism level) const {
    return level == Mechanism::l2 ? l2_energy : level == Mechanism::infinity_cache ? cache_energy : hbm_energy;
  }
  sim::Watts links_awake;          // while any of its links carries data
  sim::JoulesPerByte link_energy;  // per byte sent or received
  sim::Hertz lowest_clock;
  sim::Hertz highest_clock;
  sim::Hertz matrix_clock;  // the highest while matrix pipes are busy: a limit of each CU's own supply

  // Of the loop that holds the mean under the cap.
  sim::Time window{0};       // that it averages over
  sim::Time period{0};       // between its steps
  double dead_band = 0.0;    // relative distance from the cap at which it leaves the clock alone
  sim::Joules start_energy;  // above the cap, at which it starts

  bool acts_at_once() const { return burst_limit <= cap; }
  sim::Watts limit() const { return std::max(burst_limit, cap); }
  sim::Watts at_rest() const { return idle + clock_tree; }
  // What a clock is to be multiplied with for mean board power to become the cap: what is drawn above rest grows with
  // the cube of the clock.
  double step_to_cap(sim::Watts mean) const;

  static PowerSpec read(sim::Section section);
};

}  // namespace c3sim::models
