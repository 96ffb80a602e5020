#include "calibrate/fit/platform_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "models/platform/platform_config.h"
#include "sim/check.h"
#include "sim/config/config_text.h"

namespace c3sim::calibrate {

namespace {

// Returns where the text of a value that begins at `begin` ends: after its closing quote or, unquoted, its length.
std::size_t end_of(std::string_view text, std::size_t begin, const std::string& value) {
  const char quote = text[begin];
  if (quote != '"' && quote != '\'') return begin + value.size();
  std::size_t at = begin + 1;
  while (text[at] != quote || (quote == '\'' && text[at + 1] == quote)) {
    const bool is_pair = text[at] == quote || (text[at] == '\\' && quote == '"');
    at += is_pair ? 2 : 1;
  }
  return at + 1;
}

// Returns nested sections, the outermost indented by `indented`; the innermost key has `list`, which is YAML, below it
// or, where that is empty, `value` beside it.
std::string lines_of(const std::vector<std::string>& keys, std::size_t indented, const std::string& list,
                     const std::string& value) {
  std::string lines;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    lines += (i == 0 ? "" : "\n") + std::string(indented + 2 * i, ' ') + keys[i] + ":";
  }
  if (list.empty()) return lines + " " + value + "\n";
  const std::string further(indented + 2 * keys.size(), ' ');
  lines += boost::replace_all_copy("\n" + list, "\n", "\n" + further);
  return lines.substr(0, lines.size() - further.size());  // no indentation follows the last line break
}

}  // namespace

SpelledNumber split_unit(std::string_view text) {
  SpelledNumber spelled;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), spelled.number);
  SIM_CHECK(error == std::errc());
  spelled.unit = sim::trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  return spelled;
}

std::string spell(double number, std::string_view unit, int digits) {
  const double rounded = std::strtod(fmt::format("{:.{}e}", number, digits - 1).c_str(), nullptr);
  return fmt::format("{}{}{}", rounded, unit.empty() ? "" : " ", unit);
}

std::string spell_within(double number, double error, std::string_view unit) {
  constexpr int least = 3;
  if (number == 0.0 || error <= 0.0) return spell(number, unit, least);
  const double ratio = std::log10(std::abs(number) / (error / 20.0));
  return spell(number, unit, std::clamp(static_cast<int>(std::ceil(ratio)), least, simulated_digits));
}

std::string in_double_quotes(std::string_view text) {
  std::string yaml(text);
  for (const auto& [sign, spelled] : {std::pair{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}})
    boost::replace_all(yaml, sign, spelled);
  return fmt::format("\"{}\"", yaml);
}

PlatformText::PlatformText(std::filesystem::path path, std::span<const std::filesystem::path> config_folders,
                           std::span<const std::string> assignments)
    : path_(std::move(path)),
      config_folders_(config_folders.begin(), config_folders.end()),
      config_(models::platform_config(path_, config_folders)),
      kernels_(models::GemmKernelTables::read(config_, config_folders)) {
  std::ifstream file(path_, std::ios::binary);
  text_.assign(std::istreambuf_iterator<char>(file), {});
  sim::Config config = config_;
  for (const std::string& assignment : assignments) config.set(assignment);
  models::PlatformSpec::read(config, kernels_);
  for (const std::string& assignment : assignments) assign(assignment, config.parameters());
}

void PlatformText::read_text() { config_ = models::platform_config(text_, path_, config_folders_); }

std::vector<sim::Parameter> PlatformText::parameters() const {
  sim::Config config = config_;
  models::PlatformSpec::read(config, kernels_);
  return config.parameters();
}

std::string PlatformText::place(const sim::Parameter& parameter) {
  return fmt::format("{}:{}", parameter.file, parameter.line);
}

models::PlatformSpec PlatformText::spec(std::span<const std::string> assignments) const {
  sim::Config config = config_;
  for (const std::string& assignment : assignments) config.set(assignment);
  return models::PlatformSpec::read(config, kernels_);
}

