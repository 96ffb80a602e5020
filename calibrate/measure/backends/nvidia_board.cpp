#include "calibrate/measure/backends/nvidia_board.h"

#include <array>
#include <cstring>

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
  int (*const init)() = library_.look_up("nvmlInit_v2");
  int (*const find)(const char*, void**) = library_.look_up("nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || find == nullptr || init() != success) return;
  if (find(bus_id.c_str(), &board_) != success) board_ = nullptr;
}

std::optional<BoardState> NvidiaBoard::state() const {
  if (board_ == nullptr) return {};
  BoardState state;
  int (*const fields)(void*, int, FieldValue*) = library_.look_up("nvmlDeviceGetFieldValues");
  int (*const usage)(void*, unsigned*) = library_.look_up("nvmlDeviceGetPowerUsage");
  int (*const clock)(void*, int, unsigned*) = library_.look_up("nvmlDeviceGetClockInfo");
  FieldValue instant;
  instant.field = power_instant;
  unsigned milliwatts = 0;
  if (fields != nullptr && fields(board_, 1, &instant) == success && instant.result == success) {
    milliwatts = instant.value.as_unsigned;
  } else if (usage == nullptr || usage(board_, &milliwatts) != success) {  // older boards tell a mean alone
    return {};
  }
  unsigned megahertz = 0;
  if (clock == nullptr || clock(board_, sm_clock, &megahertz) != success) return {};
  state.power = milliwatts / kilo;
  state.clock = megahertz;
  return state;
}

std::optional<double> NvidiaBoard::power_cap() const {
  int (*const ask)(void*, unsigned*) = library_.look_up("nvmlDeviceGetEnforcedPowerLimit");
  unsigned milliwatts = 0;
  if (board_ == nullptr || ask == nullptr || ask(board_, &milliwatts) != success) return {};
  return milliwatts / kilo;
}

std::optional<double> NvidiaBoard::top_clock() const {
  int (*const ask)(void*, int, unsigned*) = library_.look_up("nvmlDeviceGetMaxClockInfo");
  unsigned megahertz = 0;
  if (board_ == nullptr || ask == nullptr || ask(board_, sm_clock, &megahertz) != success) return {};
  return megahertz;
}

std::string NvidiaBoard::driver_version(const Library& library) {
  int (*const init)() = library.look_up("nvmlInit_v2");
  int (*const ask)(char*, unsigned) = library.look_up("nvmlSystemGetDriverVersion");
  std::array<char, 80> text{};
  if (init == nullptr || ask == nullptr || init() != success || ask(text.data(), text.size()) != success) return {};
  return text.data();
}

}  // namespace c3sim::measure
