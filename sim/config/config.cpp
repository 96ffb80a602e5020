#include "sim/config/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "sim/config/config_reading.h"
#include "sim/config/config_text.h"
#include "sim/config/expression.h"
#include "sim/config/files_read.h"
#include "sim/config/nearest_name.h"
#include "sim/interruption.h"

namespace c3sim::sim {
namespace {

using Kind = ConfigNode::Kind;

constexpr std::size_t max_depth = 64;

// Returns whether the quote at the beginning of the text is closed on the same line.
bool closes_quote(std::string_view text) {
  const char quote = text.front();
  for (std::size_t at = 1; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || at + 1 == text.size() || text[at + 1] != quote) return true;
      ++at;  // '' stands for one ' inside the quotes
    }
  }
  return false;
}

// Builds the tree of one document from the events of yaml-cpp and records what the language excludes. If parsing cannot
// go on, throws yaml-cpp's own exception, which has a position.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(ConfigReading& reading, std::string_view text, int assignment, std::string root_path)
      : reading_(reading), text_(text), assignment_(assignment), root_path_(std::move(root_path)) {}

  ConfigNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw YAML::ParserException(mark, "a second document; a configuration is one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, "", anchor);
    close(make(Kind::null, mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fault(mark, "aliases (*name) are not part of a configuration; repeat the value");
    close(make(Kind::null, mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    check_scalar(mark, value);
    ConfigNode node = make(Kind::scalar, mark);
    node.text = value;
    node.quoted = tag == "!";
    if (expects_key()) {
      open_entry(std::move(node));
    } else {
      close(std::move(node));
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check(mark, tag, anchor);
    open(Kind::list, mark);
  }
  void OnSequenceEnd() override { close_innermost(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check(mark, tag, anchor);
    open(Kind::map, mark);
  }
  void OnMapEnd() override { close_innermost(); }

 private:
  // An Open is a map or list that has not ended yet. If `has_key`, the last entry of a map waits for its value.
  struct Open {
    ConfigNode node;
    std::set<std::string> keys = {};
    bool has_key = false;
    bool is_duplicate = false;
  };

  ConfigPosition position(const YAML::Mark& mark) const { return {assignment_, 0, mark.line + 1, mark.column + 1}; }

  ConfigNode make(Kind kind, const YAML::Mark& mark) const {
    ConfigNode node;
    node.kind = kind;
    node.position = position(mark);
    return node;
  }

  std::string path() const {
    std::string path = root_path_;
    for (const Open& open : open_) {
      if (open.node.kind == Kind::list) {
        path = path_of(path, open.node.items.size());
      } else if (open.has_key) {
        path = path_of(path, open.node.entries.back().key);
      }
    }
    return path;
  }

  void fault(const YAML::Mark& mark, std::string what) { reading_.fault(position(mark), path(), std::move(what)); }

  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) fault(mark, "anchors (&name) are not part of a configuration");
    // yaml-cpp tags a plain value "?" and a quoted one "!".
    if (!tag.empty() && tag != "?" && tag != "!") fault(mark, "tags (!name) are not part of a configuration");
  }

  void check_scalar(const YAML::Mark& mark, const std::string& value) {
    // yaml-cpp silently ends an open quote at the end of the file or where the indentation falls back.
    const std::string_view written = text_.substr(std::min(static_cast<std::size_t>(mark.pos), text_.size()));
    if ((written.starts_with('"') || written.starts_with('\'')) && !closes_quote(written)) {
      fault(mark, "the quote is not closed on its line");
    }
    if (const std::optional<TextFault> bad = check_characters(value)) fault(mark, "an escape makes " + bad->what);
  }

  bool expects_key() const { return !open_.empty() && open_.back().node.kind == Kind::map && !open_.back().has_key; }

  void open(Kind kind, const YAML::Mark& mark) {
    if (open_.size() == max_depth) throw YAML::ParserException(mark, "more than 64 levels deep");
    if (expects_key()) throw YAML::ParserException(mark, "a key must be a name, not a list or a map");
    open_.push_back({make(kind, mark)});
  }

  void open_entry(ConfigNode key) {
    Open& map = open_.back();
    // The fault must not quote the key, since the file may be anything and its content private.
    std::string_view name = key.text;  // tables of words have keys with a * that stands for any text
    if (name.size() > 1 && name.starts_with('*')) name.remove_prefix(1);
    if (name.ends_with('*')) name.remove_suffix(1);
    const bool named = is_name(name) || key.text == "*";
    if (!named && !std::exchange(has_odd_key_, true)) {
      reading_.fault(key.position, path(), "this key is not a name (letters, digits, '_' and '-')");
    }
    map.is_duplicate = !map.keys.insert(key.text).second;
    map.node.entries.push_back({named ? key.text : std::string(), key.position, {}});
    map.has_key = true;
    if (map.is_duplicate) reading_.fault(key.position, path(), "the key is given twice");
  }

  void close_innermost() {
    ConfigNode node = std::move(open_.back().node);
    open_.pop_back();
    close(std::move(node));
  }

  // Adds a finished node to the map or list that contains it.
  void close(ConfigNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (Open& parent = open_.back(); parent.node.kind == Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.has_key) {
      parent.node.entries.back().node = std::move(node);
      parent.has_key = false;
    } else {
      reading_.fault(node.position, path(), "a key is missing before ':'");
      parent.node.entries.push_back({"", node.position, {}});
      parent.has_key = true;
    }
  }

  ConfigReading& reading_;
  std::string_view text_;
  int assignment_;
  std::string root_path_;
  int documents_ = 0;
  bool has_odd_key_ = false;  // only the first odd key is reported
  ConfigNode root_;
  std::vector<Open> open_;
};

// Returns the tree of a text, or an incomplete one after recording faults. `assignment` is 0 for the file.
ConfigNode parse_yaml(ConfigReading& reading, std::string_view text, int assignment, const std::string& path) {
  if (const std::optional<TextFault> bad = check_text(text)) {
    reading.fault({assignment, 0, bad->line, bad->column}, path, bad->what);
    return {};
  }
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(reading, text, assignment, path);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const bool placed = !error.mark.is_null();
    const ConfigPosition position{assignment, 0, placed ? error.mark.line + 1 : 1, placed ? error.mark.column + 1 : 1};
    reading.fault(position, path, "not readable as YAML: " + error.msg);
    return {};
  }
  return builder.take_root();
}

std::string read_text(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& what) {
    throw ConfigError({Fault{path.string(), "", "cannot be read: " + what}});
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail("it is a folder");
  note_read(path);
  ask_interruption();
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::generic_category().message(errno));
  // Reading one byte more than is allowed detects a file that is too large, however large it is.
  std::string text(max_config_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) fail("the disk reports an error");
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

struct NamedLeaf {
  std::string path;
  ConfigNode* node;
};

// Collects everything that an assignment may replace: values, lists of values and parameters.
void collect_leaves(ConfigNode& node, const std::string& path, std::vector<NamedLeaf>& leaves) {
  if (node.is_section_list()) {
    for (std::size_t i = 0; i < node.items.size(); ++i) collect_leaves(node.items[i], path_of(path, i), leaves);
  } else if (node.kind == Kind::map && !node.is_parameter()) {
    for (ConfigEntry& entry : node.entries) collect_leaves(entry.node, path_of(path, entry.key), leaves);
  } else {
    leaves.push_back({path, &node});
  }
}

// Returns the name of a row of a list, or an empty text if it has none.
std::string_view name_of(const ConfigNode& row) {
  const ConfigEntry* entry = row.find("name");
  if (entry != nullptr && entry->node.is_parameter()) entry = entry->node.find("value");
  return entry == nullptr ? std::string_view() : std::string_view(entry->node.text);
}

// Returns the index of the row that a word in brackets means, which is the index itself or the unique name of a row.
// Returns the number of rows if there is no such row.
std::size_t row_named(const ConfigNode& list, std::string_view word) {
  std::size_t found = list.items.size();
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (word == std::to_string(i)) return i;
    if (word.empty() || name_of(list.items[i]) != word) continue;
    if (found < list.items.size()) return list.items.size();
    found = i;
  }
  return found;
}

// A Walk along a path ends at `node`, which is null if nothing is there. It spells the path with the name of each row
// of a list where that is unique, or with its index; a word that matches no row stays as it is. It visits nothing else.
struct Walk {
  ConfigNode* node = nullptr;
  std::string path;
};
Walk walk(ConfigNode& root, std::string_view path, bool by_name) {
  Walk walked{&root, {}};
  ConfigNode*& node = walked.node;
  while (!path.empty()) {
    const std::size_t close = path.find(']');
    if (path.front() != '[' || close == std::string_view::npos) {
      const std::size_t begin = path.front() == '.' ? 1 : 0;
      const std::string_view key = path.substr(begin, path.find_first_of(".[", 1) - begin);
      const bool leads_on = node != nullptr && !node->is_parameter() && (node == &root) == (begin == 0);
      ConfigEntry* const entry = leads_on ? node->find(key) : nullptr;
      node = entry == nullptr ? nullptr : &entry->node;
      walked.path += path.substr(0, begin + key.size());
      path.remove_prefix(begin + key.size());
      continue;
    }
    std::string word(path.substr(1, close - 1));
    path.remove_prefix(close + 1);
    ConfigNode* const list = node != nullptr && node->is_section_list() ? node : nullptr;
    const std::size_t row = list == nullptr ? 0 : row_named(*list, word);
    node = list == nullptr || row == list->items.size() ? nullptr : &list->items[row];
    if (node != nullptr) {
      const std::string name(name_of(*node));
      word = by_name && row_named(*list, name) == row ? name : std::to_string(row);
    }
    walked.path += "[" + word + "]";
  }
  return walked;
}

// Returns the leaf at a path as collect_leaves() spells it, or with the name of a row for its index; null if there is
// none.
ConfigNode* leaf_at(ConfigNode& root, std::string_view path) {
  ConfigNode* const node = walk(root, path, false).node;
  const bool is_section =
      node != nullptr && (node->is_section_list() || (node->kind == Kind::map && !node->is_parameter()));
  return is_section ? nullptr : node;
}

// Raises the file index of all positions of a tree by `files`.
void move_down(ConfigNode& node, int files) {
  node.position.file += files;
  for (ConfigNode& item : node.items) move_down(item, files);
  for (ConfigEntry& entry : node.entries) {
    entry.position.file += files;
    move_down(entry.node, files);
  }
}

void keep_values(ConfigNode& node) {
  if (ConfigEntry* const value = node.find("value")) node = ConfigNode(std::move(value->node));
  for (ConfigNode& item : node.items) keep_values(item);
  for (ConfigEntry& entry : node.entries) keep_values(entry.node);
}

// Copies a section with only the named ones of its sections.
ConfigNode part_of(const ConfigNode& node, std::string_view path, std::span<const std::string_view> sections) {
  ConfigNode part;
  part.kind = node.kind;
  part.position = node.position;
  part.entered = node.entered;
  for (const ConfigEntry& entry : node.entries) {
    const std::string name = path_of(path, entry.key);
    const auto is_below = [&](std::string_view section) { return section.starts_with(name + '.'); };
    if (std::ranges::find(sections, name) != sections.end()) {
      part.entries.push_back(entry);
    } else if (std::ranges::any_of(sections, is_below)) {
      part.entries.push_back({entry.key, entry.position, part_of(entry.node, name, sections)});
    }
  }
  return part;
}

void collect_parameters(const ConfigReading& reading, const ConfigNode& node,
                        std::vector<const Parameter*>& parameters) {
  for (const ConfigNode& item : node.items) collect_parameters(reading, item, parameters);
  for (const ConfigEntry& entry : node.entries) {
    const auto read = reading.parameters.find(entry.position);
    if (read != reading.parameters.end()) {
      parameters.push_back(&read->second);
    } else {
      collect_parameters(reading, entry.node, parameters);
    }
  }
}

// Names the values below a section that `path` names in another place, unless they are many: gpu.hbm.rate may be meant
// for one of gpu.memory.hbm. Returns an empty text if there are none.
std::string same_section_hint(std::string_view path, const std::vector<std::string>& paths) {
  constexpr std::size_t most = 12;
  for (std::size_t end = path.rfind('.'); end != std::string_view::npos && end > 0; end = path.rfind('.', end - 1)) {
    const std::size_t begin = path.rfind('.', end - 1) + 1;  // 0 of the first name
    const std::string section = fmt::format(".{}.", path.substr(begin, end - begin));
    std::vector<std::string> values;
    std::ranges::copy_if(paths, std::back_inserter(values),
                         [&](const std::string& one) { return ("." + one).find(section) != std::string::npos; });
    if (values.empty() || values.size() > most) continue;
    return fmt::format("; those of '{}' are: {}", path.substr(begin, end - begin), fmt::join(values, ", "));
  }
  return {};
}

// Says why no leaf has the path: it belongs to a section or is unknown.
std::string no_leaf(std::string_view path, const std::vector<NamedLeaf>& leaves) {
  std::vector<std::string> paths;
  std::string below;
  for (const NamedLeaf& leaf : leaves) {
    paths.push_back(leaf.path);
    if (is_below(leaf.path, path)) below += (below.empty() ? "" : ", ") + leaf.path;
  }
  if (!below.empty()) return "is a section; its values are: " + below;
  const std::string hint = nearest_hint(path, paths);
  return "the configuration has no such value" + (hint.empty() ? same_section_hint(path, paths) : hint);
}

}  // namespace

