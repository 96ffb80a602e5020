#include "study/sweep/sweep_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "sim/config/config_text.h"

namespace c3sim::study {

namespace {

constexpr std::size_t most_values = 10'000;  // of one axis
constexpr double largest_whole = 0x1p53;     // that a double counts

// The unit that columns of a dimension have, as in every table of results, and what a base unit is in it.
struct Shown {
  sim::Dimension dimension;
  std::string_view suffix;  // of the key
  std::string_view unit;
  double per_base;
};
constexpr std::array<Shown, 10> shown_units{{{sim::Dimension::number, "", "", 1.0},
                                             {sim::Dimension::bytes, "", "B", 1.0},
                                             {sim::Dimension::bytes_per_second, "_GBps", "GB/s", 1e-9},
                                             {sim::Dimension::time, "_us", "us", 1e6},
                                             {sim::Dimension::frequency, "_MHz", "MHz", 1e-6},
                                             {sim::Dimension::power, "_W", "W", 1.0},
                                             {sim::Dimension::energy, "_J", "J", 1.0},
                                             {sim::Dimension::energy_per_byte, "_pJpB", "pJ/B", 1e12},
                                             {sim::Dimension::energy_per_flop, "_pJpflop", "pJ/flop", 1e12},
                                             {sim::Dimension::flops_per_second, "_TFLOPps", "TFLOP/s", 1e-12}}};

const Shown& shown_as(sim::Dimension dimension) {
  return *std::ranges::find(shown_units, dimension, &Shown::dimension);
}

// Without the last digits of what decimal fractions are in binary.
double to_digits(double number) { return std::stod(fmt::format("{:.12g}", number)); }

std::string number_text(double number, const WrittenNumber& like) {
  if (like.dimension == sim::Dimension::bytes) {
    const double unit = like.unit.empty() ? 1.0 : read_number("1 " + like.unit)->base;
    return sim::to_string(sim::Bytes(std::round(number * unit)));
  }
  const std::string digits = number == std::round(number) && std::abs(number) < 1e15 ? fmt::format("{:.0f}", number)
                                                                                     : fmt::format("{:.6g}", number);
  return like.unit.empty() ? digits : digits + ' ' + like.unit;
}

std::optional<WrittenNumber> read_end(sim::Section& section, std::string_view key) {
  const std::string text = section.text(key);
  std::optional<WrittenNumber> number = read_number(text);
  if (!number && section.is_sound(key)) section.fault(key, "'" + text + "' is no number with a unit, such as 48 GB/s");
  return number;
}

std::vector<std::string> stepped(sim::Section& section, const AxisRange& interval) {
  const std::optional<WrittenNumber> step = read_end(section, "step");
  if (!step) return {};
  if (step->dimension != interval.low.dimension || step->base <= 0.0) {
    section.fault("step", "a step is above 0 and of the dimension of both ends");
    return {};
  }
  const double unit = interval.low.unit.empty() ? 1.0 : read_number("1 " + interval.low.unit)->base;
  std::vector<std::string> values;
  const double count = std::floor((interval.high.base - interval.low.base) / step->base + 1e-9);
  for (double i = 0; i <= std::min(count, static_cast<double>(most_values)); ++i) {
    values.push_back(number_text(to_digits((interval.low.base + i * step->base) / unit), interval.low));
  }
  return values;
}

std::vector<std::string> multiplied(sim::Section& section, const AxisRange& interval) {
  const double factor = section.number("times", 0.0, 1e9);
  if (!(factor > 1.0) || interval.low.base <= 0.0) {
    if (section.is_sound("times")) section.fault("times", "a factor above 1, from a value above 0, is accepted");
    return {};
  }
  std::vector<std::string> values;
  const double unit = interval.low.base / interval.low.number;
  for (double value = interval.low.base; value <= interval.high.base * (1.0 + 1e-9) && values.size() <= most_values;
       value *= factor) {
    values.push_back(number_text(to_digits(value / unit), interval.low));
  }
  return values;
}

std::vector<std::string> divided(sim::Section& section, const AxisRange& interval) {
  const auto count = section.integer("steps", 2, most_values);
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(interval.at(static_cast<double>(i) / static_cast<double>(count - 1)));
  }
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// Whether an interval lies between the ends; why not is recorded.
bool enclose(sim::Section& section, const std::optional<WrittenNumber>& low, const std::optional<WrittenNumber>& high,
             bool logarithmic) {
  if (!low || !high) return false;
  if (low->dimension != high->dimension) {
    section.fault("to", "both ends are of one dimension");
  } else if (low->base >= high->base) {
    section.fault("to", "the upper end lies above the lower one");
  } else if (logarithmic && low->base <= 0.0) {
    section.fault("from", "a logarithmic scale begins above 0");
  } else {
    return true;
  }
  return false;
}

void read_interval(sim::Section& section, SweepAxis& axis) {
  AxisRange interval;
  const std::optional<WrittenNumber> low = read_end(section, "from");
  const std::optional<WrittenNumber> high = read_end(section, "to");
  using Scale = std::pair<std::string_view, bool>;
  constexpr std::array<Scale, 2> scales{{{"linear", false}, {"log", true}}};
  interval.logarithmic = section.choice<bool>("scale", scales, false);
  if (!enclose(section, low, high, interval.logarithmic)) {
    for (const char* const way : {"step", "times", "steps"}) {
      if (section.has(way)) section.text(way);  // known, and of no meaning without both ends
    }
    return;
  }
  interval.low = *low;
  interval.high = *high;
  std::vector<std::string> texts;
  const int ways = int{section.has("step")} + int{section.has("times")} + int{section.has("steps")};
  if (ways > 1) return section.fault("step", "one of step, times and steps is accepted");
  if (ways == 0) {
    axis.interval = interval;
    return;
  }
  if (section.has("step")) texts = stepped(section, interval);
  if (section.has("times")) texts = multiplied(section, interval);
  if (section.has("steps")) texts = divided(section, interval);
  for (std::string& text : texts) axis.values.push_back({text, {{axis.name, text}}});
}

AxisValue read_case(sim::Section section) {
  AxisValue value{section.text("name"), {}};
  if (!section.has("set")) return value;
  for (const std::string& text : section.texts("set")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      section.fault("set", "'" + text + "' is no assignment, which reads name=value");
      continue;
    }
    value.assignments.push_back({std::string(sim::trimmed(std::string_view(text).substr(0, equals))),
                                 std::string(sim::trimmed(std::string_view(text).substr(equals + 1)))});
  }
  return value;
}

void check_values(sim::Section& section, std::string_view key, const SweepAxis& axis) {
  if (axis.values.size() > most_values) {
    section.fault(key, fmt::format("more than {} values are too many for one axis", most_values));
  }
  std::set<std::string_view> labels;
  for (const AxisValue& value : axis.values) {
    if (!labels.insert(value.label).second) section.fault(key, "'" + value.label + "' is there twice");
  }
}

std::optional<sim::Dimension> dimension_of(const SweepAxis& axis) {
  if (axis.interval) return axis.interval->low.dimension;
  std::optional<sim::Dimension> common;
  for (const AxisValue& value : axis.values) {
    const std::optional<WrittenNumber> number = read_number(value.label);
    if (!number || (common && *common != number->dimension)) return {};
    common = number->dimension;
  }
  return common;
}

// What has cases is read by name.
SweepAxis read_cases(sim::Section& section) {
  SweepAxis axis;
  axis.name = section.name("name");
  for (const sim::Section& entry : section.list("cases")) axis.values.push_back(read_case(entry));
  check_values(section, "cases", axis);
  if (axis.values.empty()) section.fault("cases", "at least one case is needed");
  axis.dimension = dimension_of(axis);
  return axis;
}

}  // namespace

