#include "validate/case.h"

#include <fmt/format.h>

#include <cmath>

#include "study/ask/option.h"

namespace c3sim::validate {

double Case::error_of(double value) const {
  return form().error == study::ErrorKind::points ? value - measured : value / measured - 1.0;
}

std::optional<double> Case::noise() const {
  if (!low || !high) return {};
  const double half = std::abs(*high - *low) / 2.0;
  return form().error == study::ErrorKind::points ? half : half / measured;
}

bool Case::is_within_band() const { return is_scored() && is_within(error(), band); }

bool is_within(double error, double band) {
  constexpr double rounding = 1e-12;  // 105 / 100 - 1 is more than 0.05
  return std::abs(error) <= band + rounding;
}

std::string subject_of(const Case& one) {
  std::string text = one.machine.platform;
  for (const std::string& assignment : one.machine.assignments) text += " " + assignment;
  return fmt::format("{}: {}: {}", text, study::to_string(one.trial), one.form().key);
}

std::string command_of(const Case& one) {
  const std::string command = study::command_of(one.trial);
  std::string text;
  if (command.empty()) {
    const std::string of = one.suite.empty() ? one.where.substr(0, one.where.rfind(':')) : one.suite;
    text = fmt::format("c3sim validate {} --case {}", study::shell_word(of), study::shell_word(one.id));
  } else {
    text = "c3sim " + command;
    if (one.machine.platform != "mi300x") text += " --platform " + study::shell_word(one.machine.platform);
    for (const std::string& assignment : one.machine.assignments) text += " --set " + study::shell_word(assignment);
  }
  for (const std::string& change : one.machine.changes) text += " --set " + study::shell_word(change);
  return text;
}

}  // namespace c3sim::validate