std::size_t PlatformText::offset_of(sim::ConfigPosition position) const {
  std::size_t begin = 0;
  for (int above = 1; above < position.line; ++above) begin = text_.find('\n', begin) + 1;
  return begin + static_cast<std::size_t>(position.column - 1);
}

std::vector<PlatformText::Edit> PlatformText::edits_of(const Replacement& replacement) const {
  const sim::ConfigNode* const leaf = config_.node_at(replacement.parameter.path);
  // Returns a part of the parameter that the file itself has, or null.
  const auto part = [leaf](std::string_view key) -> const sim::ConfigEntry* {
    const sim::ConfigEntry* const entry = leaf == nullptr || !leaf->is_parameter() ? nullptr : leaf->find(key);
    if (entry == nullptr || entry->node.kind != sim::ConfigNode::Kind::scalar) return nullptr;
    // A plain value that is written over a parameter has no parts in the file.
    const sim::ConfigPosition at = entry->node.position;
    return at.file == 0 && at.assignment == 0 && at != entry->position ? entry : nullptr;
  };
  const sim::ConfigEntry* const value = part("value");
  const sim::ConfigEntry* const source = part("source");
  if (value == nullptr || source == nullptr) {
    throw sim::ConfigError({{place(replacement.parameter), replacement.parameter.path,
                             "a parameter that is fitted is written as {value: ..., source: ..., ...}"}});
  }
  const auto edit = [&](const sim::ConfigEntry& of, std::string by) {
    const std::size_t begin = offset_of(of.node.position);
    return Edit{begin, end_of(text_, begin, of.node.text), std::move(by)};
  };
  std::vector<Edit> edits{edit(*value, replacement.value), edit(*source, in_double_quotes(replacement.source))};
  if (const sim::ConfigEntry* const kind = part("kind"); kind != nullptr && !replacement.kind.empty()) {
    edits.push_back(edit(*kind, replacement.kind));
  } else if (!replacement.kind.empty()) {
    edits.back().by += ", kind: " + replacement.kind;
  }
  const sim::ConfigEntry* const error = part("error");
  if (error != nullptr && !replacement.error.empty()) {
    edits.push_back(edit(*error, replacement.error));
  } else if (error != nullptr) {  // removes it with its key and the comma or line break before that
    const std::size_t before = text_.find_last_not_of(" \n", offset_of(error->position) - 1);
    const std::size_t end = edit(*error, "").end;
    const bool is_first = text_[before] == '{';
    edits.push_back(
        {before + (text_[before] == ',' ? 0 : 1), is_first ? text_.find_first_not_of(", \n", end) : end, ""});
  } else if (!replacement.error.empty()) {
    const bool on_one_line = value->position.line == source->position.line;
    const auto indented = static_cast<std::size_t>(value->position.column - 1);
    edits.front().by += (on_one_line ? ", " : "\n" + std::string(indented, ' ')) + "error: " + replacement.error;
  }
  return edits;
}

