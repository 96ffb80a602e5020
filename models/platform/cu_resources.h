// What a compute unit has for the workgroups that are resident on it, and what one workgroup holds of it until it
// retires. The scarcest of these decides how many fit, and which kernels fit beside each other.
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

// How many workgroups that each need so much find room.
int workgroups_that_fit(const CuResources& room, const CuResources& need);

// Records a fault unless one workgroup with these needs, read from the section, fits an empty CU.
void check_fits(sim::Section section, const CuResources& need, const CuResources& cu);

}  // namespace c3sim::models