Config::Config(std::unique_ptr<ConfigReading> reading) : reading_(std::move(reading)) {}
Config::Config(const Config& other) : reading_(std::make_unique<ConfigReading>(*other.reading_)) {}
Config& Config::operator=(const Config& other) { return *this = Config(other); }
Config::Config(Config&&) noexcept = default;
Config& Config::operator=(Config&&) noexcept = default;
Config::~Config() = default;

Config Config::from_file(const std::filesystem::path& path, Sources sources) {
  return from_text(read_text(path), path.string(), sources);
}

Config Config::from_text(std::string_view text, std::string name, Sources sources) {
  auto reading = std::make_unique<ConfigReading>();
  reading->names = {std::move(name)};
  reading->sources = sources;
  text = without_byte_order_mark(text);
  reading->root = parse_yaml(*reading, text, 0, "");
  reading->throw_faults();
  if (reading->root.kind != Kind::map) {
    reading->fault({0, 0, 1, 1}, "", "not a map of keys (key: value)");
    reading->throw_faults();
  }
  reading->root.entered = true;  // makes finish() find unread keys even if nothing is read
  return Config(std::move(reading));
}

std::vector<PlacedText> Config::take_files(std::string_view key, bool many) {
  ConfigEntry* const entry = reading_->root.find(key);
  if (entry == nullptr) return {};
  const std::string path(key);
  std::vector<PlacedText> files;
  if (const std::optional<ConfigLeaf> leaf = read_leaf(*reading_, *entry, path, LeafRole::label)) {
    const bool is_list = many && leaf->value->kind == Kind::list;
    for (const ConfigNode& name : is_list ? std::span(leaf->value->items) : std::span(leaf->value, 1)) {
      if (name.kind == Kind::scalar && !name.text.empty()) {
        files.emplace_back(name.text, reading_->place(many ? name.position : entry->position));
      } else {
        reading_->fault(name.position, path, "the name of a file is expected here");
      }
    }
    if (!many) reading_->base = leaf->parameter;
  }
  leave_out(key);
  check();
  return files;
}

