// A configuration file: YAML in which every mistake is found, placed and explained, all of a file at once.
// Usage: Config::from_file, then set() for each command-line assignment, then readers walk root(), then finish().
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_section.h"

namespace c3sim::sim {

struct ConfigReading;
class Variables;

// The language is YAML without its traps: keys are names and occur once; no anchors, aliases, tags or second document;
// quotes close on their line; numbers are strictly decimal; quantities carry their unit; true and false are the only
// flags; UTF-8 without tabs, at most 1 MiB and 64 levels.
class Config {
 public:
  // Throw ConfigError for a file that cannot be read or is not of the language, with every place where a key is bad or
  // given twice, or else the first place where no YAML can be made of it. `name` stands for the file in positions.
  static Config from_file(const std::filesystem::path& path, Sources sources = Sources::optional);
  static Config from_text(std::string_view text, std::string name, Sources sources = Sources::optional);

  // A copy is read on its own. It costs a hundredth of reading the text again.
  Config(const Config& other);
  Config& operator=(const Config& other);
  Config(Config&&) noexcept;
  Config& operator=(Config&&) noexcept;
  ~Config();

  // Takes the name of the file that this one stands on, under `key`, out of the tree: empty where it names none. It
  // becomes the first of the parameters. Throws ConfigError where it is no name.
  struct Base {
    std::string name;
    std::string place;  // of the key: file:line:column
  };
  Base take_base(std::string_view key);
  // The same of one name or a list of them, of files that this one includes; they are no parameters.
  std::vector<Base> take_includes(std::string_view key);
  // Lays this configuration over the one that it stands on, which keeps what this one does not say: maps merge, lists
  // are replaced. A value that is replaced keeps what is known of it (kind, range, about; not its error) unless this
  // one says otherwise. Each value stays where it was written. Call it before set().
  void stand_on(const Config& under);

  // Replaces one value that the file has: "gpu.sdma.engines=32"; a list by a list. It is checked when it is read, as
  // the file is, and becomes a parameter of the kind what_if whose source is the assignment. Faults wait for finish().
  // Call it before anything is read.
  // `prefix` is put before the path, and `option` is what people gave the assignment with.
  void set(std::string_view assignment, std::string_view prefix = "", std::string_view option = "--set");

  // Takes what stands under a key at the top out of the tree, for readers that know it already. Call it before anything
  // is read.
  void leave_out(std::string_view key);
  // A configuration with these sections of this one ("fabric", "gpu.sdma") and nothing else. Call it before anything is
  // read.
  Config part(std::span<const std::string_view> sections) const;
  // Makes every parameter its plain value, so that it is copied and read again at a fraction of the cost. Then no range
  // is checked and parameters() is empty.
  void keep_values_only();

  // From now on $(...) in a value is an expression (sim/config/expression.h) over what variables() has: the values of
  // the section under `key`, where there is one, and what the reader binds. Call it behind set().
  void declare_parameters(std::string_view key);
  // Evaluates those that nothing has asked for yet. Throws ConfigError if any fault was found so far.
  void evaluate_parameters();
  Variables& variables();
  // Throws ConfigError if any fault was found so far.
  void check() const;

  Section root();

  // Throws ConfigError if any fault was found, or a key was never read: that one is unknown.
  void finish();

  // The file, or the name of the text, and those that it stands on.
  const std::vector<std::string>& files() const;
  // Values that are legal but lie outside the range that their parameter gives, as a what-if value may.
  std::vector<Fault> warnings() const;
  // The values read so far, in the order of the tree; those that a fallback stood in for are not among them.
  std::vector<Parameter> parameters() const;
  // The same where they lie, until more is read.
  std::vector<const Parameter*> parameters_in_place() const;
  // Paths of what stands in lists whose rows have names: by these, as in gpu.gemm.libraries[rocblas].efficiency, where
  // they tell the rows apart, or by places, as parameters have them. By its place, gpu.gemm.libraries[0].efficiency, a
  // path means something else as soon as a row is put before it. As it is where a word is no row of its list.
  std::string by_name(std::string_view path) const { return respelled(path, true); }
  std::string by_place(std::string_view path) const { return respelled(path, false); }
  // For whoever edits the text of the file: all of it as written, files that it stands on included, and of that the
  // value, list or parameter at a path; null where there is none.
  const ConfigNode& tree() const;
  const ConfigNode* node_at(std::string_view path) const;
  // The configuration as set(), to be written next to every result: reading it gives the same parameters.
  std::string resolved() const;

 private:
  explicit Config(std::unique_ptr<ConfigReading> reading);
  std::vector<Base> take_files(std::string_view key, bool many);
  std::string respelled(std::string_view path, bool by_name) const;

  std::unique_ptr<ConfigReading> reading_;  // apart, so that sections stay valid when the Config is moved
};

}  // namespace c3sim::sim
