#include "calibrate/fit/unknown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/unit.h"

namespace c3sim::calibrate {

namespace {

std::string whole_bytes(double number, const std::string& unit) {
  return fmt::format("{:.0f} B", std::max(std::round(number * sim::worth_of(unit)), 1.0));
}

}  // namespace

Unknown Unknown::of(const sim::Parameter& parameter) {
  const SpelledNumber value = split_unit(parameter.value);
  const SpelledNumber low = split_unit(parameter.low);
  const SpelledNumber high = split_unit(parameter.high);
  const bool has_its_unit = value.unit == low.unit || parameter.unit == "B";  // bytes are written whole
  if (!has_its_unit || high.unit != low.unit) {
    throw sim::ConfigError({{PlatformText::place(parameter), parameter.path,
                             "the range of a parameter that is fitted has the unit of its value"}});
  }
  return {parameter, low.unit, low.number, high.number, "", ""};
}

std::string Unknown::at(double share) const {
  if (parameter.unit == "B") return whole_bytes(number_at(share), unit);
  return spell(number_at(share), unit, simulated_digits);
}

std::string Unknown::at(double share, double error) const {
  if (parameter.unit == "B") return whole_bytes(number_at(share), unit);
  return spell_within(number_at(share), error * (high - low), unit);
}

std::string Unknown::error_text(double error) const {
  if (parameter.unit == "B") return whole_bytes(error * (high - low), unit);
  return spell(error * (high - low), unit, 2);
}

}  // namespace c3sim::calibrate
