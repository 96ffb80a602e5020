#include "sim/config/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "sim/config/nearest_name.h"

namespace c3sim::sim {
namespace {

// A number in `name` is worth number * factor / divisor in base units. Both are exact doubles, so that at most one
// rounding follows that of the number itself.
struct Unit {
  std::string_view name;
  double factor;
  double divisor;
};

constexpr double kibi = 1024.0;
constexpr double mebi = kibi * kibi;
constexpr double gibi = mebi * kibi;
constexpr double tebi = gibi * kibi;

constexpr std::array byte_units{Unit{"B", 1, 1},      Unit{"KB", 1e3, 1},   Unit{"MB", 1e6, 1},
                                Unit{"GB", 1e9, 1},   Unit{"TB", 1e12, 1},  Unit{"KiB", kibi, 1},
                                Unit{"MiB", mebi, 1}, Unit{"GiB", gibi, 1}, Unit{"TiB", tebi, 1}};
constexpr std::array rate_units{Unit{"B/s", 1, 1},      Unit{"KB/s", 1e3, 1},   Unit{"MB/s", 1e6, 1},
                                Unit{"GB/s", 1e9, 1},   Unit{"TB/s", 1e12, 1},  Unit{"KiB/s", kibi, 1},
                                Unit{"MiB/s", mebi, 1}, Unit{"GiB/s", gibi, 1}, Unit{"TiB/s", tebi, 1}};
constexpr std::array time_units{Unit{"ps", 1, 1e12}, Unit{"ns", 1, 1e9}, Unit{"us", 1, 1e6}, Unit{"ms", 1, 1e3},
                                Unit{"s", 1, 1}};
constexpr std::array frequency_units{Unit{"Hz", 1, 1}, Unit{"kHz", 1e3, 1}, Unit{"MHz", 1e6, 1}, Unit{"GHz", 1e9, 1}};
constexpr std::array power_units{Unit{"mW", 1, 1e3}, Unit{"W", 1, 1}, Unit{"kW", 1e3, 1}};
constexpr std::array energy_units{Unit{"mJ", 1, 1e3}, Unit{"J", 1, 1}, Unit{"kJ", 1e3, 1}};
// Papers give the energy of a link per bit.
constexpr std::array energy_per_byte_units{Unit{"pJ/B", 1, 1e12}, Unit{"nJ/B", 1, 1e9}, Unit{"uJ/B", 1, 1e6},
                                           Unit{"mJ/B", 1, 1e3},  Unit{"J/B", 1, 1},    Unit{"pJ/bit", 8, 1e12}};
constexpr std::array energy_per_flop_units{Unit{"fJ/flop", 1, 1e15}, Unit{"pJ/flop", 1, 1e12}, Unit{"nJ/flop", 1, 1e9},
                                           Unit{"J/flop", 1, 1}};
constexpr std::array flop_rate_units{Unit{"flops/s", 1, 1},   Unit{"FLOP/s", 1, 1},    Unit{"KFLOP/s", 1e3, 1},
                                     Unit{"MFLOP/s", 1e6, 1}, Unit{"GFLOP/s", 1e9, 1}, Unit{"TFLOP/s", 1e12, 1},
                                     Unit{"PFLOP/s", 1e15, 1}};

struct Notation {
  Dimension dimension;
  std::string_view name;
  std::string_view examples;
  std::span<const Unit> units;
};

constexpr std::array notations{
    Notation{Dimension::number, "a number without a unit", "8 or 0.85", {}},
    Notation{Dimension::bytes, "a size", "896MiB, 1GB or 512B", byte_units},
    Notation{Dimension::bytes_per_second, "a rate", "48GB/s, 1.2TB/s or 64GiB/s", rate_units},
    Notation{Dimension::time, "a time", "2.2us, 450ns or 1ms", time_units},
    Notation{Dimension::frequency, "a frequency", "2100MHz or 1.3GHz", frequency_units},
    Notation{Dimension::power, "a power", "750W or 1.2kW", power_units},
    Notation{Dimension::energy, "an energy", "10.6J or 500mJ", energy_units},
    Notation{Dimension::energy_per_byte, "an energy per byte", "62pJ/B, 1.5nJ/B or 7pJ/bit", energy_per_byte_units},
    Notation{Dimension::energy_per_flop, "an energy per operation", "0.4pJ/flop or 400fJ/flop", energy_per_flop_units},
    Notation{Dimension::flops_per_second, "a rate of operations", "1307TFLOP/s or 81.7TFLOP/s", flop_rate_units},
};

const Notation& notation_of(Dimension dimension) {
  return *std::find_if(notations.begin(), notations.end(),
                       [&](const Notation& notation) { return notation.dimension == dimension; });
}

const Unit* find_unit(const Notation& notation, std::string_view name) {
  const auto unit =
      std::find_if(notation.units.begin(), notation.units.end(), [&](const Unit& u) { return u.name == name; });
  return unit == notation.units.end() ? nullptr : &*unit;
}

// What is wrong with a unit that `wanted` does not have.
std::string unit_error(std::string_view unit, const Notation& wanted) {
  for (const Notation& other : notations) {
    if (find_unit(other, unit) == nullptr) continue;
    return fmt::format("is {}, but {} is needed: write {}", other.name, wanted.name, wanted.examples);
  }
  std::vector<std::string> known;
  for (const Unit& candidate : wanted.units) known.emplace_back(candidate.name);
  return fmt::format("has an unknown unit '{}'{}", unit, name_hint(unit, known));
}

// A size written as number * factor, which must come out as a whole number: 4.35KB are 4350 bytes although the double
// next to 4.35 times 1000 is not. It is whole if dividing it again gives the number that was written.
ParsedQuantity whole_bytes(double number, double factor) {
  const double bytes = std::nearbyint(number * factor);
  if (!(bytes < 0x1p53)) return {0.0, "is too large: a size has less than 2^53 bytes"};
  if (bytes / factor != number) return {0.0, "is not a whole number of bytes"};
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
  if (digits.empty() || !(digits.front() == '.' || (digits.front() >= '0' && digits.front() <= '9'))) {
    return no_quantity();
  }
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
  const Unit* const known = find_unit(notation, unit);
  if (known == nullptr) return {0.0, unit_error(unit, notation)};
  return in_base_units(number, *known, dimension);
}

}  // namespace

ParsedQuantity parse_quantity(std::string_view text, Dimension dimension) {
  ParsedQuantity parsed = parse(text, dimension);
  if (!parsed.ok()) parsed.error = fmt::format("'{}' {}", text, parsed.error);
  return parsed;
}

std::optional<Dimension> dimension_of_unit(std::string_view unit) {
  const auto has_it = [&](const Notation& notation) { return find_unit(notation, unit) != nullptr; };
  const auto notation = std::ranges::find_if(notations, has_it);
  if (notation == notations.end()) return {};
  return notation->dimension;
}

std::string quantity_text(double value, Dimension dimension) {
  const Unit* best = nullptr;
  for (const Unit& unit : notation_of(dimension).units) {
    const double worth = unit.factor / unit.divisor;
    const bool decimal = std::abs(std::remainder(std::log10(worth), 3.0)) < 1e-9;
    if (decimal && (best == nullptr || (worth <= value && worth > best->factor / best->divisor))) best = &unit;
  }
  if (best == nullptr) return fmt::format("{:g}", value);
  if (value == 0.0) return fmt::format("0 {}", best->name);
  return fmt::format("{:g} {}", value / best->factor * best->divisor, best->name);
}

}  // namespace c3sim::sim
