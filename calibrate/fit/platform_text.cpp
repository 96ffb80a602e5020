#include "calibrate/fit/platform_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include "models/platform/platform_config.h"
#include "sim/check.h"
#include "sim/config/config_text.h"

namespace c3sim::calibrate {

namespace {

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Where the text of a value ends that begins here: behind its closing quote, or as long as it is.
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

PlatformText::PlatformText(std::filesystem::path path, std::span<const std::filesystem::path> config_folders,
                           std::span<const std::string> assignments)
    : path_(std::move(path)),
      config_folders_(config_folders.begin(), config_folders.end()),
      config_(models::platform_config(path_, config_folders)),
      kernels_(models::GemmKernelTables::read(config_, config_folders)) {
  text_ = content(path_);
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

std::size_t PlatformText::offset_of(int line, int column) const {
  std::size_t begin = 0;
  for (int above = 1; above < line; ++above) begin = text_.find('\n', begin) + 1;
  return begin + static_cast<std::size_t>(column - 1);
}

std::vector<PlatformText::Edit> PlatformText::edits_of(const Replacement& replacement) const {
  const std::vector<sim::Config::Part> parts = config_.parts_of(replacement.parameter.path);
  const auto part = [&parts](std::string_view key) { return std::ranges::find(parts, key, &sim::Config::Part::key); };
  if (part("value") == parts.end() || part("source") == parts.end()) {
    throw sim::ConfigError({{place(replacement.parameter), replacement.parameter.path,
                             "a parameter that is fitted is written as {value: ..., source: ..., ...}"}});
  }
  const auto edit = [&](const sim::Config::Part& of, std::string by) {
    const std::size_t begin = offset_of(of.line, of.column);
    return Edit{begin, end_of(text_, begin, of.text), std::move(by)};
  };
  std::vector<Edit> edits{edit(*part("value"), replacement.value),
                          edit(*part("source"), fmt::format("\"{}\"", replacement.source))};
  if (!replacement.kind.empty() && part("kind") != parts.end()) {
    edits.push_back(edit(*part("kind"), replacement.kind));
  } else if (!replacement.kind.empty()) {
    edits.back().by += ", kind: " + replacement.kind;
  }
  const auto error = part("error");
  if (error != parts.end() && !replacement.error.empty()) {
    edits.push_back(edit(*error, replacement.error));
  } else if (error != parts.end()) {  // with its key, from the end of what stands before it
    const Edit before = edit(*std::prev(error), "");
    edits.push_back({before.end, edit(*error, "").end, ""});
  } else if (!replacement.error.empty()) {
    const bool on_one_line = part("value")->line == part("source")->line;
    const std::string apart =
        on_one_line ? ", " : "\n" + std::string(static_cast<std::size_t>(part("value")->column) - 8, ' ');
    edits.front().by += apart + "error: " + replacement.error;
  }
  return edits;
}

// Says what the parameter is already, in the file itself: what it stands on knows its range, its kind and the rest.
void PlatformText::make_place(const sim::Parameter& parameter) {
  const std::optional<sim::Config::Gap> gap = config_.gap_at(parameter.path);
  if (!gap) return;
  const std::size_t begin = offset_of(gap->line, gap->column);
  const std::string value = fmt::format("{{value: {}, source: \"\"}}", parameter.value);
  if (text_[begin] == '{') {
    if (!gap->list.empty()) {
      throw sim::ConfigError({{fmt::format("{}:{}:{}", path_.string(), gap->line, gap->column), parameter.path,
                               "is in a list of the file that this one stands on, which has no place between { and }: "
                               "a section with its keys below each other is accepted"}});
    }
    std::string entry = value;
    for (auto key = gap->keys.rbegin(); key != gap->keys.rend(); ++key) {
      const bool is_innermost = key == gap->keys.rbegin();
      entry = is_innermost ? fmt::format("{}: {}", *key, entry) : fmt::format("{}: {{{}}}", *key, entry);
    }
    const bool is_empty = text_[text_.find_first_not_of(" \n", begin + 1)] == '}';
    text_.insert(begin + 1, entry + (is_empty ? "" : ", "));
    return read_text();
  }
  const auto indented = static_cast<std::size_t>(gap->column - 1);
  std::string lines;
  for (std::size_t i = 0; i < gap->keys.size(); ++i) {
    lines += std::string(indented + 2 * i, ' ') + gap->keys[i] + ":";
    if (i + 1 < gap->keys.size()) lines += "\n";
  }
  if (gap->list.empty()) {
    lines += " " + value + "\n";
  } else {
    const std::string further(indented + 2 * gap->keys.size(), ' ');
    const std::string list = boost::replace_all_copy("\n" + gap->list, "\n", "\n" + further);
    lines += list.substr(0, list.size() - further.size());  // nothing follows the last line break
  }
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
  if (parameter == assigned.end()) return;  // a part of a list that another one replaces
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
  std::ranges::sort(edits, std::ranges::greater{}, &Edit::begin);  // from behind: places before stay
  for (const Edit& edit : edits) text_.replace(edit.begin, edit.end - edit.begin, edit.by);
  read_text();
}

void PlatformText::replace_list(const std::string& key, const std::vector<std::string>& rows) {
  const std::vector<std::pair<std::string, int>> keys = config_.top_keys();
  const auto found = std::ranges::find(keys, key, &std::pair<std::string, int>::first);
  const std::string list = rows.empty() ? "" : fmt::format("{}:\n{}", key, fmt::join(rows, ""));
  if (found == keys.end()) {
    if (!rows.empty()) text_ += (text_.ends_with('\n') ? "\n" : "\n\n") + list;
  } else {
    // What stands before the next key, comments and blank lines included, is that key's.
    const auto next = std::next(found);
    std::size_t end = next == keys.end() ? text_.size() : offset_of(next->second, 1);
    const std::size_t begin = offset_of(found->second, 1);
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
