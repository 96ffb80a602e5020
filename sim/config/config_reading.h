// ConfigReading is the state of reading one configuration: its tree, the faults found and the parameters read so far.
// ConfigLeaf is one value, written plainly or as a parameter with a source, a kind and a range.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config_error.h"
#include "sim/config/config_tree.h"
#include "sim/config/expression.h"

namespace c3sim::sim {

struct ConfigReading {
  std::vector<std::string> names;  // the file and the files that it extends, for positions
  Sources sources = Sources::optional;
  bool records_parameters = true;
  ConfigNode root;
  std::vector<std::string> assignments;            // "--set gpu.sdma.engines=32", in the order given
  std::multimap<ConfigPosition, Fault> faults;     // in the order of the file
  std::multimap<ConfigPosition, Fault> warnings;   // in the order of the file; warnings never fail the reading
  std::map<ConfigPosition, Parameter> parameters;  // by the position of the key
  std::optional<Parameter> base;                   // the file that this one extends, once take_base() removed the key

  Variables variables;              // names that expressions may use
  std::deque<ConfigNode> replaced;  // values with their expressions evaluated, kept for readers that point to them

  // Returns "mi300x.yaml:12:9", or the text of the assignment.
  std::string place(ConfigPosition position) const;

  // Records a fault once, even if the section is read twice.
  void fault(ConfigPosition position, std::string path, std::string what, bool is_word = false);
  void warn(ConfigPosition position, std::string path, std::string what);
  // Turns the faults that variables found in their parameters into faults of this configuration.
  void note_parameter_faults();
  // Adds a fault for every key that no reader asked for, in every section that was entered.
  void fault_unread_keys();
  // Throws ConfigError with all faults, if there are any.
  void throw_faults() const;
};

// The role tells how a leaf is read: only a number may have a range; an option is a flag or a choice; a label is a text
// or a name and needs no source even where sources are required; an unevaluated leaf keeps its expressions as written.
enum class LeafRole { number, option, label, unevaluated };

struct ConfigLeaf {
  const ConfigNode* value = nullptr;
  const ConfigNode* low = nullptr;  // low end of the range; null together with `high` if no range is given
  const ConfigNode* high = nullptr;
  const ConfigNode* error = nullptr;  // one standard error; null if none is given
  ConfigPosition position;            // position of the key
  Parameter parameter;                // complete except for the unit
};

// Returns the leaf of an entry, or nothing after recording what is wrong with its form. The value is a scalar or a list
// of values, never null. The caller checks which of the two it is and whether it lies inside its range.
std::optional<ConfigLeaf> read_leaf(ConfigReading& reading, const ConfigEntry& entry, std::string path, LeafRole role);

// Turns `leaf` into a parameter of kind what_if with this value; its source is the assignment at `position`.
void assign_leaf(ConfigReading& reading, ConfigNode& leaf, ConfigNode value, ConfigPosition position);

}  // namespace c3sim::sim
