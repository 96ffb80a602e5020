// A ConfigNode is a configuration as written: a tree of maps, lists and scalars that know their positions. A Parameter
// is one value that was read from the tree.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace c3sim::sim {

// A position is a line and column of a file, counted from 1, or the number of a command-line assignment, counted from
// 1. Positions in files sort first. File 0 is the configuration itself; the files that it extends follow from 1.
struct ConfigPosition {
  int assignment = 0;
  int file = 0;
  int line = 0;
  int column = 0;

  auto operator<=>(const ConfigPosition&) const = default;
};

// A PlacedText is a text of the user's, such as the name of a file or an assignment ("gpu.sdma.engines=32"), and where
// it was written, as faults and sources name it ("experiment.yaml:4:8"); empty: in the option that the text belongs to.
struct PlacedText {
  PlacedText(std::string written = {}, std::string at = {}) : text(std::move(written)), place(std::move(at)) {}
  PlacedText(const char* written) : text(written) {}
  auto operator<=>(const PlacedText&) const = default;

  std::string text;
  std::string place;
};

struct ConfigEntry;

struct ConfigNode {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  ConfigPosition position;
  std::string text;                  // scalar only, without quotes
  bool quoted = false;               // scalar only: its text begins one column later
  std::vector<ConfigNode> items;     // list only
  std::vector<ConfigEntry> entries;  // map only, in file order, each key once

  // The reader marks a map that was read as a section and lists the keys that it was asked for.
  bool entered = false;
  std::vector<std::string> asked;

  ConfigEntry* find(std::string_view key);
  const ConfigEntry* find(std::string_view key) const;
  // Returns whether the node is written as {value: ..., source: ..., ...}. No other map may have a key named `value`.
  bool is_parameter() const { return find("value") != nullptr; }
  // Returns whether the node is a list that contains a map, at any depth. Any other list is a single value.
  bool is_section_list() const;

  static ConfigNode scalar(std::string text, ConfigPosition position);
};

struct ConfigEntry {
  std::string key;
  ConfigPosition position;  // position of the key
  ConfigNode node;
  bool read = false;

  // Returns whether the entry of a parameter describes its present value only, so that no other value may inherit it.
  bool is_of_its_value() const { return key == "error" || key == "alternatives"; }
};

// Wraps a plain value in a map {value: ...}.
ConfigNode as_parameter(ConfigNode value);

// Merges `over` onto `under`: maps merge key by key, the keys of `over` first; anything else comes from `over`. A bare
// value over a parameter ({value: ..., source: ...}) replaces its value. A new value without a source gets one that
// names the value it replaces; `name_of` writes a position for that text.
using NamePosition = std::function<std::string(ConfigPosition)>;
ConfigNode merged(ConfigNode over, const ConfigNode& under, const NamePosition& name_of);

// Return the path of a child: "gpu" and "sdma" give "gpu.sdma"; "gpu" and 3 give "gpu[3]".
std::string path_of(std::string_view parent, std::string_view key);
std::string path_of(std::string_view parent, std::size_t index);
// Returns whether a path lies inside the section or list at `parent`.
bool is_below(std::string_view path, std::string_view parent);

// Returns YAML that reads back as the same tree: maps as indented blocks, lists of values on one line, no comments.
std::string to_yaml(const ConfigNode& root);
// Returns one line in flow style, as in "[1, 2, 3]"; a scalar is its bare text.
std::string to_line(const ConfigNode& value);

// Tells whether values may be written plainly or must be parameters with a source and kind, as in platform files. Texts
// and names are labels and never need a source.
enum class Sources { optional, required };

// A Parameter is one value of a configuration as read, with its origin. Listings of a platform show parameters. A value
// may be written plainly (`engines: 16`) or as a parameter, with these keys, `error` and `alternatives` and no others:
//   engines: {value: 16, source: node_props.csv num_sdma_engines, kind: data_sheet, range: [8, 64], about: ...}
// Kinds: data_sheet, measured, fitted (to measurements), probed (against concurrent work), assumed, what_if (set by the
// user). A fitted, probed or assumed number needs a range, and a value outside it is a fault. A measured, fitted or
// probed number with a range may have a standard error above 0.
struct Parameter {
  std::string path{};         // gpu.sdma.engines
  std::string value{};        // as written or set: "16", "48 GB/s", "[[0, 1], [1, 0]]"
  std::string unit{};         // the base unit of its dimension (B, B/s, s, Hz, W, J/B, J/flop, FLOP/s), empty for none
  std::string source{};       // empty if the value is written plainly
  std::string low{}, high{};  // the range as written; empty if none is given
  std::string kind{};         // one of the kinds above; empty if none is given
  std::string description{};  // the sentence after `about`
  int line = 0;               // line of its key in the file
  std::string file = {};      // the file that has its key, by the name that it was read under
  std::string error = {};     // one standard error as written: "1.2 GB/s"; empty if none is given
  std::vector<std::string> alternatives =
      {};  // other values that an assumed value may have; of a probed one, the value without probes

  bool operator==(const Parameter&) const = default;
};

}  // namespace c3sim::sim
