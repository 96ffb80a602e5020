// One value of a configuration, written plainly or as a parameter with a source, a kind and a range.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/config/config_reading.h"

namespace c3sim::sim {

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