void Config::leave_out(std::string_view key) {
  std::erase_if(reading_->root.entries, [key](const ConfigEntry& entry) { return entry.key == key; });
}

Config Config::part(std::span<const std::string_view> sections) const {
  auto reading = std::make_unique<ConfigReading>();
  reading->names = reading_->names;
  reading->sources = reading_->sources;
  reading->records_parameters = reading_->records_parameters;
  reading->assignments = reading_->assignments;  // positions of values refer to assignments by number
  reading->root = part_of(reading_->root, "", sections);
  return Config(std::move(reading));
}

void Config::keep_values_only() {
  reading_->sources = Sources::optional;
  reading_->records_parameters = false;
  keep_values(reading_->root);
}

void Config::stand_on(const Config& under) {
  ConfigNode tree = under.reading_->root;
  move_down(tree, static_cast<int>(reading_->names.size()));
  reading_->names.insert(reading_->names.end(), under.reading_->names.begin(), under.reading_->names.end());
  const auto place = [this](ConfigPosition position) { return reading_->place(position); };
  reading_->root = merged(std::move(reading_->root), tree, place);
}

const std::vector<std::string>& Config::files() const { return reading_->names; }

void Config::set(const PlacedText& made) {
  const std::string_view assignment = made.text;
  reading_->assignments.push_back(made.place.empty() ? "--set " + made.text : made.place);
  const ConfigPosition position{static_cast<int>(reading_->assignments.size()), 0, 0, 0};
  const std::size_t equals = assignment.find('=');
  const std::string path(trimmed(assignment.substr(0, equals)));
  if (equals == std::string_view::npos || path.empty()) {
    return reading_->fault(position, path, "an assignment reads path=value");
  }
  const std::string_view value = trimmed(assignment.substr(equals + 1));
  ConfigNode* const leaf = leaf_at(reading_->root, path);
  if (leaf == nullptr) {
    std::vector<NamedLeaf> leaves;
    collect_leaves(reading_->root, "", leaves);
    return reading_->fault(position, path, no_leaf(path, leaves));
  }
  if (const std::optional<TextFault> bad = check_text(value)) return reading_->fault(position, path, bad->what);

  const bool is_list = (leaf->is_parameter() ? leaf->find("value")->node : *leaf).kind == Kind::list;
  ConfigNode replacement = ConfigNode::scalar(std::string(value), position);
  if (is_list) {
    const std::size_t faults_before = reading_->faults.size();
    replacement = parse_yaml(*reading_, value, position.assignment, path);
    if (reading_->faults.size() != faults_before) return;
    if (replacement.kind != Kind::list) return reading_->fault(position, path, "a list is expected here, as in [1, 2]");
  }
  assign_leaf(*reading_, *leaf, std::move(replacement), position);
}

