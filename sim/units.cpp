#include "sim/units.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "sim/check.h"

namespace c3sim::sim {

Time to_time(Seconds duration) {
  const double picoseconds = duration.value() * 1e12;
  SIM_CHECK(picoseconds > -0x1p63 && "a duration is a number");
  if (picoseconds >= 0x1p63) return Time::max();
  // 2.2e-6 s times 1e12 is a little more than 2200000. A number within a few roundings of a whole picosecond therefore
  // means that picosecond, unless the next one is nearer.
  const double roundings = std::min(0.5, 8 * std::numeric_limits<double>::epsilon() * std::abs(picoseconds));
  const auto whole = static_cast<std::int64_t>(picoseconds);  // rounded towards zero
  const double beyond = picoseconds - static_cast<double>(whole);
  if (beyond > 0.0) return Time(whole != 0 && beyond <= roundings ? whole : whole + 1);
  return Time(beyond < 0.0 && 1.0 + beyond <= roundings ? whole - 1 : whole);
}

std::string to_string(Bytes bytes) {
  std::string shortest = fmt::format("{}B", bytes.value());
  for (const Unit& unit : binary_units) {
    if (std::abs(bytes.value()) < unit.factor) break;
    std::string text = fmt::format("{}{}", bytes.value() / unit.factor, unit.name);
    if (text.size() <= shortest.size()) shortest = std::move(text);
  }
  return shortest;
}

std::string to_string(Time time) {
  const double seconds = to_seconds(time).value();
  for (const Unit& unit : units_of(Dimension::time)) {
    const double number = seconds * unit.divisor;
    // From 999.5 on, three digits would show 1000, so that the next larger unit fits.
    if (std::abs(number) < 999.5) return fmt::format("{:.3g}{}", number, unit.name);
  }
  return fmt::format("{:.0f}s", seconds);
}

}  // namespace c3sim::sim
