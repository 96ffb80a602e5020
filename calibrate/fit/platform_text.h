// The text of a platform file, in which single parameters are given other values while all else, comments and layout
// included, stays as it was written.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config.h"

namespace c3sim::calibrate {

// A number with its unit as a file spells them: "396 GB/s".
struct SpelledNumber {
  double number = 0.0;
  std::string unit;  // empty for none
};
SpelledNumber split_unit(std::string_view text);
// Digits that a simulation tells apart: with more a fit follows the noise of searches for clocks.
inline constexpr int simulated_digits = 6;
// With so many significant digits.
std::string spell(double number, std::string_view unit, int digits);
// With as many digits as its error has a say in, from three to six: to a twentieth of the error.
std::string spell_within(double number, double error, std::string_view unit);

class PlatformText {
 public:
  // Throws sim::ConfigError for a file that is no platform. What it stands on is found as models::platform_config does.
  // Assignments such as "gpus=4" are checked like the file and written into the text.
  explicit PlatformText(std::filesystem::path path, std::span<const std::filesystem::path> config_folders = {},
                        std::span<const std::string> assignments = {});

  const std::string& text() const { return text_; }
  // As they stand now, those of files that it stands on included.
  std::vector<sim::Parameter> parameters() const;
  static std::string place(const sim::Parameter& parameter);  // file:line
  // The path of a parameter by the names of rows of lists, where they have some.
  std::string by_name(std::string_view path) const { return config_.by_name(path); }

  // The platform with assignments such as "gpu.power.idle=95 W". Throws sim::ConfigError.
  models::PlatformSpec spec(std::span<const std::string> assignments = {}) const;

  // Writes another value, error and source where those of the parameter stand; an error that it had not follows its
  // value. A parameter of a file that this one stands on, which is not written to, gets a place in this one. All else
  // stays, byte for byte. Throws sim::ConfigError where the file does not give it as {value: ..., source: ..., ...}.
  struct Replacement {
    sim::Parameter parameter;
    std::string value;
    std::string error;  // empty: none is known
    std::string source;
    std::string kind = {};  // empty: as it is
  };
  void replace(std::span<const Replacement> replacements);
  // Puts a list under a key at the top in place of what is there; behind everything else where there is no such key. An
  // empty list takes the key out, or hides the list of a file that this one stands on. `rows` are indented already, and
  // end with a line break each.
  void replace_list(const std::string& key, const std::vector<std::string>& rows);

 private:
  struct Edit {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string by;
  };
  std::size_t offset_of(sim::ConfigPosition position) const;
  std::vector<Edit> edits_of(const Replacement& replacement) const;
  void read_text();
  void make_place(const sim::Parameter& parameter);
  void assign(const std::string& assignment, const std::vector<sim::Parameter>& assigned);

  std::filesystem::path path_;
  std::vector<std::filesystem::path> config_folders_;
  std::string text_;
  sim::Config config_;  // of the text, with what it stands on; not yet read
  models::GemmKernelTables kernels_;
};

}  // namespace c3sim::calibrate
