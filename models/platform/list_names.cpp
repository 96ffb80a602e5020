#include "models/platform/list_names.h"

#include <algorithm>
#include <functional>

namespace c3sim::models {

ListNames::ListNames(std::span<const sim::Parameter* const> parameters) {
  constexpr std::string_view end = "].name";
  for (const sim::Parameter* const parameter : parameters) {
    if (!parameter->path.ends_with(end)) continue;
    const std::size_t bracket = parameter->path.rfind('[');
    std::vector<std::string>& rows = names_[parameter->path.substr(0, bracket)];
    // Parameters come in the order of the tree, so that rows do.
    if (parameter->path == parameter->path.substr(0, bracket) + "[" + std::to_string(rows.size()) + std::string(end)) {
      rows.push_back(parameter->value);
    }
  }
}

std::string ListNames::respelled(std::string_view path, bool named) const {
  std::string placed;  // what is done of the path, by places
  std::string spelled;
  while (!path.empty()) {
    const std::size_t open = std::min(path.find('['), path.size());
    placed += path.substr(0, open);
    spelled += path.substr(0, open);
    path.remove_prefix(open);
    const std::size_t close = path.find(']');
    if (close == std::string_view::npos) break;
    std::string word(path.substr(1, close - 1));
    std::string place = word;
    path.remove_prefix(close + 1);
    if (const auto list = names_.find(placed); list != names_.end()) {
      const std::vector<std::string>& rows = list->second;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool is_meant = rows[i] == word || std::to_string(i) == word;
        if (!is_meant || std::ranges::count(rows, rows[i]) > 1) continue;
        place = std::to_string(i);
        word = rows[i];
        break;
      }
    }
    placed += "[" + place + "]";
    spelled += "[" + word + "]";
  }
  return (named ? spelled : placed) + std::string(path);
}

}  // namespace c3sim::models
