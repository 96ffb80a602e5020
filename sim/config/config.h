// A Config holds a configuration file: YAML in which all mistakes are found at once, with place and explanation.
// Usage: Config::from_file, then set() for each command-line assignment, then readers walk root(), then finish().
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_section.h"

namespace c3sim::sim {

struct ConfigReading;
class Variables;

// The language is YAML without its traps: keys are names and occur once; there are no anchors, aliases, tags or second
// document; quotes close on their line; numbers are strictly decimal; quantities carry their unit; true and false are
// the only flags; the text is UTF-8 without tabs, of at most 1 MiB and 64 levels.
class Config {
 public:
  // Throw ConfigError if the file cannot be read or breaks the rules of the language. The error lists every bad or
  // duplicate key, or the first place that is not YAML. `name` stands for the file in positions.
  static Config from_file(const std::filesystem::path& path, Sources sources = Sources::optional);
  static Config from_text(std::string_view text, std::string name, Sources sources = Sources::optional);

  // Copies are read independently. Copying costs a hundredth of reading the text again.
  Config(const Config& other);
  Config& operator=(const Config& other);
  Config(Config&&) noexcept;
  Config& operator=(Config&&) noexcept;
  ~Config();

  // Removes `key`, which names the file that this one extends, from the tree and returns its value, or an empty text if
  // the key is absent. The base becomes the first parameter. Throws ConfigError if the value is not a name.
  PlacedText take_base(std::string_view key) {
    const std::vector<PlacedText> files = take_files(key, false);
    return files.empty() ? PlacedText() : files.front();
  }
  // Removes `key`, which names one file or a list of files to include, and returns them. They do not become parameters.
  std::vector<PlacedText> take_includes(std::string_view key) { return take_files(key, true); }
  // Merges this configuration over its base `under`: maps merge key by key, lists are replaced, and keys that only
  // `under` has stay. A replaced value keeps the kind, range and description of the old one unless it has its own, but
  // neither error nor alternatives. Each value keeps its position. Call it before set().
  void stand_on(const Config& under);

  // Replaces a value that the file has, as in "gpu.sdma.engines=32"; a list is replaced by a list. The new value is
  // checked when it is read, as values of the file are, and becomes a parameter of kind what_if whose source is the
  // assignment. finish() reports the faults. Call it before anything is read. Without a place the assignment was made
  // by --set.
  void set(const PlacedText& assignment);

  // Removes a top-level key that its reader has already handled. Call it before anything is read.
  void leave_out(std::string_view key);
  // Returns a configuration that contains only the given sections ("fabric", "gpu.sdma"). Call it before anything is
  // read.
  Config part(std::span<const std::string_view> sections) const;
  // Reduces every parameter to its plain value, so that copying and reading are much cheaper. Afterwards no range is
  // checked and parameters() is empty.
  void keep_values_only();

  // Makes every later $(...) in a value an expression (sim/config/expression.h) over variables(), which holds the
  // values of the section under `key`, if it exists, and what the reader binds. Call it after set().
  void declare_parameters(std::string_view key);
  // Evaluates the parameters that nothing has asked for yet. Throws ConfigError if any fault was found so far.
  void evaluate_parameters();
  Variables& variables();
  // Throws ConfigError if any fault was found so far.
  void check() const;

  Section root();

  // Throws ConfigError if any fault was found or if any key was never read, which makes it an unknown key.
  void finish();

  // Returns the file, or the name of the text, followed by the files that it extends.
  const std::vector<std::string>& files() const;
  // Returns warnings about legal values that may not be meant, such as a what-if value outside its range.
  std::vector<Fault> warnings() const;
  // Returns the values read so far, in the order of the tree, without those that a fallback replaced.
  std::vector<Parameter> parameters() const;
  // Returns pointers to the same parameters without copying; reading more values invalidates them.
  std::vector<const Parameter*> parameters_in_place() const;
  // Convert a path through lists whose rows have names: by_name() writes a row's name where that is unique, as in
  // gpu.gemm.libraries[rocblas].efficiency; by_place() writes its index, as parameters do. The index form
  // gpu.gemm.libraries[0].efficiency changes meaning when a row is inserted before it. A word that matches no row stays
  // as it is.
  std::string by_name(std::string_view path) const { return respelled(path, true); }
  std::string by_place(std::string_view path) const { return respelled(path, false); }
  // Return, for editors of the text, the whole tree as written, with the files that it extends, and the value, list or
  // parameter at a path, or null if there is none.
  const ConfigNode& tree() const;
  const ConfigNode* node_at(std::string_view path) const;
  // Returns the configuration after set(), to be written next to every result; reading it gives the same parameters.
  std::string resolved() const;

 private:
  explicit Config(std::unique_ptr<ConfigReading> reading);
  std::vector<PlacedText> take_files(std::string_view key, bool many);
  std::string respelled(std::string_view path, bool by_name) const;

  std::unique_ptr<ConfigReading> reading_;  // on the heap, so that sections stay valid when the Config is moved
};

}  // namespace c3sim::sim
