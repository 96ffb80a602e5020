#include "calibrate/measure/backends/nvidia_board.h"

#include <array>
#include <fstream>
#include <sstream>
#include <system_error>

namespace c3sim::measure {

namespace {

// As nvml.h has them.
constexpr int sm_clock = 1;              // NVML_CLOCK_SM
constexpr unsigned power_instant = 186;  // NVML_FI_DEV_POWER_INSTANT, in mW
constexpr double kilo = 1e3;

struct FieldValue {  // nvmlFieldValue_t
  unsigned field = 0;
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

}  // namespace

NvidiaBoard::NvidiaBoard(const Library& library, const std::string& bus_id) : library_(library) {
  const bool found = library_.succeeds("nvmlInit_v2") &&
                     library_.succeeds("nvmlDeviceGetHandleByPciBusId_v2", bus_id.c_str(), &board_);
  if (!found) board_ = nullptr;
}

std::optional<BoardState> NvidiaBoard::state() const {
  if (board_ == nullptr) return {};
  FieldValue instant;
  instant.field = power_instant;
  std::optional<double> milliwatts;
  if (library_.succeeds("nvmlDeviceGetFieldValues", board_, 1, &instant) && instant.result == success) {
    milliwatts = instant.value.as_unsigned;
  } else {  // older boards tell a mean alone
    milliwatts = number("nvmlDeviceGetPowerUsage");
  }
  const std::optional<double> megahertz = number("nvmlDeviceGetClockInfo", sm_clock);
  if (!milliwatts || !megahertz) return {};
  return BoardState{*milliwatts / kilo, *megahertz};
}

std::optional<double> NvidiaBoard::power_cap() const {
  const std::optional<double> milliwatts = number("nvmlDeviceGetEnforcedPowerLimit");
  return milliwatts ? std::optional(*milliwatts / kilo) : std::nullopt;
}

std::optional<double> NvidiaBoard::top_clock() const { return number("nvmlDeviceGetMaxClockInfo", sm_clock); }

std::string NvidiaBoard::driver_version(const Library& library) {
  std::array<char, 80> text{};
  const auto size = static_cast<unsigned>(text.size());
  if (!library.succeeds("nvmlInit_v2") || !library.succeeds("nvmlSystemGetDriverVersion", text.data(), size)) return {};
  return text.data();
}

template <class... Words>
std::optional<double> NvidiaBoard::number(const char* question, Words... words) const {
  unsigned value = 0;
  if (board_ == nullptr || !library_.succeeds(question, board_, words..., &value)) return {};
  return value;
}

namespace {
constexpr double mega = 1e6;
}

AmdBoard::AmdBoard(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "hwmon", absent)) sensors_ = entry.path();
}

// Power is told in uW, as a mean or, by newer boards, of the moment.
std::optional<BoardState> AmdBoard::state() const {
  std::optional<double> power = number("power1_input");
  if (!power) power = number("power1_average");
  const std::optional<double> megahertz = clock();
  if (!power || !megahertz) return {};
  return BoardState{*power / mega, *megahertz};
}

std::optional<double> AmdBoard::power_cap() const {
  const std::optional<double> cap = number("power1_cap");
  return cap ? std::optional(*cap / mega) : std::nullopt;
}

// In Hz among the sensors, or the line with an asterisk among the levels: "1: 2100Mhz *".
std::optional<double> AmdBoard::clock() const {
  if (const std::optional<double> hertz = number("freq1_input")) return *hertz / mega;
  std::ifstream levels(folder_ / "pp_dpm_sclk");
  for (std::string line; std::getline(levels, line);) {
    std::istringstream level(line.substr(line.find(':') + 1));
    double megahertz = 0.0;
    if (line.ends_with('*') && level >> megahertz) return megahertz;
  }
  return {};
}

std::optional<double> AmdBoard::number(const char* file) const {
  if (sensors_.empty()) return {};
  std::ifstream stream(sensors_ / file);
  double value = 0.0;
  return stream >> value ? std::optional(value) : std::nullopt;
}

}  // namespace c3sim::measure
