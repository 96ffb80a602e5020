// Quantities as people write them: "896MiB", "48 GB/s", "2.2us".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/units.h"

namespace c3sim::sim {

// The dimensions a text can be asked to have.
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

// A parsed text in base units (bytes, seconds, hertz, watts, joules, joules per byte or flop), or why it is none.
struct ParsedQuantity {
  double value = 0.0;
  std::string error;  // empty when parsed; else one sentence naming what would be accepted
  bool ok() const { return error.empty(); }
};

// Reads "number unit" (blanks between them optional) of the dimension asked for, in any locale. Units:
//   bytes             B, KB, MB, GB, TB (powers of ten), KiB, MiB, GiB, TiB (powers of two)
//   bytes_per_second  the same with /s
//   time              ps, ns, us, ms, s
//   frequency         Hz, kHz, MHz, GHz
//   power             mW, W, kW
//   energy            mJ, J, kJ
//   energy_per_byte   pJ/B, nJ/B, uJ/B, mJ/B, J/B, pJ/bit
//   energy_per_flop   fJ/flop, pJ/flop, nJ/flop, J/flop
//   flops_per_second  flops/s, FLOP/s, KFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s
//   number            none
// A bare number where a unit is due, a unit of another dimension, a negative or non-finite number and trailing text are
// errors. A size must be a whole number of bytes below 2^53, a time less than Time::max().
ParsedQuantity parse_quantity(std::string_view text, Dimension dimension);

// What a unit measures: of "GB/s" bytes_per_second. Nothing for a text that is no unit.
std::optional<Dimension> dimension_of_unit(std::string_view unit);

// A value in base units with the largest unit, of powers of ten, that leaves at least 1 of it: "132 MHz", "10 PB/s".
// Six digits; parse_quantity() reads it again.
std::string quantity_text(double value, Dimension dimension);

}  // namespace c3sim::sim
