// Defines the rules below YAML: which bytes a configuration may consist of, and how its names, numbers and quantities
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

#include "sim/units.h"

namespace c3sim::sim {

constexpr std::size_t max_config_bytes = std::size_t{1} << 20;

// `line` and `column` count from 1; columns are in bytes.
struct TextFault {
  int line = 1;
  int column = 1;
  std::string what;
};

// Finds the first character that a configuration may not hold: invalid UTF-8, a tab or another control character. Lines
// end with \n or \r\n. `instead_of_tabs` says what is written instead of a tab.
std::optional<TextFault> check_characters(std::string_view text, std::string_view instead_of_tabs = "; use blanks");

// Finds the first reason why a text cannot be a configuration: it is larger than max_config_bytes, has nothing but
// blanks, or fails check_characters().
std::optional<TextFault> check_text(std::string_view text);

// Tell whether a character is an ASCII digit or letter, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Keys and names have letters, digits, '_' and '-' only, and at most max_name_length of them, so that a path such as
// gpu.sdma.engines is unambiguous.
constexpr std::size_t max_name_length = 64;
bool is_name(std::string_view text);

// Quotes a text of any length and content for a message: the start of it, with control characters replaced.
std::string in_quotes(std::string_view text);

// Returns the text with '_' in place of each character that is no ASCII letter or digit: an identifier.
std::string underscored(std::string text);

// Returns the text without the blanks around it.
std::string_view trimmed(std::string_view text);

// Returns the text without the byte order mark that some editors put before UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

template <class T>
struct Parsed {
  T value{};
  std::string error;  // empty if the text was parsed; otherwise what is wrong and what would be accepted
  bool ok() const { return error.empty(); }
};

// A value is accepted from `low` to `high`, both included.
template <class T>
struct Limits {
  T low;
  T high;
};

// Parse strict decimal numbers: no leading zeros (YAML 1.1 takes 010 for eight), hexadecimal, underscores, plus signs,
// infinities or NaNs. An integer has neither a point nor an exponent.
Parsed<double> parse_number(std::string_view text);
Parsed<std::int64_t> parse_integer(std::string_view text);

// Parses the extents of an array, whole numbers from 1 on separated by x, as in "8192x57344x8192". Returns an empty
// list for any other text.
std::vector<std::int64_t> parse_extents(std::string_view text);

// Holds the exponents of bytes, seconds, joules and operations.
using Powers = std::array<int, 4>;

// A Notation describes a dimension as files write it and as expressions compute with it.
struct Notation {
  Dimension dimension;
  std::string_view name;      // "a rate"
  std::string_view examples;  // "48GB/s, 1.2TB/s or 64GiB/s"
  std::string_view base;      // the base unit, such as "B/s"; empty if there is none
  Powers powers;
};
std::span<const Notation> notations();
const Notation& notation_of(Dimension dimension);

// Returns the dimension of a type of sim/units.h.
template <int B, int F, int J, int T>
Dimension dimension_of(Quantity<B, F, J, T>) {
  return std::ranges::find(notations(), Powers{B, T, J, F}, &Notation::powers)->dimension;
}

// Holds a value in base units, or one sentence that says what would be accepted.
using ParsedQuantity = Parsed<double>;

// Reads "number unit" of the given dimension, with optional blanks between the two, in any locale, in the units of
// sim/units.h. A missing unit, a unit of another dimension, a negative or non-finite number and trailing text are
// errors. A size is rounded to whole bytes and must be below 2^53; a time must be less than Time::max().
ParsedQuantity parse_quantity(std::string_view text, Dimension dimension);

// Writes a value in base units with the largest decimal unit that leaves at least 1 of it, such as "132 MHz" or "10
// PB/s", to six digits. parse_quantity() can read the result.
std::string quantity_text(double value, Dimension dimension);

}  // namespace c3sim::sim
