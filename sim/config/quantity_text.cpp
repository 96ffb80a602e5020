#include "sim/config/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sim/config/nearest_name.h"

namespace c3sim::sim {
namespace {

constexpr std::array all_notations{
    Notation{Dimension::number, "a number without a unit", "8 or 0.85", "", {0, 0, 0, 0}},
    Notation{Dimension::bytes, "a size", "896MiB, 1GB or 512B", "B", {1, 0, 0, 0}},
    Notation{Dimension::bytes_per_second, "a rate", "48GB/s, 1.2TB/s or 64GiB/s", "B/s", {1, -1, 0, 0}},
    Notation{Dimension::time, "a time", "2.2us, 450ns or 1ms", "s", {0, 1, 0, 0}},
    Notation{Dimension::frequency, "a frequency", "2100MHz or 1.3GHz", "Hz", {0, -1, 0, 0}},
    Notation{Dimension::power, "a power", "750W or 1.2kW", "W", {0, -1, 1, 0}},
    Notation{Dimension::energy, "an energy", "10.6J or 500mJ", "J", {0, 0, 1, 0}},
    Notation{Dimension::energy_per_byte, "an energy per byte", "62pJ/B, 1.5nJ/B or 7pJ/bit", "J/B", {-1, 0, 1, 0}},
    Notation{
        Dimension::energy_per_flop, "an energy per operation", "0.4pJ/flop or 400fJ/flop", "J/flop", {0, 0, 1, -1}},
    Notation{
        Dimension::flops_per_second, "a rate of operations", "1307TFLOP/s or 81.7TFLOP/s", "FLOP/s", {0, -1, 0, 1}},
};

// What is wrong with a unit that `wanted` does not have.
std::string unit_error(std::string_view name, const Notation& wanted) {
  if (const Unit* const other = unit_of(name)) {
    return fmt::format("is {}, but {} is needed: write {}", notation_of(other->dimension).name, wanted.name,
                       wanted.examples);
  }
  return fmt::format("has an unknown unit '{}'{}", name, name_hint(name, units_of(wanted.dimension), &Unit::name));
}

// A size written as number * factor: the nearest whole number of bytes. There is no part of a byte, but tables round
// their sizes, as in 33.9KiB.
ParsedQuantity whole_bytes(double number, double factor) {
  const double bytes = std::nearbyint(number * factor);
  if (!(bytes < 0x1p53)) return {0.0, "is too large: a size has less than 2^53 bytes"};
  if (factor == 1.0 && bytes != number) return {0.0, "is not a whole number of bytes"};
  return {bytes, {}};
}

ParsedQuantity in_base_units(double number, const Unit& unit, Dimension dimension) {
  if (dimension == Dimension::bytes) return whole_bytes(number, unit.factor);
  const double value = number * unit.factor / unit.divisor;
  if (!std::isfinite(value)) return {0.0, "is too large"};
  if (dimension == Dimension::time && value >= to_seconds(Time::max()).value()) {
    return {0.0, "is too large: simulated time ends after 106 days"};
  }
  return {value, {}};
}

ParsedQuantity parse(std::string_view text, Dimension dimension) {
  const Notation& notation = notation_of(dimension);
  const auto no_quantity = [&notation] {
    return ParsedQuantity{0.0, fmt::format("is not {}: write {}", notation.name, notation.examples)};
  };

  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  // std::from_chars would also read a second sign, "inf" and "nan".
  if (digits.empty() || (digits.front() != '.' && !is_digit(digits.front()))) return no_quantity();
  double number = 0.0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (fault == std::errc::invalid_argument) return no_quantity();
  if (fault == std::errc::result_out_of_range) return {0.0, "is out of range"};
  if (negative) return {0.0, fmt::format("is negative: write {}", notation.examples)};

  std::string_view unit = digits.substr(static_cast<std::size_t>(end - digits.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (dimension == Dimension::number) {
    if (!unit.empty()) return no_quantity();
    return {number, {}};
  }
  if (unit.empty()) return {0.0, fmt::format("needs a unit: write {}", notation.examples)};
  const Unit* const known = unit_of(unit);
  if (known == nullptr || known->dimension != dimension) return {0.0, unit_error(unit, notation)};
  return in_base_units(number, *known, dimension);
}

}  // namespace

std::span<const Notation> notations() { return all_notations; }

const Notation& notation_of(Dimension dimension) {
  return *std::ranges::find(all_notations, dimension, &Notation::dimension);
}

ParsedQuantity parse_quantity(std::string_view text, Dimension dimension) {
  ParsedQuantity parsed = parse(text, dimension);
  if (!parsed.ok()) parsed.error = fmt::format("'{}' {}", text, parsed.error);
  return parsed;
}

std::string quantity_text(double value, Dimension dimension) {
  const Unit* best = nullptr;
  for (const Unit& unit : units_of(dimension)) {
    const bool decimal = std::abs(std::remainder(std::log10(unit.worth()), 3.0)) < 1e-9;
    if (decimal && (best == nullptr || (unit.worth() <= value && unit.worth() > best->worth()))) best = &unit;
  }
  if (best == nullptr) return fmt::format("{:g}", value);
  if (value == 0.0) return fmt::format("0 {}", best->name);
  return fmt::format("{:g} {}", value / best->factor * best->divisor, best->name);
}

}  // namespace c3sim::sim
