#include "calibrate/platform_text.h"

#include <fmt/format.h>

#include <algorithm>
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

PlatformText::PlatformText(std::filesystem::path path, std::span<const std::filesystem::path> config_folders)
    : path_(std::move(path)),
      config_folders_(config_folders.begin(), config_folders.end()),
      config_(models::platform_config(path_, config_folders)) {
  static_cast<void>(spec());
  text_ = content(path_);
}

std::vector<sim::Parameter> PlatformText::parameters() const {
  sim::Config config = config_;
  models::PlatformSpec::read(config, config_folders_);
  std::vector<sim::Parameter> parameters = config.parameters();
  std::erase_if(parameters, [this](const sim::Parameter& parameter) { return parameter.file != path_.string(); });
  return parameters;
}

std::string PlatformText::place(const sim::Parameter& parameter) {
  return fmt::format("{}:{}", parameter.file, parameter.line);
}

models::PlatformSpec PlatformText::spec(std::span<const std::string> assignments) const {
  sim::Config config = config_;
  for (const std::string& assignment : assignments) config.set(assignment);
  return models::PlatformSpec::read(config, config_folders_);
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

void PlatformText::replace(std::span<const Replacement> replacements) {
  std::vector<Edit> edits;
  for (const Replacement& replacement : replacements) {
    const std::vector<Edit> own = edits_of(replacement);
    edits.insert(edits.end(), own.begin(), own.end());
  }
  std::ranges::sort(edits, std::ranges::greater{}, &Edit::begin);  // from behind: places before stay
  for (const Edit& edit : edits) text_.replace(edit.begin, edit.end - edit.begin, edit.by);
  config_ = models::platform_config(text_, path_, config_folders_);
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
  config_ = models::platform_config(text_, path_, config_folders_);
}

}  // namespace c3sim::calibrate
