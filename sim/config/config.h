// A configuration file: YAML in which every mistake is found, placed and explained, all of a file at once.
// Usage: Config::from_file, then set() for each command-line assignment, then readers walk root(), then finish().
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_parameter.h"
#include "sim/config/config_section.h"

namespace c3sim::sim {

struct ConfigReading;

// The language is YAML without its traps: keys are names and occur once; no anchors, aliases, tags or second document;
// quotes close on their line; numbers are strictly decimal; quantities carry their unit; true and false are the only
// flags; UTF-8 without tabs, at most 256 KiB and 64 levels.
class Config {
 public:
  // Throw ConfigError for a file that cannot be read or is not of the language, with every place where a key is bad or
  // given twice, or else the first place where no YAML can be made of it. `name` stands for the file in positions.
  static Config from_file(const std::filesystem::path& path, Sources sources = Sources::optional);
  static Config from_text(std::string_view text, std::string name, Sources sources = Sources::optional);

  Config(Config&&) noexcept;
  Config& operator=(Config&&) noexcept;
  ~Config();

  // Replaces one value that the file has: "gpu.sdma.engines=32"; a list by a list. It is checked when it is read, as
  // the file is, and becomes a parameter of the kind what_if whose source is the assignment. Faults wait for finish().
  // Call it before anything is read.
  void set(std::string_view assignment);

  Section root();

  // Throws ConfigError if any fault was found, or a key was never read: that one is unknown.
  void finish();

  // Values that are legal but lie outside the range that their parameter gives, as a what-if value may.
  std::vector<Fault> warnings() const;
  // The values read so far, in the order of the file; those that a fallback stood in for are not among them.
  std::vector<Parameter> parameters() const;
  // The configuration as set(), to be written next to every result: reading it gives the same parameters.
  std::string resolved() const;

 private:
  explicit Config(std::unique_ptr<ConfigReading> reading);

  std::unique_ptr<ConfigReading> reading_;  // apart, so that sections stay valid when the Config is moved
};

}  // namespace c3sim::sim
