// Power and clocks of NVIDIA boards, by NVML, whose functions are declared here: the toolkit has no header of it.
#pragma once

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

}  // namespace c3sim::measure
