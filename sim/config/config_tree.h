// A configuration as it was written: a tree of maps, lists and scalars that know where they stand. What is read of it:
// parameters.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace c3sim::sim {

// A line and column of a file, from 1, or else the n-th assignment of the command line, from 1. Files come first, and
// of them the one on top; the files that it stands on follow from file 1.
struct ConfigPosition {
  int assignment = 0;
  int file = 0;
  int line = 0;
  int column = 0;

  auto operator<=>(const ConfigPosition&) const = default;
};

struct ConfigEntry;

struct ConfigNode {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  ConfigPosition position;
  std::string text;                  // of a scalar, without quotes
  bool quoted = false;               // of a scalar: its text begins one column later
  std::vector<ConfigNode> items;     // of a list
  std::vector<ConfigEntry> entries;  // of a map, in file order, each key once

  // Marks of the reader: a map that was read as a section, and the keys that it was asked for.
  bool entered = false;
  std::vector<std::string> asked;

  ConfigEntry* find(std::string_view key);
  const ConfigEntry* find(std::string_view key) const;
  // Written as {value: ..., source: ..., ...}. This makes `value` no key for anything else.
  bool is_parameter() const { return find("value") != nullptr; }
  // A list with a map in it holds sections; any other list is one value.
  bool is_section_list() const;

  static ConfigNode scalar(std::string text, ConfigPosition position);
};

struct ConfigEntry {
  std::string key;
  ConfigPosition position;  // of the key
  ConfigNode node;
  bool read = false;

  // Of a parameter: it says how certain the value is, and nothing of any other value.
  bool is_of_its_value() const { return key == "error" || key == "alternatives"; }
};

// {value: ...} of a value that is written plainly.
ConfigNode as_parameter(ConfigNode value);

// Puts a tree over another: maps merge key by key, the keys of `over` first; all else is that of `over`. Over a
// parameter ({value: ..., source: ...}) a bare value is its value, and a value without a source of its own gets one
// that says what it is instead of; `name_of` writes the place of a position for that.
using NamePosition = std::function<std::string(ConfigPosition)>;
ConfigNode merged(ConfigNode over, const ConfigNode& under, const NamePosition& name_of);

// "gpu" and "sdma" give "gpu.sdma"; "gpu" and 3 give "gpu[3]".
std::string path_of(std::string_view parent, std::string_view key);
std::string path_of(std::string_view parent, std::size_t index);
// Whether a path is that of something within another's section or list.
bool is_below(std::string_view path, std::string_view parent);

// YAML that reads back as the same tree: maps as indented blocks, lists of values on one line. Comments are lost.
std::string to_yaml(const ConfigNode& root);
// One line in flow style, as in "[1, 2, 3]"; a scalar is its bare text.
std::string to_line(const ConfigNode& value);

// Whether values may be written plainly, or must be parameters that tell their source and kind, as in platform files.
// Texts and names are labels and need no source.
enum class Sources { optional, required };

// One value of a configuration as it was read, with where it comes from: what a listing of a platform shows.
// A value may be written plainly (`engines: 16`) or as a parameter, with these keys and no others:
//   engines: {value: 16, source: kfd_node_props_mi300x.csv num_sdma_engines, kind: data_sheet, range: [8, 64], about:
//   ...}
// Kinds: data_sheet, measured, fitted (to measurements), probed (to work that ran at once with other work), assumed,
// what_if (asked for, as on the command line). A number that is fitted, probed or assumed needs a range; a value
// outside its range is a fault. One that is measured, fitted or probed with a range may have a standard error above 0.
struct Parameter {
  std::string path;         // gpu.sdma.engines
  std::string value;        // as written or set: "16", "48 GB/s", "[[0, 1], [1, 0]]"
  std::string unit;         // the base unit of its dimension (B, B/s, s, Hz, W, J/B, J/flop, FLOP/s), empty for none
  std::string source;       // empty where written plainly
  std::string low, high;    // the range as written, empty where none is given
  std::string kind;         // as above, empty where none is given
  std::string description;  // the sentence after `about`
  int line = 0;             // of its key in the file
  std::string file = {};    // that has its key, as it was named for reading
  std::string error = {};   // one standard error as written: "1.2 GB/s"; empty where none is given
  std::vector<std::string> alternatives = {};  // what an assumed value may be instead, as likely as it

  bool operator==(const Parameter&) const = default;
};

}  // namespace c3sim::sim
