#include "sim/config/config_reading.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "sim/config/nearest_name.h"

namespace c3sim::sim {
namespace {

using Kind = ConfigNode::Kind;

constexpr std::array<std::string_view, 7> parameter_keys{"value", "error",        "source", "kind",
                                                         "range", "alternatives", "about"};
constexpr std::array<std::string_view, 6> parameter_kinds{"data_sheet", "measured", "fitted",
                                                          "probed",     "assumed",  "what_if"};

class LeafReader {
 public:
  LeafReader(ConfigReading& reading, const ConfigEntry& entry, std::string path, LeafRole role)
      : reading_(reading), entry_(entry), role_(role) {
    leaf_.parameter.path = std::move(path);
    leaf_.parameter.line = entry.position.line;
    leaf_.position = entry.position;
  }

  std::optional<ConfigLeaf> read() && {
    if (entry_.node.kind == Kind::map) {
      read_parameter();
    } else {
      read_plain();
    }
    if (failed_ || !evaluate()) return std::nullopt;
    if (reading_.records_parameters) {
      leaf_.parameter.file = reading_.names[static_cast<std::size_t>(entry_.position.file)];
      leaf_.parameter.value = to_line(*leaf_.value);
    }
    return std::move(leaf_);
  }

 private:
  void fault(ConfigPosition position, std::string what) {
    reading_.fault(position, leaf_.parameter.path, std::move(what));
    failed_ = true;
  }

  // Replaces expressions by their values. Returns false after recording what is wrong with one.
  bool evaluate() {
    const auto is_text = [](const ConfigNode& node) { return !has_expression(node.text); };
    if (!reading_.variables.in_use() || role_ == LeafRole::unevaluated) return true;
    if (is_text(*leaf_.value) && std::ranges::all_of(leaf_.value->items, is_text)) return true;
    ConfigNode& value = reading_.replaced.emplace_back(*leaf_.value);
    leaf_.value = &value;
    evaluate(value);
    for (ConfigNode& item : value.items) evaluate(item);
    return !failed_;
  }

  void evaluate(ConfigNode& node) {
    try {
      node.text = reading_.variables.replaced(node.text);
    } catch (const ExpressionError& error) {
      failed_ = true;
      ConfigPosition position = node.position;
      if (position.line > 0) position.column += static_cast<int>(error.at()) + (node.quoted ? 1 : 0);
      // An empty message means that the fault of a parameter is recorded already.
      if (*error.what() != '\0') reading_.fault(position, leaf_.parameter.path, error.what());
    }
    reading_.note_parameter_faults();
  }

  bool needs_source() const {
    return reading_.sources == Sources::required && role_ != LeafRole::label && role_ != LeafRole::unevaluated;
  }

  void read_plain() {
    read_value(entry_.position, entry_.node);
    if (needs_source()) {
      fault(entry_.node.position, "a bare value; write {value: ..., source: ..., kind: ...} here");
    }
  }

  void read_value(ConfigPosition key, const ConfigNode& node) {
    if (node.kind == Kind::null) return fault(key, "has no value");
    if (node.kind == Kind::map || node.is_section_list()) return fault(node.position, "a section where a value is due");
    leaf_.value = &node;
  }

  void read_parameter() {
    const ConfigNode& map = entry_.node;
    if (!map.is_parameter()) {
      return fault(map.position, "a section where a value is due; a parameter is written {value: ..., source: ...}");
    }
    for (const ConfigEntry& part : map.entries) {
      if (std::ranges::find(parameter_keys, part.key) != parameter_keys.end()) continue;
      fault(part.position,
            "unknown key '" + part.key + "' of a parameter" + name_hint(part.key, parameter_keys, std::identity()));
    }
    const ConfigEntry& value = *map.find("value");
    read_value(value.position, value.node);
    read_text("source", leaf_.parameter.source);
    read_text("about", leaf_.parameter.description);
    read_kind();
    read_range();
    read_error();
    read_alternatives();
    for (const char* const key : {"source", "kind"}) {
      if (needs_source() && map.find(key) == nullptr) fault(map.position, std::string("the parameter has no ") + key);
    }
  }

  void read_text(std::string_view key, std::string& text) {
    const ConfigEntry* part = entry_.node.find(key);
    if (part == nullptr) return;
    if (part->node.kind != Kind::scalar || part->node.text.empty()) {
      return fault(part->position, part->key + " must be a text");
    }
    text = part->node.text;
  }

  void read_kind() {
    std::string& kind = leaf_.parameter.kind;
    read_text("kind", kind);
    if (kind.empty() || std::ranges::find(parameter_kinds, kind) != parameter_kinds.end()) return;
    fault(entry_.node.find("kind")->node.position,
          "unknown kind '" + kind + "'" + name_hint(kind, parameter_kinds, std::identity()));
  }

  void read_range() {
    const std::string& kind = leaf_.parameter.kind;
    const ConfigEntry* range = entry_.node.find("range");
    if (range == nullptr) {
      const bool uncertain = kind == "fitted" || kind == "probed" || kind == "assumed";
      if (uncertain && role_ == LeafRole::number) fault(entry_.node.position, "kind " + kind + " requires a range");
      return;
    }
    if (role_ != LeafRole::number && role_ != LeafRole::unevaluated)
      return fault(range->position, "only a number has a range");
    const std::vector<ConfigNode>& ends = range->node.items;
    const auto is_scalar = [](const ConfigNode& node) { return node.kind == Kind::scalar; };
    if (ends.size() != 2 || !std::ranges::all_of(ends, is_scalar)) {
      return fault(range->position, "range must be [low, high]");
    }
    leaf_.low = &ends[0];
    leaf_.high = &ends[1];
    leaf_.parameter.low = ends[0].text;
    leaf_.parameter.high = ends[1].text;
  }

