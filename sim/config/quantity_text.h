// Quantities as people write them: "896MiB", "48 GB/s", "2.2us".
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "sim/config/config_text.h"
#include "sim/unit.h"
#include "sim/units.h"

namespace c3sim::sim {

// Of bytes, seconds, joules and operations.
using Powers = std::array<int, 4>;

// A dimension, as files write it and as expressions compute with it.
struct Notation {
  Dimension dimension;
  std::string_view name;      // "a rate"
  std::string_view examples;  // "48GB/s, 1.2TB/s or 64GiB/s"
  std::string_view base;      // its base unit: "B/s"; empty for none
  Powers powers;
};
std::span<const Notation> notations();
const Notation& notation_of(Dimension dimension);

// That of a type of sim/units.h.
template <int B, int F, int J, int T>
Dimension dimension_of(Quantity<B, F, J, T>) {
  return std::ranges::find(notations(), Powers{B, T, J, F}, &Notation::powers)->dimension;
}

// A text in base units, or one sentence that names what would be accepted.
using ParsedQuantity = Parsed<double>;

// Reads "number unit" (blanks between them optional) of the dimension asked for, in any locale, in the units of
// sim/unit.h.
// A bare number where a unit is due, a unit of another dimension, a negative or non-finite number and trailing text are
// errors. A size is the nearest whole number of bytes, below 2^53, a time less than Time::max().
ParsedQuantity parse_quantity(std::string_view text, Dimension dimension);

// A value in base units with the largest unit, of powers of ten, that leaves at least 1 of it: "132 MHz", "10 PB/s".
// Six digits; parse_quantity() reads it again.
std::string quantity_text(double value, Dimension dimension);

}  // namespace c3sim::sim
