#include "calibrate/measure/backends/nvidia_board.h"

#include <array>

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

}  // namespace c3sim::measure
