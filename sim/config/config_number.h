// Numbers of a configuration: how those of one dimension are spelled, and whether they lie within limits and range.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "sim/config/config_leaf.h"
#include "sim/config/config_text.h"
#include "sim/config/quantity_text.h"

namespace c3sim::sim {

template <class T>
struct NumberForm {
  std::string_view unit;  // for listings
  std::function<Parsed<T>(std::string_view)> parse;
  std::function<std::string(T)> format;  // of limits, in messages
};

// Reads the numbers of one leaf and records what is wrong with them.
template <class T>
class NumberReader {
 public:
  NumberReader(ConfigReading& reading, const ConfigLeaf& leaf, Limits<T> limits, const NumberForm<T>& form)
      : reading_(reading), leaf_(leaf), limits_(limits), form_(form) {
    read_range();
    read_error();
  }

  // The number that a scalar spells, if it is one within the limits and the leaf's range.
  std::optional<T> read(const ConfigNode& node) {
    const std::optional<T> number = read_within(node, "");
    if (!number || !range_ || (range_->low <= *number && *number <= range_->high)) return number;
    const std::string outside =
        "'" + node.text + "' lies outside its range [" + leaf_.low->text + ", " + leaf_.high->text + "]";
    if (leaf_.parameter.kind == "what_if") {
      reading_.warn(node.position, leaf_.parameter.path, outside);
      return number;
    }
    fault(node, outside);
    return std::nullopt;
  }

  // Nothing was recorded so far.
  bool ok() const { return ok_; }

  void fault(const ConfigNode& node, std::string what) {
    reading_.fault(node.position, leaf_.parameter.path, std::move(what));
    ok_ = false;
  }

 private:
  void read_range() {
    if (leaf_.low == nullptr) return;
    const std::optional<T> low = read_within(*leaf_.low, "low end of the range: ");
    const std::optional<T> high = read_within(*leaf_.high, "high end of the range: ");
    if (!low || !high) return;
    if (*low > *high) return fault(*leaf_.low, "the range ends below its beginning");
    range_ = Limits<T>{*low, *high};
  }

  void read_error() {
    if (leaf_.error == nullptr) return;
    if (leaf_.error->kind != ConfigNode::Kind::scalar) {
      return fault(*leaf_.error, "error: a single number is due here");
    }
    if constexpr (std::is_integral_v<T>) return fault(*leaf_.error, "a whole number has no error");
    const Parsed<T> parsed = form_.parse(trimmed(leaf_.error->text));
    if (!parsed.error.empty()) return fault(*leaf_.error, "error: " + parsed.error);
    if (parsed.value <= T{}) fault(*leaf_.error, "error: '" + leaf_.error->text + "' must be above 0");
  }

  std::optional<T> read_within(const ConfigNode& node, const std::string& role) {
    if (node.kind != ConfigNode::Kind::scalar) {
      fault(node, role + "a single number is due here");
      return std::nullopt;
    }
    const Parsed<T> parsed = form_.parse(trimmed(node.text));
    if (!parsed.error.empty()) {
      fault(node, role + parsed.error);
      return std::nullopt;
    }
    if (limits_.low <= parsed.value && parsed.value <= limits_.high) return parsed.value;
    const std::string accepted =
        limits_.low == limits_.high ? "be " + form_.format(limits_.low)
                                    : "lie between " + form_.format(limits_.low) + " and " + form_.format(limits_.high);
    fault(node, role + "'" + node.text + "' must " + accepted);
    return std::nullopt;
  }

  ConfigReading& reading_;
  const ConfigLeaf& leaf_;
  Limits<T> limits_;
  const NumberForm<T>& form_;
  std::optional<Limits<T>> range_;
  bool ok_ = true;
};

}  // namespace c3sim::sim