void Config::declare_parameters(std::string_view key) {
  reading_->variables.use();
  ConfigEntry* const section = reading_->root.find(key);
  if (section == nullptr) return;
  section->read = true;
  if (section->node.kind != ConfigNode::Kind::map) {
    return reading_->fault(section->position, std::string(key), "a section (keys indented below) is expected here");
  }
  section->node.entered = true;
  for (ConfigEntry& entry : section->node.entries) {
    entry.read = true;
    const std::string path = path_of(key, entry.key);
    if (is_reserved(entry.key)) {
      reading_->fault(entry.position, path, "a unit or a function has this name: another is accepted");
    }
    // The text may contain expressions, which are evaluated when they are needed.
    const std::optional<ConfigLeaf> leaf = read_leaf(*reading_, entry, path, LeafRole::unevaluated);
    if (!leaf) continue;
    if (leaf->value->kind != ConfigNode::Kind::scalar) {
      reading_->fault(leaf->value->position, path, "a list where a single value is expected");
      continue;
    }
    ConfigPosition position = leaf->value->position;
    if (leaf->value->quoted) ++position.column;
    reading_->variables.declare(entry.key, leaf->value->text, position);
  }
}

void Config::evaluate_parameters() {
  reading_->variables.evaluate_all();
  reading_->note_parameter_faults();
  reading_->throw_faults();
}

