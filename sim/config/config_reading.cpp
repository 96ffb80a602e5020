#include "sim/config/config_reading.h"

#include <algorithm>
#include <utility>

#include "sim/config/nearest_name.h"

namespace c3sim::sim {
namespace {

void check_keys(ConfigReading& reading, const ConfigNode& node, const std::string& path) {
  for (std::size_t i = 0; i < node.items.size(); ++i) check_keys(reading, node.items[i], path_of(path, i));
  if (!node.entered) return;
  for (const ConfigEntry& entry : node.entries) {
    if (entry.read && !entry.node.entered && entry.node.items.empty()) continue;
    const std::string entry_path = path_of(path, entry.key);
    if (entry.read) {
      check_keys(reading, entry.node, entry_path);
    } else {
      // What was only asked about is known, but not here: another key of the section rules it out.
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

}  // namespace c3sim::sim