std::optional<WrittenNumber> read_number(std::string_view text) {
  text = sim::trimmed(text);
  for (const Shown& shown : shown_units) {
    const sim::ParsedQuantity parsed = sim::parse_quantity(text, shown.dimension);
    if (!parsed.ok()) continue;
    double number = 0.0;
    const char* const unit = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    const bool whole = shown.dimension == sim::Dimension::number && text.find_first_not_of("0123456789") == text.npos &&
                       number < largest_whole;
    return WrittenNumber{number,
                         std::string(sim::trimmed({unit, static_cast<std::size_t>(text.data() + text.size() - unit)})),
                         parsed.value, shown.dimension, whole};
  }
  return {};
}

std::string AxisRange::at(double u) const {
  const double unit = low.unit.empty() ? 1.0 : read_number("1 " + low.unit)->base;
  const double last = low.is_whole && high.is_whole && u < 1.0 ? 1.0 : 0.0;  // whole numbers all have the same chance
  const double from = low.base;
  const double to = high.base + (logarithmic ? 0.0 : last);
  double value = logarithmic ? from * std::pow(to / from, u) : from + u * (to - from);
  if (low.is_whole && high.is_whole) value = logarithmic ? std::round(value) : std::floor(value);
  return number_text(to_digits(value / unit), low);
}

AxisValue SweepAxis::at(double u) const {
  if (interval) {
    std::string text = interval->at(u);
    return {text, {{name, text}}};
  }
  const auto place = static_cast<std::size_t>(u * static_cast<double>(values.size()));
  return values[std::min(place, values.size() - 1)];
}

std::vector<AxisValue> SweepAxis::extremes() const {
  if (!interval) return values;
  return {at(0.0), at(1.0)};
}

Column SweepAxis::column() const {
  if (!dimension) return {name, name, ""};
  const Shown& shown = shown_as(*dimension);
  return {name + std::string(shown.suffix), name, std::string(shown.unit), 3};
}

Cell SweepAxis::cell(const AxisValue& value) const {
  if (!dimension) return value.label;
  const std::optional<WrittenNumber> number = read_number(value.label);
  if (number->is_whole || number->dimension == sim::Dimension::bytes) return static_cast<std::int64_t>(number->base);
  return to_digits(number->base * shown_as(*dimension).per_base);
}

SweepAxis read_axis(sim::Section section) {
  if (section.has("cases")) return read_cases(section);
  SweepAxis axis;
  axis.name = section.text("of");
  if (section.has("from") || section.has("to")) {
    read_interval(section, axis);
    check_values(section, "from", axis);
  } else {
    const char* const key = section.has("value") ? "value" : "values";
    for (const std::string& text : section.texts(key)) axis.values.push_back({text, {{axis.name, text}}});
    check_values(section, key, axis);
    if (axis.values.empty() && section.is_sound(key)) section.fault(key, "at least one value is needed");
  }
  axis.dimension = dimension_of(axis);
  return axis;
}

}  // namespace c3sim::study
