#include "sim/config/config_error.h"

#include <algorithm>
#include <utility>

namespace c3sim::sim {
namespace {

std::string lines(const std::vector<Fault>& faults) {
  std::string text;
  const std::size_t shown = std::min(faults.size(), ConfigError::max_lines);
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i > 0 ? "\n" : "") + in_words(faults[i]);
  }
  if (shown < faults.size()) text += "\nand " + std::to_string(faults.size() - shown) + " more";
  return text;
}

}  // namespace

std::string in_words(const Fault& fault) {
  return fault.where + ": " + (fault.path.empty() ? "" : fault.path + ": ") + fault.what;
}

std::vector<std::string> by_cause(const std::vector<Fault>& faults) {
  std::vector<std::pair<const Fault*, std::size_t>> causes;  // the first fault of each, and how many more there are
  std::size_t rest = 0;
  for (const Fault& fault : faults) {
    const auto known = std::ranges::find_if(causes, [&fault](const auto& cause) {
      return cause.first->path == fault.path && cause.first->what == fault.what;
    });
    if (known != causes.end()) {
      ++known->second;
    } else if (causes.size() < ConfigError::max_lines) {
      causes.emplace_back(&fault, 0);
    } else {
      ++rest;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [fault, more] : causes) {
    lines.push_back(in_words(*fault) + (more == 0 ? "" : " (and " + std::to_string(more) + " more like it)"));
  }
  if (rest > 0) lines.push_back(std::to_string(rest) + " more are at fault");
  return lines;
}

ConfigError::ConfigError(std::vector<Fault> faults) : std::runtime_error(lines(faults)), faults_(std::move(faults)) {}

}  // namespace c3sim::sim
