#include "calibrate/measure/backends/amd_board.h"

#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace c3sim::measure {

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
