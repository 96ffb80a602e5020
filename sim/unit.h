// This file is the project's only table of units: it lists each unit with its dimension and its value in base units.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace c3sim::sim {

// A Dimension is what a text can be required to measure.
enum class Dimension {
  number,
  bytes,
  bytes_per_second,
  time,
  frequency,
  power,
  energy,
  energy_per_byte,
  energy_per_flop,
  flops_per_second
};

// A number in unit `name` is number * factor / divisor in base units: bytes, seconds, joules, flops and combinations of
// them. Both factors are exact doubles, so that the conversion rounds at most once.
struct Unit {
  std::string_view name;
  Dimension dimension;
  double factor = 1.0;
  double divisor = 1.0;

  constexpr double worth() const { return factor / divisor; }
};

// Lists all units by dimension, in the order in which messages list them. All names differ.
inline constexpr std::array all_units = [] {
  using enum Dimension;
  return std::array{
      Unit{"B", bytes}, Unit{"KB", bytes, 1e3}, Unit{"MB", bytes, 1e6}, Unit{"GB", bytes, 1e9}, Unit{"TB", bytes, 1e12},
      Unit{"KiB", bytes, 0x1p10}, Unit{"MiB", bytes, 0x1p20}, Unit{"GiB", bytes, 0x1p30}, Unit{"TiB", bytes, 0x1p40},
      Unit{"B/s", bytes_per_second}, Unit{"KB/s", bytes_per_second, 1e3}, Unit{"MB/s", bytes_per_second, 1e6},
      Unit{"GB/s", bytes_per_second, 1e9}, Unit{"TB/s", bytes_per_second, 1e12},
      Unit{"KiB/s", bytes_per_second, 0x1p10}, Unit{"MiB/s", bytes_per_second, 0x1p20},
      Unit{"GiB/s", bytes_per_second, 0x1p30}, Unit{"TiB/s", bytes_per_second, 0x1p40}, Unit{"ps", time, 1, 1e12},
      Unit{"ns", time, 1, 1e9}, Unit{"us", time, 1, 1e6}, Unit{"ms", time, 1, 1e3}, Unit{"s", time},
      Unit{"Hz", frequency}, Unit{"kHz", frequency, 1e3}, Unit{"MHz", frequency, 1e6}, Unit{"GHz", frequency, 1e9},
      Unit{"mW", power, 1, 1e3}, Unit{"W", power}, Unit{"kW", power, 1e3}, Unit{"mJ", energy, 1, 1e3},
      Unit{"J", energy}, Unit{"kJ", energy, 1e3}, Unit{"pJ/B", energy_per_byte, 1, 1e12},
      Unit{"nJ/B", energy_per_byte, 1, 1e9}, Unit{"uJ/B", energy_per_byte, 1, 1e6},
      Unit{"mJ/B", energy_per_byte, 1, 1e3}, Unit{"J/B", energy_per_byte},
      // Papers give the energy of a link per bit.
      Unit{"pJ/bit", energy_per_byte, 8, 1e12}, Unit{"fJ/flop", energy_per_flop, 1, 1e15},
      Unit{"pJ/flop", energy_per_flop, 1, 1e12}, Unit{"nJ/flop", energy_per_flop, 1, 1e9},
      Unit{"J/flop", energy_per_flop}, Unit{"flops/s", flops_per_second}, Unit{"FLOP/s", flops_per_second},
      Unit{"KFLOP/s", flops_per_second, 1e3}, Unit{"MFLOP/s", flops_per_second, 1e6},
      Unit{"GFLOP/s", flops_per_second, 1e9}, Unit{"TFLOP/s", flops_per_second, 1e12},
      Unit{"PFLOP/s", flops_per_second, 1e15}};
}();

// Returns the unit with that name, or null if there is none.
constexpr const Unit* unit_of(std::string_view name) {
  for (const Unit& unit : all_units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// Returns the value of one `name` in base units. The unit must exist.
constexpr double worth_of(std::string_view name) { return unit_of(name)->worth(); }

constexpr std::span<const Unit> units_of(Dimension dimension) {
  const auto of_dimension = [dimension](const Unit& unit) { return unit.dimension == dimension; };
  const auto first = std::find_if(all_units.begin(), all_units.end(), of_dimension);
  return {first, std::find_if_not(first, all_units.end(), of_dimension)};
}

// Holds KiB, MiB, GiB and TiB.
inline constexpr std::span<const Unit> binary_units = units_of(Dimension::bytes).last(4);

}  // namespace c3sim::sim
