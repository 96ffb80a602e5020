#include "study/sweep/sweep_axis.h"

#include <fmt/format.h>

#include <array>
#include <boost/random/sobol.hpp>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "sim/config/config_text.h"

namespace c3sim::study {

namespace {

constexpr std::size_t most_values = 10'000;  // on one axis
constexpr double largest_whole = 0x1p53;     // the largest count that a double holds exactly

// Units of columns by dimension, as in every table of results.
constexpr std::array<std::string_view, 10> shown_units{"",  "B", "GB/s", "us",      "MHz",
                                                       "W", "J", "pJ/B", "pJ/flop", "TFLOP/s"};
std::string_view shown_unit(sim::Dimension dimension) { return shown_units[static_cast<std::size_t>(dimension)]; }

// Rounds to 12 digits, which removes the error of decimal fractions in binary.
double to_digits(double number) { return std::stod(fmt::format("{:.12g}", number)); }

std::string number_text(double number, const WrittenNumber& like) {
  if (like.dimension == sim::Dimension::bytes) {
    return sim::to_string(sim::Bytes(std::round(number * like.unit_worth())));
  }
  const std::string digits = number == std::round(number) && std::abs(number) < 1e15 ? fmt::format("{:.0f}", number)
                                                                                     : fmt::format("{:.6g}", number);
  return like.unit.empty() ? digits : digits + ' ' + like.unit;
}

std::optional<WrittenNumber> read_end(sim::Section& section, std::string_view key) {
  const std::string text = section.text(key);
  std::optional<WrittenNumber> number = read_number(text);
  if (!number && section.is_sound(key)) section.fault(key, "'" + text + "' is no number, such as 304 or 48 GB/s");
  return number;
}

std::vector<std::string> stepped(sim::Section& section, const AxisRange& interval) {
  const std::optional<WrittenNumber> step = read_end(section, "step");
  if (!step) return {};
  if (step->dimension != interval.low.dimension || step->base <= 0.0) {
    section.fault("step", "has to be above 0 and of the same dimension as 'from' and 'to'");
    return {};
  }
  std::vector<std::string> values;
  const double count = std::floor((interval.high.base - interval.low.base) / step->base + 1e-9);
  for (double i = 0; i <= std::min(count, static_cast<double>(most_values)); ++i) {
    values.push_back(interval.text_of(interval.low.base + i * step->base));
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
  for (double value = interval.low.base; value <= interval.high.base * (1.0 + 1e-9) && values.size() <= most_values;
       value *= factor) {
    values.push_back(interval.text_of(value));
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

// Returns whether the ends make an interval; records a fault if not.
bool enclose(sim::Section& section, const std::optional<WrittenNumber>& low, const std::optional<WrittenNumber>& high,
             bool logarithmic) {
  if (!low || !high) return false;
  if (low->dimension != high->dimension) {
    section.fault("to", "has another dimension than 'from': two sizes, two rates or two plain numbers are accepted");
  } else if (low->base >= high->base) {
    section.fault("to", "has to lie above 'from'");
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
  interval.logarithmic = is_logarithmic(section, "scale");
  using Way = std::vector<std::string> (*)(sim::Section&, const AxisRange&);
  std::map<std::string_view, Way> ways{{"step", stepped}, {"times", multiplied}, {"steps", divided}};
  std::erase_if(ways, [&](const auto& way) { return !section.has(way.first); });
  if (!enclose(section, low, high, interval.logarithmic)) {
    for (const auto& [key, way] : ways) section.text(key);  // marks the key as known
    return;
  }
  interval.low = *low;
  interval.high = *high;
  if (ways.size() > 1) return section.fault("step", "one of step, times and steps is accepted");
  if (ways.empty()) axis.interval = interval;
  for (const auto& [key, way] : ways) {
    for (const std::string& text : way(section, interval)) axis.values.push_back({text, {{axis.name, text}}});
  }
}

constexpr auto factors = "a plain number from 0 to 1e6";
bool is_factor(const std::string& text) {
  const std::optional<WrittenNumber> number = read_number(text);
  return number && number->dimension == sim::Dimension::number && number->number >= 0.0 && number->number <= 1e6;
}

AxisValue read_case(sim::Section section) {
  AxisValue value{section.text("name"), {}};
  if (section.has("labels")) {
    sim::Section labels = section.section("labels");
    for (const std::string& key : labels.keys()) value.labels.emplace_back(key, labels.text(key));
  }
  if (!section.has("set")) return value;
  for (const std::string& text : section.texts("set")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      section.fault("set", "'" + text + "' is no assignment, which reads name=value");
      continue;
    }
    const bool scales = text[equals - 1] == '*';
    Assignment assignment{std::string(sim::trimmed(std::string_view(text).substr(0, equals - (scales ? 1 : 0)))),
                          std::string(sim::trimmed(std::string_view(text).substr(equals + 1))), scales};
    if (assignment.name.empty() || (scales && !is_factor(assignment.value))) {
      section.fault("set", fmt::format("'{}' is no scale: PARAMETER *= FACTOR with {} is accepted", text, factors));
      continue;
    }
    value.assignments.push_back(std::move(assignment));
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

// Reads {of: PARAMETER, times: [1, 0.5]}, or a list of parameters with a `name`.
SweepAxis read_scales(sim::Section& section) {
  SweepAxis axis;
  const std::vector<std::string> parameters = section.texts("of");
  if (section.has("name") || parameters.size() > 1) {
    axis.name = section.name("name");
  } else if (!parameters.empty()) {
    axis.name = parameters.front();
  }
  if (parameters.empty() && section.is_sound("of")) section.fault("of", "at least one parameter is needed");
  for (const std::string& factor : section.texts("times")) {
    if (!is_factor(factor)) {
      section.fault("times", fmt::format("'{}' is no factor: {} is accepted", factor, factors));
      continue;
    }
    AxisValue& value = axis.values.emplace_back(AxisValue{factor, {}});
    if (read_number(factor)->number == 1.0) continue;  // a factor of 1 leaves the machine as it is
    for (const std::string& parameter : parameters) value.assignments.push_back({parameter, factor, true});
  }
  if (axis.values.empty() && section.is_sound("times")) section.fault("times", "at least one factor is needed");
  check_values(section, "times", axis);
  return axis;
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

void add_label_column(const std::string& key, std::vector<Column>& columns) {
  if (std::ranges::count(columns, key, &Column::key) > 0) return;
  std::string heading = key;
  std::ranges::replace(heading, '_', ' ');
  columns.push_back({key, std::move(heading), ""});
}

// Reads an axis with `cases`, which has a name of its own.
SweepAxis read_cases(sim::Section& section) {
  SweepAxis axis;
  axis.name = section.name("name");
  for (const sim::Section& entry : section.list("cases")) {
    axis.values.push_back(read_case(entry));
    for (const auto& [key, label] : axis.values.back().labels) add_label_column(key, axis.label_columns);
  }
  check_values(section, "cases", axis);
  if (axis.values.empty()) section.fault("cases", "at least one case is needed");
  return axis;
}

// Reads an axis with a list of values or an interval.
SweepAxis read_values(sim::Section& section) {
  SweepAxis axis;
  axis.name = section.text("of");
  if (section.has("from") || section.has("to")) {
    read_interval(section, axis);
    check_values(section, "from", axis);
    return axis;
  }
  const char* const key = section.has("value") ? "value" : "values";
  for (const std::string& text : section.texts(key)) axis.values.push_back({text, {{axis.name, text}}});
  check_values(section, key, axis);
  if (axis.values.empty() && section.is_sound(key)) section.fault(key, "at least one value is needed");
  return axis;
}

}  // namespace

bool is_logarithmic(sim::Section& section, std::string_view key) {
  constexpr std::array<std::pair<std::string_view, bool>, 2> scales{{{"linear", false}, {"log", true}}};
  return section.choice<bool>(key, scales, false);
}

double WrittenNumber::unit_worth() const { return unit.empty() ? 1.0 : sim::worth_of(unit); }

std::optional<WrittenNumber> read_number(std::string_view text) {
  text = sim::trimmed(text);
  WrittenNumber read;
  const char* const end = text.data() + text.size();
  const char* const unit = std::from_chars(text.data(), end, read.number).ptr;
  read.unit = sim::trimmed({unit, static_cast<std::size_t>(end - unit)});
  if (const sim::Unit* const known = sim::unit_of(read.unit)) read.dimension = known->dimension;
  const sim::ParsedQuantity parsed = sim::parse_quantity(text, read.dimension);
  if (!parsed.ok()) return {};
  read.base = parsed.value;
  read.is_whole = read.dimension == sim::Dimension::number && text.find_first_not_of("0123456789") == text.npos &&
                  read.number < largest_whole;
  return read;
}

std::optional<std::string> scaled_text(std::string_view text, double factor) {
  const std::optional<WrittenNumber> number = read_number(text);
  if (!number) return {};
  if (number->dimension == sim::Dimension::bytes) return fmt::format("{:.0f} B", std::round(number->base * factor));
  std::string digits = fmt::format("{:.12g}", number->number * factor);
  std::erase(digits, '+');  // the sign of an exponent
  return number->unit.empty() ? digits : digits + ' ' + number->unit;
}

std::string AxisRange::text_of(double base) const { return number_text(to_digits(base / low.unit_worth()), low); }

std::string AxisRange::at(double u) const {
  const double last = low.is_whole && high.is_whole && u < 1.0 ? 1.0 : 0.0;  // gives all whole numbers the same chance
  const double from = low.base;
  const double to = high.base + (logarithmic ? 0.0 : last);
  double value = logarithmic ? from * std::pow(to / from, u) : from + u * (to - from);
  if (low.is_whole && high.is_whole) value = logarithmic ? std::round(value) : std::floor(value);
  return text_of(value);
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
  if (scales()) return {name, name + ", times today", "", 3};
  const std::string unit(shown_unit(*dimension));
  if (*dimension == sim::Dimension::number || *dimension == sim::Dimension::bytes) return {name, name, unit, 3};
  std::string suffix = unit;  // "GBps" of "GB/s"
  std::ranges::replace(suffix, '/', 'p');
  return {name + '_' + suffix, name, unit, 3};
}

bool SweepAxis::scales() const {
  const auto is_factor_of_today = [](const AxisValue& value) {
    return std::ranges::any_of(value.assignments, &Assignment::scales);
  };
  return dimension && std::ranges::any_of(values, is_factor_of_today);
}

Cell SweepAxis::cell(const AxisValue& value) const {
  if (!dimension) return value.label;
  const std::optional<WrittenNumber> number = read_number(value.label);
  if (number->is_whole || number->dimension == sim::Dimension::bytes) return static_cast<std::int64_t>(number->base);
  const sim::Unit* const shown = sim::unit_of(shown_unit(*dimension));
  return to_digits(shown == nullptr ? number->base : number->base * (shown->divisor / shown->factor));
}

std::vector<Cell> SweepAxis::label_cells(const AxisValue& value) const {
  std::vector<Cell> cells;
  for (const Column& column : label_columns) {
    const auto own = std::ranges::find(value.labels, column.key, &std::pair<std::string, std::string>::first);
    cells.push_back(own == value.labels.end() ? Cell() : Cell(own->second));
  }
  return cells;
}

SweepAxis read_axis(sim::Section section) {
  const bool scales = section.has("times") && !section.has("from") && !section.has("to");
  SweepAxis axis = section.has("cases") ? read_cases(section) : scales ? read_scales(section) : read_values(section);
  axis.dimension = dimension_of(axis);
  return axis;
}

std::optional<std::uint64_t> read_sampling(sim::Section section) {
  const bool is_grid = section.choice<Method>("method", sim::choices_of<Method>()) == Method::grid;
  if (is_grid) return {};
  return static_cast<std::uint64_t>(section.integer("points", 1, 1'000'000'000'000));
}

std::uint64_t PointSequence::size() const {
  if (drawn_) return *drawn_;
  std::uint64_t count = 1;
  for (const SweepAxis& axis : axes_) {
    if (__builtin_mul_overflow(count, axis.values.size(), &count)) return too_many;
  }
  return count;
}

Point PointSequence::point(std::uint64_t index) const {
  Point point{index, std::vector<AxisValue>(axes_.size())};
  if (drawn_) {
    boost::random::sobol sequence(axes_.size());
    sequence.seed(index);
    constexpr double unit = 0x1p-53;  // of the upper 53 bits of a number
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      point.values[a] = axes_[a].at(static_cast<double>(sequence() >> 11) * unit);
    }
    return point;
  }
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const std::size_t count = axes_[a].values.size();
    point.values[a] = axes_[a].values[index % count];
    index /= count;
  }
  return point;
}

}  // namespace c3sim::study
