// Edits the text of a platform file: single parameters get other values while all else, comments and layout included,
// stays as it was written.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config.h"

namespace c3sim::calibrate {

// A SpelledNumber is a number with its unit as a file spells them: "396 GB/s".
struct SpelledNumber {
  double number = 0.0;
  std::string unit;  // empty for none
};
SpelledNumber split_unit(std::string_view text);
// A simulation resolves this many significant digits; with more, a fit would follow the noise of clock searches.
inline constexpr int simulated_digits = 6;
// Spells a number with `digits` significant digits.
std::string spell(double number, std::string_view unit, int digits);
// Spells a number to a twentieth of its error, with three to six significant digits.
std::string spell_within(double number, double error, std::string_view unit);

// Returns the text in double quotes, as YAML spells it.
std::string in_double_quotes(std::string_view text);

class PlatformText {
 public:
  // Reads the file and, as models::platform_config does, those that it builds on. Checks assignments such as "gpus=4"
  // like the file and writes them into the text. Throws sim::ConfigError for a file that is no platform.
  explicit PlatformText(std::filesystem::path path, std::span<const std::filesystem::path> config_folders = {},
                        std::span<const std::string> assignments = {});

  const std::string& text() const { return text_; }
  // Returns the current parameters, including those of files that this one builds on.
  std::vector<sim::Parameter> parameters() const;
  static std::string place(const sim::Parameter& parameter);  // returns "file:line"
  // Returns the path of a parameter, with list entries called by name where they have names.
  std::string by_name(std::string_view path) const { return config_.by_name(path); }

  // Returns the platform with assignments such as "gpu.power.idle=95 W". Throws sim::ConfigError.
  models::PlatformSpec spec(std::span<const std::string> assignments = {}) const;

  // replace() overwrites the value, error and source of parameters; a new error follows the value. A parameter of a
  // file that this one builds on, which is never written to, gets a place in this one. All else stays, byte for byte.
  // Throws sim::ConfigError where the file does not give the parameter as {value: ..., source: ..., ...}.
  struct Replacement {
    sim::Parameter parameter;
    std::string value;
    std::string error;  // empty: unknown
    std::string source;
    std::string kind = {};  // empty: unchanged
  };
  void replace(std::span<const Replacement> replacements);
  // Replaces the list under a top-level key, or appends the key to the file. An empty list removes the key or, where a
  // file that this one builds on has the key, hides that list. `rows` are indented already, and end with a line break
  // each.
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
  sim::Config config_;  // text_ and the files that it builds on, parsed but not yet read
  models::GemmKernelTables kernels_;
};

}  // namespace c3sim::calibrate
