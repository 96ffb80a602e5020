#include "calibrate/fit/unknown.h"

#include <fmt/format.h>

namespace c3sim::calibrate {

Unknown Unknown::of(const sim::Parameter& parameter) {
  const SpelledNumber value = split_unit(parameter.value);
  const SpelledNumber low = split_unit(parameter.low);
  const SpelledNumber high = split_unit(parameter.high);
  if (low.unit != value.unit || high.unit != value.unit) {
    throw sim::ConfigError({{PlatformText::place(parameter), parameter.path,
                             "the range of a parameter that is fitted has the unit of its value"}});
  }
  return {parameter, value.unit, low.number, high.number, "", ""};
}

std::string Unknown::assignment(double share) const {
  return fmt::format("{}={}", parameter.path, spell(number_at(share), unit, simulated_digits));
}

}  // namespace c3sim::calibrate
