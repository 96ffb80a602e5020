// What is known of one configuration while it is being read: its tree, the faults found and the parameters read so far;
// and one value of it, written plainly or as a parameter with a source, a kind and a range.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_tree.h"
#include "sim/config/expression.h"

namespace c3sim::sim {

struct ConfigReading {
  std::vector<std::string> names;  // of the file and of those that it stands on, for positions
  Sources sources = Sources::optional;
  bool records_parameters = true;
  ConfigNode root;
  std::vector<std::string> assignments;            // "--set gpu.sdma.engines=32", in the order given
  std::multimap<ConfigPosition, Fault> faults;     // in the order of the file
  std::multimap<ConfigPosition, Fault> warnings;   // in the order of the file; they fail nothing
  std::map<ConfigPosition, Parameter> parameters;  // by the position of the key
  std::optional<Parameter> base;                   // what the file stands on, once that key was taken out of the tree

  Variables variables;              // that expressions use
  std::deque<ConfigNode> replaced;  // values with their expressions evaluated, for as long as readers look at them

  // "mi300x.yaml:12:9", or the assignment itself.
  std::string place(ConfigPosition position) const;

  // A fault that was recorded before is not recorded again: a section may be read twice.
  void fault(ConfigPosition position, std::string path, std::string what, bool is_word = false);
  void warn(ConfigPosition position, std::string path, std::string what);
  // What was found wrong with parameters becomes faults.
  void note_parameter_faults();
  // Adds a fault for every key that no reader asked for, in every section that was entered.
  void fault_unread_keys();
  // Throws ConfigError with all faults, if there are any.
  void throw_faults() const;
};

// What is read from a leaf: numbers may have a range; options (flags, choices) have none; labels (texts, names) need
// no source even where sources are required; of an unevaluated one expressions stay as they are written.
enum class LeafRole { number, option, label, unevaluated };

struct ConfigLeaf {
  const ConfigNode* value = nullptr;
  const ConfigNode* low = nullptr;  // of the range, where one is given: both or neither
  const ConfigNode* high = nullptr;
  const ConfigNode* error = nullptr;  // one standard error, where one is given
  ConfigPosition position;            // of its key
  Parameter parameter;                // all but the unit
};

// The leaf under a key, or nothing after recording what is wrong with its form. The value may be a scalar or a list of
// values, never a null; whether it is the one or the other, and inside its range, is for the reader of its type.
std::optional<ConfigLeaf> read_leaf(ConfigReading& reading, const ConfigEntry& entry, std::string path, LeafRole role);

// Turns the leaf into a parameter with this value, the kind what_if and, as its source, the assignment at `position`.
void assign_leaf(ConfigReading& reading, ConfigNode& leaf, ConfigNode value, ConfigPosition position);

}  // namespace c3sim::sim
