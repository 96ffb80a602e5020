#include "calibrate/platform_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

// Where the value of a key of a flow map begins and ends in the text; an empty range where there is none. Quotes and
// brackets keep what they hold together.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};
Range flow_value(std::string_view line, std::string_view key) {
  char quote = '\0';
  int depth = 0;
  std::size_t begin = std::string_view::npos;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != '\0') {
      if (c == '\\' && quote == '"') ++at;
      if (c == quote) quote = '\0';
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    const bool ends = depth == 1 && (c == ',' || c == '}');
    if (ends && begin != std::string_view::npos) return {begin, at};
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth != 1 || (c != '{' && c != ',')) continue;
    const std::size_t name = std::min(line.find_first_not_of(' ', at + 1), line.size());
    if (line.substr(name).starts_with(std::string(key) + ": ")) begin = name + key.size() + 2;
  }
  return {};
}

}  // namespace

SpelledNumber split_unit(std::string_view text) {
  SpelledNumber spelled;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), spelled.number);
  SIM_CHECK(error == std::errc());
  spelled.unit = sim::trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  return spelled;
}

std::string spell(double number, std::string_view unit) {
  const double rounded = std::strtod(fmt::format("{:.2e}", number).c_str(), nullptr);
  return fmt::format("{}{}{}", rounded, unit.empty() ? "" : " ", unit);
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

void PlatformText::replace(std::span<const Replacement> replacements) {
  for (const Replacement& replacement : replacements) write(replacement);
  config_ = models::platform_config(text_, path_, config_folders_);
}

void PlatformText::write(const Replacement& replacement) {
  const sim::Parameter& parameter = replacement.parameter;
  std::size_t begin = 0;
  for (int line = 1; line < parameter.line; ++line) begin = text_.find('\n', begin) + 1;
  const std::size_t length = std::min(text_.find('\n', begin), text_.size()) - begin;
  std::string line = text_.substr(begin, length);
  const auto put = [&](std::string_view key, const std::string& value) {
    const Range range = flow_value(line, key);
    if (range.end == 0) {
      throw sim::ConfigError({{place(parameter), parameter.path,
                               "a parameter that is fitted stands on one line, as {value: ..., source: ..., ...}"}});
    }
    line.replace(range.begin, range.end - range.begin, value);
  };
  put("value", replacement.value);
  put("source", fmt::format("\"{}\"", replacement.source));
  text_.replace(begin, length, line);
}

}  // namespace c3sim::calibrate
