#include "validate/case.h"

#include <fmt/format.h>

#include <cmath>

namespace validate {

double Case::error_of(double value) const {
  return form().error == study::ErrorKind::points ? value - measured : value / measured - 1.0;
}

std::optional<double> Case::noise() const {
  if (!low || !high) return {};
  const double half = std::abs(*high - *low) / 2.0;
  return form().error == study::ErrorKind::points ? half : half / measured;
}

bool Case::is_within_band() const { return predicted && std::abs(error()) <= band; }

std::string subject_of(const Case& one) {
  std::string text = one.machine.platform;
  for (const std::string& assignment : one.machine.assignments) text += " " + assignment;
  return fmt::format("{}: {}: {}", text, study::to_string(one.trial), one.form().key);
}

std::string command_of(const Case& one) {
  const std::string command = study::command_of(one.trial);
  if (command.empty()) return fmt::format("c3sim validate --case '{}'", one.id);
  std::string text = "c3sim " + command;
  if (one.machine.platform != "mi300x") text += " --platform " + one.machine.platform;
  for (const std::string& assignment : one.machine.assignments) text += " --set " + assignment;
  return text;
}

}  // namespace validate
