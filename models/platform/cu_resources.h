// CuResources counts what a CU offers to the workgroups resident on it, and what one workgroup holds until it retires.
// The scarcest resource decides how many workgroups fit, and which kernels can share a CU.
#pragma once

#include <compare>
#include <cstdint>

#include "sim/config/config.h"

namespace c3sim::models {

struct CuResources {
  std::int32_t lds = 0;        // local data share, in bytes
  std::int32_t registers = 0;  // vector registers, in bytes
  std::int32_t waves = 0;      // wave slots

  static CuResources read(sim::Section section);

  CuResources& operator+=(const CuResources& other) {
    lds += other.lds;
    registers += other.registers;
    waves += other.waves;
    return *this;
  }
  CuResources operator-() const { return {-lds, -registers, -waves}; }
  CuResources operator/(int parts) const { return {lds / parts, registers / parts, waves / parts}; }
  bool operator==(const CuResources&) const = default;
};

// Returns the number of workgroups, each with these needs, that fit into the room.
int workgroups_that_fit(const CuResources& room, const CuResources& need);

// Records a fault unless one workgroup with these needs, read from the section, fits on an empty CU.
void check_fits(sim::Section section, const CuResources& need, const CuResources& cu);

// A CuMask says which CUs a stream may use: those with an index in [begin, end), the same on each XCD.
struct CuMask {
  int begin = 0;
  int end = 0;  // begin == end: every CU

  bool all() const { return begin == end; }
  // Returns how many of the `cus_per_xcd` CUs of an XCD the mask allows.
  int cus(int cus_per_xcd) const { return all() ? cus_per_xcd : end - begin; }
  auto operator<=>(const CuMask&) const = default;
};

}  // namespace c3sim::models
