#include "sim/config/config_section.h"

#include <fmt/format.h>

#include <array>
#include <functional>

#include "sim/config/config_reading.h"

namespace c3sim::sim {
namespace {

using Kind = ConfigNode::Kind;

constexpr std::array<std::string_view, 7> parameter_keys{"value", "error",        "source", "kind",
                                                         "range", "alternatives", "about"};
constexpr std::array<std::string_view, 6> parameter_kinds{"data_sheet", "measured", "fitted",
                                                          "probed",     "assumed",  "what_if"};

bool is_scalar(const ConfigNode& node) { return node.kind == Kind::scalar; }

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
      read_value(entry_.position, entry_.node);
      if (needs_source()) {
        fault(entry_.node.position, "a bare value; write {value: ..., source: ..., kind: ...} here");
      }
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

  void read_value(ConfigPosition key, const ConfigNode& node) {
    if (node.kind == Kind::null) return fault(key, "has no value");
    if (node.kind == Kind::map || node.is_section_list())
      return fault(node.position, "a section where a value is expected");
    leaf_.value = &node;
  }

  void read_parameter() {
    const ConfigNode& map = entry_.node;
    if (!map.is_parameter()) {
      return fault(map.position,
                   "a section where a value is expected; a parameter is written {value: ..., source: ...}");
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

namespace {

// Parses a whole number, a time, or a number in the base unit of its dimension.
template <class T>
Parsed<T> parsed_number(std::string_view text, Dimension dimension) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return parse_integer(text);
  } else if constexpr (std::is_same_v<T, Time>) {
    const ParsedQuantity seconds = parse_quantity(text, dimension);
    return {to_time(Seconds(seconds.value)), seconds.error};
  } else {
    return dimension == Dimension::number ? parse_number(text) : parse_quantity(text, dimension);
  }
}

template <class T>
std::string number_text(T value, Dimension dimension) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, Time>) {
    return to_string(value);
  } else {
    return dimension == Dimension::bytes ? to_string(Bytes(value)) : quantity_text(value, dimension);
  }
}

// Reads the numbers of one leaf and records what is wrong with them.
template <class T>
class NumberReader {
 public:
  NumberReader(ConfigReading& reading, const ConfigLeaf& leaf, Limits<T> limits, Dimension dimension)
      : reading_(reading), leaf_(leaf), limits_(limits), dimension_(dimension) {
    read_range();
    read_error();
  }

  // Returns the number of a scalar if it is valid and within the limits and the leaf's range.
  std::optional<T> read(const ConfigNode& node) {
    const std::optional<T> number = read_within(node, "");
    if (!number || !range_ || (range_->low <= *number && *number <= range_->high)) return number;
    const std::string outside =
        "'" + node.text + "' lies outside its range [" + leaf_.low->text + ", " + leaf_.high->text + "]";
    if (leaf_.parameter.kind == "what_if") {
      reading_.warn(node.position, leaf_.parameter.path, outside);
      return number;
    }
    fault(node, outside);
    return std::nullopt;
  }

  // Returns whether no fault was recorded so far.
  bool ok() const { return ok_; }

  void fault(const ConfigNode& node, std::string what) {
    reading_.fault(node.position, leaf_.parameter.path, std::move(what));
    ok_ = false;
  }

 private:
  void read_range() {
    if (leaf_.low == nullptr) return;
    const std::optional<T> low = read_within(*leaf_.low, "low end of the range: ");
    const std::optional<T> high = read_within(*leaf_.high, "high end of the range: ");
    if (!low || !high) return;
    if (*low > *high) return fault(*leaf_.low, "the range ends below its beginning");
    range_ = Limits<T>{*low, *high};
  }

  void read_error() {
    if (leaf_.error == nullptr) return;
    if (std::is_integral_v<T> && leaf_.error->kind == ConfigNode::Kind::scalar) {
      return fault(*leaf_.error, "a whole number has no error");
    }
    const std::optional<T> error = parsed(*leaf_.error, "error: ");
    if (error && *error <= T{}) fault(*leaf_.error, "error: '" + leaf_.error->text + "' must be above 0");
  }