// Writes the parameter with its current value into the file itself, below the innermost section on its path that the
// file has, with the sections in between. The files that this one builds on have its range, kind and the rest. If the
// path leads through a list of sections, the whole list is written.
void PlatformText::make_place(const sim::Parameter& parameter) {
  std::string_view path = parameter.path;
  if (config_.node_at(path) == nullptr) return;
  const sim::ConfigNode* node = &config_.tree();
  sim::ConfigPosition section;
  std::vector<std::string> keys;  // keys that the section lacks; the last is that of the value or the list
  while (node->kind == sim::ConfigNode::Kind::map && !node->is_parameter()) {
    const std::string_view key = path.substr(0, path.find_first_of(".["));
    path.remove_prefix(std::min(key.size() + 1, path.size()));
    const sim::ConfigEntry& entry = *node->find(key);
    if (entry.position.file > 0 && keys.empty()) section = node->position;
    if (entry.position.file > 0) keys.emplace_back(key);
    node = &entry.node;
  }
  if (keys.empty()) return;
  const std::string value = fmt::format("{{value: {}, source: \"\"}}", parameter.value);
  const std::size_t begin = offset_of(section);
  if (text_[begin] == '{') {
    if (node->is_section_list()) {
      throw sim::ConfigError({{fmt::format("{}:{}:{}", path_.string(), section.line, section.column), parameter.path,
                               "is in a list of the file that this one stands on, which has no place between { and }: "
                               "a section with its keys below each other is accepted"}});
    }
    std::string entry = fmt::format("{}: {}", keys.back(), value);
    for (auto key = keys.rbegin() + 1; key != keys.rend(); ++key) entry = fmt::format("{}: {{{}}}", *key, entry);
    const bool is_empty = text_[text_.find_first_not_of(" \n", begin + 1)] == '}';
    text_.insert(begin + 1, entry + (is_empty ? "" : ", "));
    return read_text();
  }
  const auto indented = static_cast<std::size_t>(section.column - 1);
  const std::string lines = lines_of(keys, indented, node->is_section_list() ? to_yaml(*node) : "", value);
  if (indented == 0) {
    text_ += (text_.ends_with('\n') ? "\n" : "\n\n") + lines;
  } else {
    text_.insert(begin - indented, lines);
  }
  read_text();
}

void PlatformText::assign(const std::string& assignment, const std::vector<sim::Parameter>& assigned) {
  const std::string path(sim::trimmed(assignment.substr(0, assignment.find('='))));
  const auto parameter = std::ranges::find(assigned, path, &sim::Parameter::path);
  if (parameter == assigned.end()) return;  // belongs to a list that another assignment replaces
  try {
    replace(std::vector{Replacement{*parameter, parameter->value, "", parameter->source, "what_if"}});
  } catch (const sim::ConfigError&) {
    throw sim::ConfigError({{parameter->source, path,
                             fmt::format("cannot be written into {}, which has no single value with a source there: "
                                         "edit it by hand",
                                         path_.string())}});
  }
}

void PlatformText::replace(std::span<const Replacement> replacements) {
  for (const Replacement& replacement : replacements) make_place(replacement.parameter);
  std::vector<Edit> edits;
  for (const Replacement& replacement : replacements) {
    const std::vector<Edit> own = edits_of(replacement);
    edits.insert(edits.end(), own.begin(), own.end());
  }
  std::ranges::sort(edits, std::ranges::greater{}, &Edit::begin);  // back to front, so that earlier offsets stay valid
  for (const Edit& edit : edits) text_.replace(edit.begin, edit.end - edit.begin, edit.by);
  read_text();
}

void PlatformText::replace_list(const std::string& key, const std::vector<std::string>& rows) {
  const std::vector<sim::ConfigEntry>& all = config_.tree().entries;
  const auto is_own = [](const sim::ConfigEntry& entry) { return entry.position.file == 0; };
  auto found = std::ranges::find(all, key, &sim::ConfigEntry::key);
  if (found != all.end() && !is_own(*found)) found = all.end();
  const std::string list = rows.empty() ? "" : fmt::format("{}:\n{}", key, fmt::join(rows, ""));
  if (found == all.end()) {
    if (!rows.empty()) text_ += (text_.ends_with('\n') ? "\n" : "\n\n") + list;
  } else {
    // Comments and blank lines before the next key belong to that key.
    const auto next = std::find_if(std::next(found), all.end(), is_own);
    std::size_t end = next == all.end() ? text_.size() : offset_of({.line = next->position.line, .column = 1});
    const std::size_t begin = offset_of({.line = found->position.line, .column = 1});
    while (end > begin) {
      const std::size_t line = text_.rfind('\n', end - 2) + 1;
      if (text_[line] != '#' && text_[line] != '\n') break;
      end = line;
    }
    text_.replace(begin, end - begin, list);
  }
  read_text();
  sim::Config under = config_;
  if (!rows.empty() || !under.root().has(key)) return;
  text_ += key + ": []\n";
  read_text();
}

}  // namespace c3sim::calibrate
