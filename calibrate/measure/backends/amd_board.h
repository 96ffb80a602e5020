// Power and clocks of AMD boards, from the files that the kernel's driver keeps for each GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

class AmdBoard {
 public:
  // `folder` is that of the PCI device: /sys/bus/pci/devices/0000:05:00.0. Without it nothing is known of the board.
  explicit AmdBoard(std::filesystem::path folder);

  std::optional<BoardState> state() const;
  std::optional<double> power_cap() const;  // W

 private:
  std::optional<double> number(const char* file) const;  // of hwmon
  std::optional<double> clock() const;                   // MHz

  std::filesystem::path folder_, sensors_;
};

}  // namespace c3sim::measure