  std::optional<T> parsed(const ConfigNode& node, const std::string& role) {
    const bool is_single = node.kind == ConfigNode::Kind::scalar;
    const Parsed<T> number = is_single ? parsed_number<T>(trimmed(node.text), dimension_)
                                       : Parsed<T>{{}, "a single number is expected here"};
    if (number.ok()) return number.value;
    fault(node, role + number.error);
    return std::nullopt;
  }

  std::optional<T> read_within(const ConfigNode& node, const std::string& role) {
    const std::optional<T> number = parsed(node, role);
    if (!number || (limits_.low <= *number && *number <= limits_.high)) return number;
    const std::string low = number_text(limits_.low, dimension_);
    const std::string accepted = limits_.low == limits_.high
                                     ? "be " + low
                                     : "lie between " + low + " and " + number_text(limits_.high, dimension_);
    fault(node, role + "'" + node.text + "' must " + accepted);
    return std::nullopt;
  }

  ConfigReading& reading_;
  const ConfigLeaf& leaf_;
  Limits<T> limits_;
  Dimension dimension_;
  std::optional<Limits<T>> range_;
  bool ok_ = true;
};

// Records a leaf as a parameter, as the last step of reading it.
void record(ConfigReading& reading, ConfigLeaf& leaf, Dimension dimension = Dimension::number) {
  if (!reading.records_parameters) return;
  leaf.parameter.unit = notation_of(dimension).base;
  reading.parameters.insert_or_assign(leaf.position, std::move(leaf.parameter));
}

// Returns the text of a scalar leaf, or null after recording that it is a list.
const std::string* scalar_text(ConfigReading& reading, const ConfigLeaf& leaf) {
  if (leaf.value->kind == Kind::scalar) return &leaf.value->text;
  reading.fault(leaf.value->position, leaf.parameter.path, "a list where a single value is expected");
  return nullptr;
}

std::string not_a_name(const std::string& text) {
  return "'" + text + "' is not a name (letters, digits, '_' and '-', at most " + std::to_string(max_name_length) + ")";
}

template <class T>
std::vector<T> read_list(NumberReader<T>& reader, const ConfigNode& node) {
  std::vector<T> numbers;
  if (node.kind != Kind::list) {
    reader.fault(node, "a list of numbers is expected here, as in [1, 2]");
    return numbers;
  }
  for (const ConfigNode& item : node.items) {
    if (const std::optional<T> number = reader.read(item)) numbers.push_back(*number);
  }
  return numbers;
}

// Returns the numbers of a leaf that is a list, or an empty list if anything is wrong with it.
template <class T>
std::vector<T> read_numbers(ConfigReading* reading, std::optional<ConfigLeaf> found, Limits<T> limits) {
  if (!found) return {};
  NumberReader<T> reader(*reading, *found, limits, Dimension::number);
  std::vector<T> numbers = read_list(reader, *found->value);
  if (!reader.ok()) return {};
  record(*reading, *found);
  return numbers;
}

// The limits have already restricted the numbers to the range of int.
std::vector<int> to_ints(const std::vector<std::int64_t>& numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace

Section::Section(ConfigReading& reading, ConfigNode& node, std::string path, ConfigPosition position)
    : reading_(&reading), node_(&node), path_(std::move(path)), position_(position) {
  node.entered = true;
}

ConfigEntry* Section::look_up(std::string_view key) {
  if (node_ == nullptr) return nullptr;
  if (std::ranges::find(node_->asked, key) == node_->asked.end()) node_->asked.emplace_back(key);
  return node_->find(key);
}

ConfigEntry* Section::entry(std::string_view key, bool required) {
  ConfigEntry* const found = look_up(key);
  if (found != nullptr) {
    found->read = true;
  } else if (required && node_ != nullptr) {
    reading_->fault(position_, path_of(path_, key), "is missing");
  }
  return found;
}

std::optional<ConfigLeaf> Section::leaf(std::string_view key, LeafRole role, bool required) {
  const ConfigEntry* const found = entry(key, required);
  if (found == nullptr) return std::nullopt;
  return read_leaf(*reading_, *found, path_of(path_, key), role);
}

bool Section::holds(std::string_view key, ConfigNode::Kind kind) {
  const ConfigEntry* const found = look_up(key);
  return found != nullptr && found->node.kind == kind;
}

std::vector<std::string> Section::keys() const {
  std::vector<std::string> keys;
  if (node_ == nullptr) return keys;
  for (const ConfigEntry& entry : node_->entries) keys.push_back(entry.key);
  return keys;
}

Section Section::section(std::string_view key) {
  ConfigEntry* const found = entry(key, true);
  if (found == nullptr) return {};
  if (found->node.kind != Kind::map) {
    reading_->fault(found->position, path_of(path_, key), "a section (keys indented below) is expected here");
    return {};
  }
  return {*reading_, found->node, path_of(path_, key), found->position};
}

std::vector<Section> Section::list(std::string_view key) {
  std::vector<Section> sections;
  ConfigEntry* const found = entry(key, true);
  if (found == nullptr) return sections;
  const std::string path = path_of(path_, key);
  if (found->node.kind != Kind::list) {
    reading_->fault(found->position, path, "a list of sections is expected here");
    return sections;
  }
  for (std::size_t i = 0; i < found->node.items.size(); ++i) {
    ConfigNode& item = found->node.items[i];
    if (item.kind == Kind::map) {
      sections.push_back(Section(*reading_, item, path_of(path, i), item.position));
    } else {
      reading_->fault(item.position, path_of(path, i), "a section is expected here");
    }
  }
  return sections;
}

template <class T>
T Section::number_of(std::string_view key, Limits<T> limits, std::optional<T> fallback, Dimension dimension) {
  std::optional<ConfigLeaf> found = leaf(key, LeafRole::number, !fallback.has_value());
  const T harmless = fallback.value_or(limits.low);
  if (!found || scalar_text(*reading_, *found) == nullptr) return harmless;
  NumberReader<T> reader(*reading_, *found, limits, dimension);
  const std::optional<T> number = reader.read(*found->value);
  if (!reader.ok()) return harmless;
  record(*reading_, *found, dimension);
  return *number;
}

template double Section::number_of(std::string_view, Limits<double>, std::optional<double>, Dimension);
template Time Section::number_of(std::string_view, Limits<Time>, std::optional<Time>, Dimension);
template std::int64_t Section::number_of(std::string_view, Limits<std::int64_t>, std::optional<std::int64_t>,
                                         Dimension);

std::size_t Section::choose(std::string_view key, const std::vector<std::string>& options, bool required,
                            std::size_t absent) {
  const std::size_t harmless = required ? 0 : absent;
  std::optional<ConfigLeaf> found = leaf(key, LeafRole::option, required);
  const std::string* const text = found ? scalar_text(*reading_, *found) : nullptr;
  if (text == nullptr) return harmless;
  const auto option = std::ranges::find(options, *text);
  if (option == options.end()) {
    std::string what = "'" + *text + "' is not one of";
    for (const std::string& name : options) what += (name == options.front() ? " " : ", ") + name;
    reading_->fault(found->value->position, found->parameter.path, what + nearest_hint(*text, options), true);
    return harmless;
  }
  for (const std::string& alternative : found->parameter.alternatives) {
    if (std::ranges::find(options, alternative) != options.end()) continue;
    reading_->fault(found->position, found->parameter.path,
                    "alternative '" + alternative + "' is not one of its words");
  }
  record(*reading_, *found);
  return static_cast<std::size_t>(option - options.begin());
}

bool Section::flag(std::string_view key, std::optional<bool> fallback) {
  static const std::vector<std::string> words{"false", "true"};
  const std::size_t chosen = choose(key, words, !fallback.has_value(), 2);
  return chosen == 2 ? *fallback : chosen == 1;
}

std::string Section::label(std::string_view key, std::optional<std::string> fallback, bool is_identifier) {
  std::optional<ConfigLeaf> found = leaf(key, LeafRole::label, !fallback.has_value());
  const std::string* const text = found ? scalar_text(*reading_, *found) : nullptr;
  if (text == nullptr) return fallback.value_or("");
  if (is_identifier && !is_name(*text)) {
    reading_->fault(found->value->position, found->parameter.path, not_a_name(*text));
    return fallback.value_or("");
  }
  record(*reading_, *found);
  return *text;
}

std::vector<double> Section::numbers(std::string_view key, double low, double high) {
  return read_numbers<double>(reading_, leaf(key, LeafRole::number, true), {low, high});
}

std::vector<int> Section::integers(std::string_view key, int low, int high) {
  return to_ints(read_numbers<std::int64_t>(reading_, leaf(key, LeafRole::number, true), {low, high}));
}

std::vector<std::vector<int>> Section::integer_matrix(std::string_view key, int low, int high) {
  std::optional<ConfigLeaf> found = leaf(key, LeafRole::number, true);
  if (!found) return {};
  NumberReader<std::int64_t> reader(*reading_, *found, {low, high}, Dimension::number);
  if (found->value->kind != Kind::list)
    reader.fault(*found->value, "a list of lists is expected here, as in [[0, 1], [1, 0]]");
  std::vector<std::vector<int>> rows;
  for (const ConfigNode& row : found->value->items) {
    rows.push_back(to_ints(read_list(reader, row)));
    if (row.kind == Kind::list && row.items.size() != found->value->items.front().items.size()) {
      reader.fault(row, "its length differs from that of the first row");
    }
  }
  if (!reader.ok()) return {};
  record(*reading_, *found);
  return rows;
}

std::vector<std::string> Section::names(std::string_view key) {
  std::optional<ConfigLeaf> found = leaf(key, LeafRole::label, true);
  if (!found) return {};
  const auto fault = [&](const ConfigNode& node, std::string what) {
    reading_->fault(node.position, found->parameter.path, std::move(what));
    return std::vector<std::string>();
  };
  if (found->value->kind != Kind::list) return fault(*found->value, "a list of names is expected here, as in [a, b]");
  std::vector<std::string> names;
  for (const ConfigNode& item : found->value->items) {
    if (item.kind != Kind::scalar) return fault(item, "a single name is expected here");
    if (!is_name(item.text)) return fault(item, not_a_name(item.text));
    names.push_back(item.text);
  }
  record(*reading_, *found);
  return names;
}

std::vector<std::string> Section::texts(std::string_view key) {
  std::vector<std::string> texts;
  for (PlacedText& one : placed_texts(key)) texts.push_back(std::move(one.text));
  return texts;
}

std::vector<PlacedText> Section::placed_texts(std::string_view key) {
  std::optional<ConfigLeaf> found = leaf(key, LeafRole::label, true);
  if (!found) return {};
  std::vector<PlacedText> texts;
  const auto add = [&](const ConfigNode& node) { texts.emplace_back(node.text, reading_->place(node.position)); };
  if (found->value->kind == Kind::scalar) add(*found->value);
  for (const ConfigNode& item : found->value->items) {
    if (item.kind == Kind::scalar) {
      add(item);
    } else {
      reading_->fault(item.position, found->parameter.path, "a single text is expected here");
    }
  }
  record(*reading_, *found);
  return texts;
}

ConfigPosition Section::position_of(std::string_view key, bool of_value) const {
  const ConfigEntry* const found = node_->find(key);
  if (found == nullptr) return position_;
  // An assignment replaces only the value of a parameter; its other keys keep their place in the file.
  const ConfigEntry* const value = found->node.find("value");
  const ConfigPosition at = value == nullptr ? found->node.position : value->node.position;
  return of_value || at.assignment != 0 ? at : found->position;
}

void Section::fault(std::string_view key, std::string what) {
  if (node_ != nullptr) reading_->fault(position_of(key), path_of(path_, key), std::move(what));
}

void Section::fault_value(std::string_view key, std::string what, bool is_word) {
  if (node_ != nullptr) reading_->fault(position_of(key, true), path_of(path_, key), std::move(what), is_word);
}

void Section::warn(std::string_view key, std::string what) {
  if (node_ == nullptr) return;
  const std::string path = path_of(path_, key);
  reading_->warn(position_of(key), path, path + ": " + what);
}

bool Section::is_sound(std::string_view key) const {
  if (node_ == nullptr) return false;
  const std::string path = path_of(path_, key);
  return std::ranges::none_of(reading_->faults, [&path](const auto& fault) {
    return fault.second.path == path || is_below(fault.second.path, path);
  });
}

}  // namespace c3sim::sim
