// Power and clocks of NVIDIA boards, by NVML, whose functions are declared here: the toolkit has no header of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/library.h"

namespace c3sim::measure {

class NvidiaBoard {
 public:
  // Without the library, or where it does not know that GPU, nothing is known of the board.
  NvidiaBoard(const Library& library, const std::string& bus_id);

  std::optional<BoardState> state() const;
  std::optional<double> power_cap() const;  // W
  std::optional<double> top_clock() const;  // MHz
  static std::string driver_version(const Library& library);

 private:
  // That NVML answers, asked about this board; nothing where it cannot tell.
  template <class... Words>
  std::optional<double> number(const char* question, Words... words) const;

  Library library_;
  void* board_ = nullptr;
};

// Power and clocks of AMD boards, from the files that the kernel's driver keeps for each GPU.
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
