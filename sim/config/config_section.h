// A Section is a map of a configuration that is read key by key, with the dimension and limits that each value needs.
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

// A Section is a view into a Config, which must outlive it. An accessor never throws for the user's faults: it records
// them for Config::finish() and returns something harmless (the low limit, the first option, an empty text or list, a
// section that does the same), so that one reading finds all faults. A key with a fallback may be absent.
class Section {
 public:
  bool has(std::string_view key) { return look_up(key) != nullptr; }
  bool holds_section(std::string_view key) { return holds(key, ConfigNode::Kind::map); }  // not a value or a list
  bool holds_list(std::string_view key) { return holds(key, ConfigNode::Kind::list); }
  std::vector<std::string> keys() const;  // in file order
  const std::string& path() const { return path_; }

  Section section(std::string_view key);
  std::vector<Section> list(std::string_view key);  // a list of maps

  // Returns a time, rounded up to whole picoseconds.
  Time time(std::string_view key, Limits<Time> limits, std::optional<Time> fallback = {}) {
    return number_of(key, limits, fallback, Dimension::time);
  }
  // Returns a value of the dimension of Q: a size, a rate, a frequency, a power or an energy.
  template <class Q>
  Q quantity(std::string_view key, Limits<Q> limits, std::type_identity_t<std::optional<Q>> fallback = {}) {
    const std::optional<double> absent = fallback ? std::optional(fallback->value()) : std::nullopt;
    const Limits<double> in_base_units{limits.low.value(), limits.high.value()};
    return Q(number_of(key, in_base_units, absent, dimension_of(limits.low)));
  }

  double number(std::string_view key, double low, double high, std::optional<double> fallback = {}) {
    return number_of(key, Limits<double>{low, high}, fallback, Dimension::number);
  }
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> fallback = {}) {
    return number_of(key, Limits<std::int64_t>{low, high}, fallback, Dimension::number);
  }
  bool flag(std::string_view key, std::optional<bool> fallback = {});  // true or false
  std::string text(std::string_view key, std::optional<std::string> fallback = {}) {
    return label(key, std::move(fallback), false);
  }
  // Returns a text of letters, digits, '_' and '-'.
  std::string name(std::string_view key, std::optional<std::string> fallback = {}) {
    return label(key, std::move(fallback), true);
  }
  // Returns the option that the key names; `options` must not be empty.
  template <class T>
  T choice(std::string_view key, std::span<const std::pair<std::string_view, T>> options,
           std::optional<T> fallback = {});
  // Returns the options that a list names, each once.
  template <class T>
  std::vector<T> choices(std::string_view key, std::span<const std::pair<std::string_view, T>> options);

  // Return a list of values, each within the limits.
  std::vector<double> numbers(std::string_view key, double low, double high);
  std::vector<int> integers(std::string_view key, int low, int high);
  std::vector<std::string> names(std::string_view key);
  // Return a list of texts, which may be written as a single text; with the place of each, as faults name it.
  std::vector<std::string> texts(std::string_view key);
  std::vector<PlacedText> placed_texts(std::string_view key);
  // Returns a list of lists of equal length, such as a map of engines by source and destination.
  std::vector<std::vector<int>> integer_matrix(std::string_view key, int low, int high);

  // Records what a model finds wrong with a key, or with the section if the key is absent.
  void fault(std::string_view key, std::string what);
  // Records a fault at the key's value instead of the key and sets Fault::is_word to `is_word`.
  void fault_value(std::string_view key, std::string what, bool is_word);
  // Records a warning about a value that is legal but may not be meant; see Config::warnings.
  void warn(std::string_view key, std::string what);
  // Returns whether the key has no fault so far; if it has, a fault that follows from its value need not be recorded.
  bool is_sound(std::string_view key) const;

 private:
  friend class Config;
  Section() = default;
  Section(ConfigReading& reading, ConfigNode& node, std::string path, ConfigPosition position);

  bool holds(std::string_view key, ConfigNode::Kind kind);
  // Returns the position of a key or of its value, or of the section if the key is absent.
  ConfigPosition position_of(std::string_view key, bool of_value = false) const;
  // Returns the entry of a key, or null, and notes the key as a known one.
  ConfigEntry* look_up(std::string_view key);
  // Returns the entry as look_up() does and marks it as read; records a fault if it is required and absent.
  ConfigEntry* entry(std::string_view key, bool required);
  std::optional<ConfigLeaf> leaf(std::string_view key, LeafRole role, bool required);
  // Returns the index of the option that the key names, or else 0 if the key is required and `absent` if it is not.
  std::size_t choose(std::string_view key, const std::vector<std::string>& options, bool required, std::size_t absent);
  std::string label(std::string_view key, std::optional<std::string> fallback, bool is_identifier);
  // Returns a time, a whole number or a number in base units.
  template <class T>
  T number_of(std::string_view key, Limits<T> limits, std::optional<T> fallback, Dimension dimension);

  ConfigReading* reading_ = nullptr;
  ConfigNode* node_ = nullptr;  // null for a missing section, which records no faults
  std::string path_;
  ConfigPosition position_;  // position of its key
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
