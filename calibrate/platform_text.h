// The text of a platform file, in which single parameters are given other values while all else, comments and layout
// included, stays as it was written.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config_parameter.h"

namespace c3sim::calibrate {

// A number with its unit as a file spells them: "396 GB/s".
struct SpelledNumber {
  double number = 0.0;
  std::string unit;  // empty for none
};
SpelledNumber split_unit(std::string_view text);
// With three significant digits, as many as a fit has a say in.
std::string spell(double number, std::string_view unit);

class PlatformText {
 public:
  // Throws sim::ConfigError for a file that is no platform.
  explicit PlatformText(std::filesystem::path path);

  const std::string& text() const { return text_; }
  // As they stand now, in the order of the file.
  std::vector<sim::Parameter> parameters() const;
  std::string place(const sim::Parameter& parameter) const;  // file:line

  // The platform with assignments such as "gpu.power.idle=95 W". Throws sim::ConfigError.
  models::PlatformSpec spec(std::span<const std::string> assignments = {}) const;

  // Writes another value and source into the line of the parameter. Throws sim::ConfigError where the file does not
  // give it on one line as {value: ..., source: ..., ...}.
  void replace(const sim::Parameter& parameter, std::string_view value, std::string_view source);

 private:
  std::filesystem::path path_;
  std::string text_;
};

}  // namespace c3sim::calibrate
