// The rules below YAML: which bytes a configuration may consist of, and how its names, numbers and quantities
// ("896MiB", "48 GB/s", "2.2us") are spelled.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/unit.h"
#include "sim/units.h"

namespace c3sim::sim {

constexpr std::size_t max_config_bytes = std::size_t{1} << 20;

// Lines and columns count from 1, columns in bytes.
struct TextFault {
  int line = 1;
  int column = 1;
  std::string what;
};

// The first character that no text of a configuration holds: what is not UTF-8, a tab or another control character;
// line ends are \n or \r\n.
std::optional<TextFault> check_characters(std::string_view text);

// The first thing that bars a text from being a configuration: more than max_config_bytes, nothing but blanks,
// or such a character.
std::optional<TextFault> check_text(std::string_view text);

// ASCII's, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Keys and names consist of letters, digits, '_' and '-', at most max_name_length of them: a path such as
// gpu.sdma.engines then reads one way only.
constexpr std::size_t max_name_length = 64;
bool is_name(std::string_view text);

// What a message quotes of a text that may be of any length and hold any bytes.
std::string in_quotes(std::string_view text);

// Without the blanks around it.
std::string_view trimmed(std::string_view text);

// Without the mark that some editors put before UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

template <class T>
struct Parsed {
  T value{};
  std::string error;  // empty when parsed; else what is wrong and what would be accepted
  bool ok() const { return error.empty(); }
};

// The values that are accepted, both ends included.
template <class T>
struct Limits {
  T low;
  T high;
};

// Decimal only: no leading zeros (YAML 1.1 takes 010 for eight), hexadecimal, underscores, plus signs, infinities or
// NaNs. An integer has neither a point nor an exponent.
Parsed<double> parse_number(std::string_view text);
Parsed<std::int64_t> parse_integer(std::string_view text);

// Extents of arrays as people write them: whole numbers from 1 on with an x between each and the next, as in
// "8192x57344x8192"; none where the text says anything else.
std::vector<std::int64_t> parse_extents(std::string_view text);

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