  // Reads the standard error of a number that was found from measurements. The range bounds the draws of the value.
  void read_error() {
    const ConfigEntry* error = entry_.node.find("error");
    if (error == nullptr) return;
    const std::string& kind = leaf_.parameter.kind;
    if (role_ != LeafRole::number) return fault(error->position, "only a number has an error");
    if (leaf_.value != nullptr && leaf_.value->kind != Kind::scalar) {
      return fault(error->position, "only a single number has an error");
    }
    if (kind != "fitted" && kind != "probed" && kind != "measured") {
      return fault(error->position, "only a number of the kind fitted, probed or measured has an error");
    }
    if (leaf_.low == nullptr) return fault(error->position, "an error requires a range, which the value never leaves");
    leaf_.error = &error->node;
    leaf_.parameter.error = to_line(error->node);
  }

  void read_alternatives() {
    const ConfigEntry* alternatives = entry_.node.find("alternatives");
    if (alternatives == nullptr) return;
    const std::string& kind = leaf_.parameter.kind;
    if (kind != "assumed" && kind != "probed") {
      return fault(alternatives->position, "only a value of the kind assumed or probed has alternatives");
    }
    const std::vector<ConfigNode>& items = alternatives->node.items;
    const auto is_scalar = [](const ConfigNode& node) { return node.kind == Kind::scalar; };
    if (items.empty() || !std::ranges::all_of(items, is_scalar)) {
      return fault(alternatives->position, "alternatives must be a list of values");
    }
    if (kind == "probed" && items.size() != 1) {
      return fault(alternatives->position, "a value of the kind probed has one alternative: what it is without probes");
    }
    for (const ConfigNode& item : items) leaf_.parameter.alternatives.push_back(item.text);
  }

  ConfigReading& reading_;
  const ConfigEntry& entry_;
  LeafRole role_;
  ConfigLeaf leaf_;
  bool failed_ = false;
};

void put(ConfigNode& map, std::string_view key, ConfigNode value) {
  ConfigEntry* const known = map.find(key);
  ConfigEntry& entry = known == nullptr ? map.entries.emplace_back() : *known;
  const ConfigPosition position = value.position;
  entry = {std::string(key), position, std::move(value)};
}

void check_keys(ConfigReading& reading, const ConfigNode& node, const std::string& path) {
  for (std::size_t i = 0; i < node.items.size(); ++i) check_keys(reading, node.items[i], path_of(path, i));
  if (!node.entered) return;
  for (const ConfigEntry& entry : node.entries) {
    if (entry.read && !entry.node.entered && entry.node.items.empty()) continue;
    const std::string entry_path = path_of(path, entry.key);
    if (entry.read) {
      check_keys(reading, entry.node, entry_path);
    } else {
      // A key that was asked about but not read is known, but another key of the section rules it out.
      const bool known = std::ranges::find(node.asked, entry.key) != node.asked.end();
      reading.fault(
          entry.position, entry_path,
          known ? "has no meaning beside the other keys here" : "unknown key" + name_hint(entry.key, node.asked));
    }
  }
}

void record(std::multimap<ConfigPosition, Fault>& faults, ConfigPosition position, Fault fault) {
  const auto [begin, end] = faults.equal_range(position);
  const bool known = std::any_of(begin, end, [&](const auto& recorded) { return recorded.second == fault; });
  if (!known) faults.emplace_hint(end, position, std::move(fault));
}

}  // namespace

std::string ConfigReading::place(ConfigPosition position) const {
  if (position.assignment > 0) return assignments[static_cast<std::size_t>(position.assignment) - 1];
  const std::string& name = names[static_cast<std::size_t>(position.file)];
  if (position.line == 0) return name;
  return name + ':' + std::to_string(position.line) + ':' + std::to_string(position.column);
}

void ConfigReading::fault(ConfigPosition position, std::string path, std::string what, bool is_word) {
  record(faults, position, {place(position), std::move(path), std::move(what), is_word});
}

void ConfigReading::warn(ConfigPosition position, std::string path, std::string what) {
  record(warnings, position, {place(position), std::move(path), std::move(what)});
}

void ConfigReading::note_parameter_faults() {
  for (Variables::Fault& found : variables.take_faults()) {
    if (found.position.line > 0) found.position.column += static_cast<int>(found.at);
    fault(found.position, found.name, std::move(found.what));
  }
}

void ConfigReading::fault_unread_keys() { check_keys(*this, root, ""); }

void ConfigReading::throw_faults() const {
  if (faults.empty()) return;
  std::vector<Fault> all;
  for (const auto& [position, fault] : faults) all.push_back(fault);
  throw ConfigError(std::move(all));
}

std::optional<ConfigLeaf> read_leaf(ConfigReading& reading, const ConfigEntry& entry, std::string path, LeafRole role) {
  return LeafReader(reading, entry, std::move(path), role).read();
}

void assign_leaf(ConfigReading& reading, ConfigNode& leaf, ConfigNode value, ConfigPosition position) {
  if (!leaf.is_parameter()) leaf = as_parameter(std::move(leaf));
  std::erase_if(leaf.entries, [](const ConfigEntry& part) { return part.is_of_its_value(); });
  put(leaf, "value", std::move(value));
  put(leaf, "source", ConfigNode::scalar(reading.assignments.back(), position));
  put(leaf, "kind", ConfigNode::scalar("what_if", position));
}

}  // namespace c3sim::sim
