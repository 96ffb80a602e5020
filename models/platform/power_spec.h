// What the parts of a GPU draw, and the bounds of its clock.
#pragma once

#include "models/platform/interference.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

struct PowerSpec {
  sim::Watts cap;
  sim::Watts idle;                   // at the lowest clock
  sim::Watts clock_tree;             // added at the highest clock, in proportion to the clock
  sim::JoulesPerFlop matrix_energy;  // of a matrix operation at the reference clock
  sim::Hertz reference_clock;
  double voltage_exponent = 0.0;   // energy of an operation grows as clock^exponent ...
  sim::Hertz voltage_floor_clock;  // ... above this clock; below it the voltage falls no further
  sim::Watts busy_workgroup;       // of one workgroup that moves data, at the highest clock
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

  static PowerSpec read(sim::Section section);
};

}  // namespace c3sim::models
