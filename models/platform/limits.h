// The limits are the widest values that a platform parameter may take; anything beyond is a mistake, not a machine.
#pragma once

#include <string_view>

#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models::limits {

inline constexpr sim::Limits<sim::Bytes> capacity{sim::Bytes(1.0), sim::Bytes(1e15)};
inline constexpr sim::Limits<sim::BytesPerSecond> rate{sim::BytesPerSecond(1e6), sim::BytesPerSecond(1e16)};
inline constexpr sim::Limits<sim::Time> latency{sim::Time(0), sim::Time(1'000'000'000'000)};  // at most a second
inline constexpr sim::Limits<sim::Hertz> clock{sim::Hertz(1e6), sim::Hertz(1e11)};
inline constexpr sim::Limits<sim::Watts> power{sim::Watts(0.0), sim::Watts(1e5)};
inline constexpr sim::Limits<sim::Joules> energy{sim::Joules(0.0), sim::Joules(1e6)};
inline constexpr sim::Limits<sim::JoulesPerByte> energy_per_byte{sim::JoulesPerByte(0.0), sim::JoulesPerByte(1e-6)};
inline constexpr sim::Limits<sim::JoulesPerFlop> energy_per_flop{sim::JoulesPerFlop(0.0), sim::JoulesPerFlop(1e-9)};

}  // namespace c3sim::models::limits

namespace c3sim::models {

// Reads how sharply a roofline bends (models::Bend): 0, the default, counts only the slower of two bounds, and 1, the
// widest bend, adds their times. Records a fault for values between 0 and 1.
inline double read_knee(sim::Section& section, std::string_view key) {
  const double knee = section.number(key, 0.0, 100.0, 0.0);
  if (knee > 0.0 && knee < 1.0) {
    section.fault(key, "lies between 0 and 1: 0, a roofline without a bend, is accepted, or numbers from 1");
  }
  return knee;
}

}  // namespace c3sim::models
