// CuResources counts what a CU offers to the workgroups resident on it, and what one workgroup holds until it retires.
// The scarcest resource decides how many workgroups fit, and which kernels can share a CU.
#pragma once

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
  bool operator==(const CuResources&) const = default;
};

// Returns the number of workgroups, each with these needs, that fit into the room.
int workgroups_that_fit(const CuResources& room, const CuResources& need);

// Records a fault unless one workgroup with these needs, read from the section, fits on an empty CU.
void check_fits(sim::Section section, const CuResources& need, const CuResources& cu);

}  // namespace c3sim::models
