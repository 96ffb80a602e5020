// A map of a configuration, read key by key with the dimension and the limits that each value must have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/config/config_text.h"
#include "sim/config/config_tree.h"
#include "sim/config/nearest_name.h"
#include "sim/units.h"

namespace c3sim::sim {

struct ConfigLeaf;
struct ConfigReading;
enum class LeafRole;

// A view into a Config, which must outlive it. An accessor never throws for the user's faults: it records them for
// Config::finish() and returns something harmless (the low limit, the first option, an empty text or list, a section
// that answers everything likewise), so that one reading finds all faults. With a fallback a key may be absent.
class Section {
 public:
  bool has(std::string_view key);
  bool holds_section(std::string_view key) { return holds(key, ConfigNode::Kind::map); }  // rather than a value or list
  bool holds_list(std::string_view key) { return holds(key, ConfigNode::Kind::list); }
  std::vector<std::string> keys() const;  // in file order
  const std::string& path() const { return path_; }

  Section section(std::string_view key);
  std::vector<Section> list(std::string_view key);  // a list of maps

  // Rounded up to whole picoseconds.
  Time time(std::string_view key, Limits<Time> limits, std::optional<Time> fallback = {});
  // Of the dimension of its type: a size, a rate, a frequency, a power, an energy.
  template <class Q>
  Q quantity(std::string_view key, Limits<Q> limits, std::type_identity_t<std::optional<Q>> fallback = {}) {
    const std::optional<double> absent = fallback ? std::optional(fallback->value()) : std::nullopt;
    return Q(in_base_units(key, {limits.low.value(), limits.high.value()}, absent, dimension_of(limits.low)));
  }

  double number(std::string_view key, double low, double high, std::optional<double> fallback = {}) {
    return in_base_units(key, {low, high}, fallback, Dimension::number);
  }
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> fallback = {});
  bool flag(std::string_view key, std::optional<bool> fallback = {});  // true or false
  std::string text(std::string_view key, std::optional<std::string> fallback = {});
  std::string name(std::string_view key, std::optional<std::string> fallback = {});  // letters, digits, '_', '-'
  // One of the options by its name; there is at least one.
  template <class T>
  T choice(std::string_view key, std::span<const std::pair<std::string_view, T>> options,
           std::optional<T> fallback = {});
  // A list of such names, each once.
  template <class T>
  std::vector<T> choices(std::string_view key, std::span<const std::pair<std::string_view, T>> options);

  // Lists of values; every element lies within the limits.
  std::vector<double> numbers(std::string_view key, double low, double high);
  std::vector<int> integers(std::string_view key, int low, int high);
  std::vector<std::string> names(std::string_view key);
  // A text, or a list of them.
  std::vector<std::string> texts(std::string_view key);
  // A list of lists of equal length, such as a map of engines by source and destination.
  std::vector<std::vector<int>> integer_matrix(std::string_view key, int low, int high);

  // Records what a model finds wrong with a key, or, where that is absent, with the section.
  void fault(std::string_view key, std::string what);
  // The same with the place of the key's value; Fault::is_word.
  void fault_value(std::string_view key, std::string what, bool is_word);
  // The same for what is legal but may not be meant; see Config::warnings.
  void warn(std::string_view key, std::string what);
  // Whether nothing was found wrong with the key so far, so that what follows from its value may be blamed on others.
  bool is_sound(std::string_view key) const;

 private:
  friend class Config;
  Section() = default;
  Section(ConfigReading& reading, ConfigNode& node, std::string path, ConfigPosition position);

  bool holds(std::string_view key, ConfigNode::Kind kind);
  // Of a key or its value, or, where it is absent, of the section.
  ConfigPosition position_of(std::string_view key, bool of_value = false) const;
  // The entry of a key, which counts as known from now on; null where there is none.
  ConfigEntry* look_up(std::string_view key);
  // The same for reading it: the key counts as read, and its absence as a fault where it is required.
  ConfigEntry* entry(std::string_view key, bool required);
  std::optional<ConfigLeaf> leaf(std::string_view key, LeafRole role, bool required);
  // The index of the option; `absent` where the key is absent and may be.
  std::size_t choose(std::string_view key, const std::vector<std::string>& options, bool required, std::size_t absent);
  std::string label(std::string_view key, std::optional<std::string> fallback, bool is_identifier);
  template <class T>
  T number_of(std::string_view key, Limits<T> limits, std::optional<T> fallback, Dimension dimension);
  double in_base_units(std::string_view key, Limits<double> limits, std::optional<double> fallback,
                       Dimension dimension);

  ConfigReading* reading_ = nullptr;
  ConfigNode* node_ = nullptr;  // null for a section that is missing: it is silent
  std::string path_;
  ConfigPosition position_;  // of its key
};

template <class T>
T Section::choice(std::string_view key, std::span<const std::pair<std::string_view, T>> options,
                  std::optional<T> fallback) {
  std::vector<std::string> names;
  for (const auto& [option, value] : options) names.emplace_back(option);
  const std::size_t chosen = choose(key, names, !fallback.has_value(), options.size());
  return chosen == options.size() ? *fallback : options[chosen].second;
}

template <class T>
std::vector<T> Section::choices(std::string_view key, std::span<const std::pair<std::string_view, T>> options) {
  constexpr auto name_of = &std::pair<std::string_view, T>::first;
  std::vector<T> chosen;
  for (const std::string& name : names(key)) {
    const auto found = std::ranges::find(options, name, name_of);
    if (found == options.end()) {
      fault(key, "'" + name + "' is not known" + name_hint(name, options, name_of));
    } else if (std::ranges::count(chosen, found->second) > 0) {
      fault(key, "'" + name + "' is named twice");
    } else {
      chosen.push_back(found->second);
    }
  }
  return chosen;
}

}  // namespace c3sim::sim
