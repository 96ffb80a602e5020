#include "sim/config/config_tree.h"

#include <algorithm>
#include <array>

#include "sim/config/config_text.h"

namespace c3sim::sim {
namespace {

bool is_alphanumeric(char c) { return is_digit(c) || is_letter(c); }

// Returns whether YAML reads the text back unchanged without quotes, in a block and in a list.
bool reads_plain(std::string_view text) {
  constexpr std::array<std::string_view, 3> nulls = {"null", "Null", "NULL"};
  if (text.empty() || text.back() == ' ' || std::ranges::find(nulls, text) != nulls.end()) return false;
  const bool negative = text.size() > 1 && text[0] == '-' && is_alphanumeric(text[1]);
  if (!is_alphanumeric(text[0]) && !negative) return false;
  return std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || std::string_view("_-+./% ()").find(c) != std::string_view::npos;
  });
}

std::string scalar_yaml(std::string_view text) {
  if (reads_plain(text)) return std::string(text);
  std::string yaml = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') yaml += '\\';
    if (c == '\n') {
      yaml += "\\n";
    } else {
      yaml += c;
    }
  }
  return yaml + '"';
}

std::string list_yaml(const ConfigNode& list);

std::string value_yaml(const ConfigNode& value) {
  switch (value.kind) {
    case ConfigNode::Kind::scalar:
      return scalar_yaml(value.text);
    case ConfigNode::Kind::list:
      return list_yaml(value);
    default:
      return value.kind == ConfigNode::Kind::map ? "{}" : "~";
  }
}

std::string list_yaml(const ConfigNode& list) {
  std::string yaml = "[";
  for (const ConfigNode& item : list.items) yaml += (yaml.size() > 1 ? ", " : "") + value_yaml(item);
  return yaml + "]";
}

// Returns whether the node is written on lines of its own below its key or dash.
bool is_block(const ConfigNode& node) { return !node.entries.empty() || node.is_section_list(); }

void append_block(std::string& yaml, const ConfigNode& node, std::size_t indent);

void append_value(std::string& yaml, const ConfigNode& value, std::size_t indent) {
  if (is_block(value)) {
    yaml += '\n';
    append_block(yaml, value, indent + 2);
  } else {
    yaml += ' ' + value_yaml(value) + '\n';
  }
}

void append_block(std::string& yaml, const ConfigNode& node, std::size_t indent) {
  for (const ConfigEntry& entry : node.entries) {
    yaml += std::string(indent, ' ') + entry.key + ':';
    append_value(yaml, entry.node, indent);
  }
  for (const ConfigNode& item : node.items) {
    const std::size_t begin = yaml.size();
    if (item.entries.empty()) {
      yaml += std::string(indent, ' ') + '-';
      append_value(yaml, item, indent);
    } else {
      append_block(yaml, item, indent + 2);
      yaml[begin + indent] = '-';  // the first key of a map is on the line of its dash
    }
  }
}

// Merges a parameter over another one. Keys that `over` lacks come from `under`. If `over` has another value, the error
// and alternatives of the old value are dropped, and so is its source, which a new one names.
ConfigNode merged_parameter(ConfigNode over, const ConfigNode& under, const NamePosition& name_of) {
  const ConfigEntry* const value = over.find("value");
  const bool is_another_value = value != nullptr;
  if (is_another_value && over.find("source") == nullptr) {
    std::string source = name_of(value->node.position) + ", instead of " + to_line(under.find("value")->node);
    const ConfigEntry* const before = under.find("source");
    if (before != nullptr) source += " (" + to_line(before->node) + ")";
    const ConfigPosition position = value->position;
    over.entries.push_back({"source", position, ConfigNode::scalar(std::move(source), position)});
  }
  for (const ConfigEntry& entry : under.entries) {
    if (is_another_value && entry.is_of_its_value()) continue;
    if (over.find(entry.key) == nullptr) over.entries.push_back(entry);
  }
  return over;
}

template <class Entries>
auto* find_entry(Entries& entries, std::string_view key) {
  const auto found = std::ranges::find(entries, key, &ConfigEntry::key);
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace

ConfigEntry* ConfigNode::find(std::string_view key) { return find_entry(entries, key); }
const ConfigEntry* ConfigNode::find(std::string_view key) const { return find_entry(entries, key); }

bool ConfigNode::is_section_list() const {
  return std::ranges::any_of(items,
                             [](const ConfigNode& item) { return item.kind == Kind::map || item.is_section_list(); });
}

ConfigNode ConfigNode::scalar(std::string text, ConfigPosition position) {
  ConfigNode node;
  node.kind = Kind::scalar;
  node.text = std::move(text);
  node.position = position;
  return node;
}

ConfigNode as_parameter(ConfigNode value) {
  ConfigNode parameter;
  parameter.kind = ConfigNode::Kind::map;
  parameter.position = value.position;
  parameter.entries.push_back({"value", parameter.position, std::move(value)});
  return parameter;
}

ConfigNode merged(ConfigNode over, const ConfigNode& under, const NamePosition& name_of) {
  using Kind = ConfigNode::Kind;
  const bool is_bare = over.kind == Kind::scalar || (over.kind == Kind::list && !over.is_section_list());
  if (under.is_parameter() && is_bare) over = as_parameter(std::move(over));
  if (over.kind != Kind::map || under.kind != Kind::map) return over;
  if (under.is_parameter()) return merged_parameter(std::move(over), under, name_of);
  for (const ConfigEntry& entry : under.entries) {
    if (ConfigEntry* const both = over.find(entry.key)) {
      both->node = merged(std::move(both->node), entry.node, name_of);
    } else {
      over.entries.push_back(entry);
    }
  }
  return over;
}

std::string path_of(std::string_view parent, std::string_view key) {
  std::string path;
  path.reserve(parent.size() + 1 + key.size());
  path += parent;
  if (!path.empty()) path += '.';
  return path += key;
}

std::string path_of(std::string_view parent, std::size_t index) {
  return std::string(parent) + '[' + std::to_string(index) + ']';
}

bool is_below(std::string_view path, std::string_view parent) {
  return path.size() > parent.size() && path.starts_with(parent) &&
         (path[parent.size()] == '.' || path[parent.size()] == '[');
}

std::string to_yaml(const ConfigNode& root) {
  std::string yaml;
  append_block(yaml, root, 0);
  return yaml.empty() ? value_yaml(root) + '\n' : yaml;
}

std::string to_line(const ConfigNode& value) {
  return value.kind == ConfigNode::Kind::scalar ? value.text : value_yaml(value);
}

}  // namespace c3sim::sim
