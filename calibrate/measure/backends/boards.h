// Reads power and clocks of boards: of NVIDIA's by NVML, whose functions are declared here, since not every toolkit has
// its header; of AMD's from files that the kernel's driver keeps for each GPU. Figures that a board does not report are
// empty.
#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "calibrate/measure/backends/gpu_calls.h"
#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

inline std::optional<double> over(std::optional<double> value, double factor) {
  return value ? std::optional(*value / factor) : std::nullopt;
}

// Returns the state if both the power (W) and the clock (MHz) are known.
inline std::optional<BoardState> board_state(std::optional<double> power, std::optional<double> clock) {
  return power && clock ? std::optional(BoardState{*power, *clock}) : std::nullopt;
}

class NvidiaBoard {
 public:
  // Finds the board. Without NVML, or if it does not know the GPU, all figures are empty.
  NvidiaBoard(const Library& library, const std::string& bus_id) : library_(library) {
    const bool found = library_.succeeds("nvmlInit_v2") &&
                       library_.succeeds("nvmlDeviceGetHandleByPciBusId_v2", bus_id.c_str(), &board_);
    if (!found) board_ = nullptr;
  }

  std::optional<BoardState> state() const {
    if (board_ == nullptr) return {};
    FieldValue instant;
    // Older boards report only a mean.
    const std::optional<double> milliwatts =
        library_.succeeds("nvmlDeviceGetFieldValues", board_, 1, &instant) && instant.result == success
            ? instant.value.as_unsigned
            : number("nvmlDeviceGetPowerUsage");
    return board_state(over(milliwatts, kilo), number("nvmlDeviceGetClockInfo", sm_clock));
  }
  std::optional<double> power_cap() const { return over(number("nvmlDeviceGetEnforcedPowerLimit"), kilo); }  // W
  std::optional<double> top_clock() const { return number("nvmlDeviceGetMaxClockInfo", sm_clock); }          // MHz
  static std::string driver_version(const Library& library) {
    std::array<char, 80> text{};
    const auto size = static_cast<unsigned>(text.size());
    const bool told =
        library.succeeds("nvmlInit_v2") && library.succeeds("nvmlSystemGetDriverVersion", text.data(), size);
    return told ? text.data() : "";
  }

 private:
  // These numbers are those of nvml.h.
  static constexpr int sm_clock = 1;              // NVML_CLOCK_SM
  static constexpr unsigned power_instant = 186;  // NVML_FI_DEV_POWER_INSTANT, in mW
  static constexpr double kilo = 1e3;
  struct FieldValue {  // nvmlFieldValue_t
    unsigned field = power_instant;
    unsigned scope = 0;
    long long timestamp = 0;
    long long latency = 0;
    int value_type = 0;
    int result = -1;
    union {
      double as_double;
      unsigned as_unsigned;
      unsigned long long as_long;
    } value{};
  };
  static_assert(sizeof(FieldValue) == 40);

  // Returns NVML's answer to a question about this board.
  template <class... Words>
  std::optional<double> number(const char* question, Words... words) const {
    unsigned value = 0;
    if (board_ == nullptr || !library_.succeeds(question, board_, words..., &value)) return {};
    return value;
  }

  Library library_;
  void* board_ = nullptr;
};

class AmdBoard {
 public:
  // `folder` is that of the PCI device: /sys/bus/pci/devices/0000:05:00.0. Without it all figures are empty.
  explicit AmdBoard(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::error_code absent;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "hwmon", absent)) sensors_ = entry.path();
  }

  // Newer boards report the power of the moment, others only a mean.
  std::optional<BoardState> state() const {
    const std::optional<double> power = number("power1_input");
    return board_state(power ? power : number("power1_average"), clock());
  }
  std::optional<double> power_cap() const { return number("power1_cap"); }  // W

 private:
  // Returns the number in a file of hwmon, which is in uW or Hz, in W or MHz.
  std::optional<double> number(const char* file) const {
    if (sensors_.empty()) return {};
    std::ifstream stream(sensors_ / file);
    double value = 0.0;
    return stream >> value ? std::optional(value / 1e6) : std::nullopt;
  }
  // Returns the clock of the sensors or, failing that, of the line with an asterisk among the levels: "1: 2100Mhz *".
  std::optional<double> clock() const {
    if (const std::optional<double> megahertz = number("freq1_input")) return megahertz;
    std::ifstream levels(folder_ / "pp_dpm_sclk");
    for (std::string line; std::getline(levels, line);) {
      std::istringstream level(line.substr(line.find(':') + 1));
      double megahertz = 0.0;
      if (line.ends_with('*') && level >> megahertz) return megahertz;
    }
    return {};
  }

  std::filesystem::path folder_, sensors_;
};

}  // namespace c3sim::measure
