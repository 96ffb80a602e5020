// Defines quantities with a dimension, simulated time and the project's only table of units. Only
// sim/config/config_text.h converts texts to quantities.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
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

// Time is simulated time as a whole number of picoseconds, which lasts for 107 days.
using Time = std::chrono::duration<std::int64_t, std::pico>;

// A Quantity is a real number of bytes^B * flops^F * joules^J * seconds^T. Quantities of one dimension can be added.
// Products and quotients have the right dimension; a dimensionless result is a plain double.
template <int B, int F, int J, int T>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}
  // Returns the magnitude in base units: bytes, flops, joules, seconds and their products.
  constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double b) { return Quantity(a.value_ * b); }
  friend constexpr Quantity operator*(double a, Quantity b) { return Quantity(a * b.value_); }
  friend constexpr Quantity operator/(Quantity a, double b) { return Quantity(a.value_ / b); }

 private:
  double value_ = 0.0;
};

namespace detail {
template <int B, int F, int J, int T>
constexpr auto make_quantity(double value) {
  if constexpr (B == 0 && F == 0 && J == 0 && T == 0) {
    return value;
  } else {
    return Quantity<B, F, J, T>(value);
  }
}
}  // namespace detail

template <int B1, int F1, int J1, int T1, int B2, int F2, int J2, int T2>
constexpr auto operator*(Quantity<B1, F1, J1, T1> a, Quantity<B2, F2, J2, T2> b) {
  return detail::make_quantity<B1 + B2, F1 + F2, J1 + J2, T1 + T2>(a.value() * b.value());
}
template <int B1, int F1, int J1, int T1, int B2, int F2, int J2, int T2>
constexpr auto operator/(Quantity<B1, F1, J1, T1> a, Quantity<B2, F2, J2, T2> b) {
  return detail::make_quantity<B1 - B2, F1 - F2, J1 - J2, T1 - T2>(a.value() / b.value());
}
template <int B, int F, int J, int T>
constexpr auto operator/(double a, Quantity<B, F, J, T> b) {
  return Quantity<-B, -F, -J, -T>(a / b.value());
}

using Bytes = Quantity<1, 0, 0, 0>;
using Flops = Quantity<0, 1, 0, 0>;
using Joules = Quantity<0, 0, 1, 0>;
using Seconds = Quantity<0, 0, 0, 1>;  // a duration that is not yet rounded to Time
using BytesPerSecond = Quantity<1, 0, 0, -1>;
using FlopsPerSecond = Quantity<0, 1, 0, -1>;
using Hertz = Quantity<0, 0, 0, -1>;
using Watts = Quantity<0, 0, 1, -1>;
using JoulesPerByte = Quantity<-1, 0, 1, 0>;
using JoulesPerFlop = Quantity<0, -1, 1, 0>;

// Rounds up to the next picosecond, so that no computed duration is free. A whole number that is off only by rounding
// errors of the computation stays that number. Saturates at Time::max().
Time to_time(Seconds duration);
constexpr Seconds to_seconds(Time time) { return Seconds(static_cast<double>(time.count()) * 1e-12); }
constexpr double to_microseconds(Time time) { return static_cast<double>(time.count()) / 1e6; }

constexpr Bytes operator""_B(unsigned long long v) { return Bytes(static_cast<double>(v)); }
constexpr Bytes operator""_KiB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1024.0); }
constexpr Bytes operator""_MiB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1048576.0); }
constexpr Bytes operator""_GiB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1073741824.0); }
constexpr BytesPerSecond operator""_GBps(long double v) { return BytesPerSecond(static_cast<double>(v) * 1e9); }
constexpr Time operator""_ns(unsigned long long v) { return Time(static_cast<std::int64_t>(v) * 1'000); }
constexpr Time operator""_us(unsigned long long v) { return Time(static_cast<std::int64_t>(v) * 1'000'000); }

// Returns the shortest text that parse_quantity reads back as the same whole number of bytes, in B, KiB, MiB, GiB or
// TiB: 939524096 -> "896MiB", 1000 -> "1000B".
std::string to_string(Bytes bytes);
// Returns at most three significant digits with the fitting unit, "12.3us" or "2ms"; above 999 s, whole seconds.
std::string to_string(Time time);

}  // namespace c3sim::sim