Variables& Config::variables() { return reading_->variables; }

void Config::check() const { reading_->throw_faults(); }

Section Config::root() { return {*reading_, reading_->root, "", {0, 0, 1, 1}}; }

void Config::finish() {
  reading_->fault_unread_keys();
  reading_->throw_faults();
}

std::vector<Fault> Config::warnings() const {
  std::vector<Fault> warnings;
  for (const auto& [position, warning] : reading_->warnings) warnings.push_back(warning);
  return warnings;
}

std::string Config::respelled(std::string_view path, bool by_name) const {
  return walk(reading_->root, path, by_name).path;
}

const ConfigNode& Config::tree() const { return reading_->root; }

const ConfigNode* Config::node_at(std::string_view path) const { return leaf_at(reading_->root, path); }

std::vector<const Parameter*> Config::parameters_in_place() const {
  std::vector<const Parameter*> parameters;
  if (reading_->base) parameters.push_back(&*reading_->base);
  collect_parameters(*reading_, reading_->root, parameters);
  return parameters;
}

std::vector<Parameter> Config::parameters() const {
  std::vector<Parameter> parameters;
  for (const Parameter* const parameter : parameters_in_place()) parameters.push_back(*parameter);
  return parameters;
}

std::string Config::resolved() const { return to_yaml(reading_->root); }

}  // namespace c3sim::sim
