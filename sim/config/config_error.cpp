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

ConfigError::ConfigError(std::vector<Fault> faults) : std::runtime_error(lines(faults)), faults_(std::move(faults)) {}

}  // namespace c3sim::sim
