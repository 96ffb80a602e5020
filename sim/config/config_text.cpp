#include "sim/config/config_text.h"

#include <fmt/format.h>

#include <boost/locale/utf.hpp>
#include <charconv>
#include <cmath>
#include <system_error>

#include "sim/config/nearest_name.h"
#include "sim/interruption.h"

namespace c3sim::sim {
namespace {

using Utf8 = boost::locale::utf::utf_traits<char>;
using boost::locale::utf::code_point;

// Says why a configuration may not contain a code point; returns an empty text if it may.
std::string objection(code_point c, std::string_view instead_of_tabs) {
  if (c == boost::locale::utf::illegal || c == boost::locale::utf::incomplete)
    return "bytes that are not UTF-8 (a binary file?)";
  if (c == 0) return "a NUL byte (a binary file?)";
  if (c == '\t') return fmt::format("a tab{}", instead_of_tabs);
  if (c == 0xFEFF) return "a byte order mark inside the text";
  // In addition to control characters, YAML 1.1 breaks lines at U+0085 (within 0x80-0x9F), U+2028 and U+2029.
  const bool control = (c < 0x20 && c != '\n') || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
  return control ? "a control character" : "";
}

// Returns whether a number that std::from_chars accepts has digits before and after its point and no leading zero.
bool is_strict(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  const auto has_digit = [number](std::size_t at) { return at < number.size() && is_digit(number[at]); };
  const std::size_t point = number.find('.');
  return has_digit(0) && !(number.front() == '0' && has_digit(1)) &&
         (point == std::string_view::npos || has_digit(point + 1));
}

template <class T>
Parsed<T> parse_decimal(std::string_view text, std::string_view accepted) {
  T value{};
  const char* const text_end = text.data() + text.size();
  const auto [end, failed] = std::from_chars(text.data(), text_end, value);
  const std::string quoted = "'" + std::string(text) + "'";
  if (end != text_end || !is_strict(text)) return {{}, quoted + " is not " + std::string(accepted)};
  if (failed != std::errc()) return {{}, quoted + " is beyond what can be represented"};
  return {value, {}};
}

}  // namespace

std::optional<TextFault> check_text(std::string_view text) {
  if (text.size() > max_config_bytes) return TextFault{1, 1, "larger than 1 MiB"};
  if (text.find_first_not_of(" \r\n") == std::string_view::npos) return TextFault{1, 1, "empty"};
  return check_characters(text);
}

std::optional<TextFault> check_characters(std::string_view text, std::string_view instead_of_tabs) {
  int line = 1;
  const char* line_start = text.data();
  const char* const end = text.data() + text.size();
  ShortSteps steps;
  for (const char* at = text.data(); at != end;) {
    steps.note();
    const char* const here = at;
    const code_point c = Utf8::decode(at, end);
    if (c == '\r' && at != end && *at == '\n') continue;
    if (std::string what = objection(c, instead_of_tabs); !what.empty()) {
      return TextFault{line, static_cast<int>(here - line_start) + 1, std::move(what)};
    }
    if (c == '\n') {
      ++line;
      line_start = at;
    }
  }
  return std::nullopt;
}

bool is_name(std::string_view text) {
  const auto allowed = [](char c) { return is_digit(c) || is_letter(c) || c == '_' || c == '-'; };
  if (text.empty() || text.size() > max_name_length) return false;
  for (const char c : text) {
    if (!allowed(c)) return false;
  }
  return true;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return text;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 80;
  const char quote = text.find('\'') == std::string_view::npos ? '\'' : '"';
  std::string result(1, quote);
  for (const char c : text.substr(0, longest)) {
    result += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  }
  return result + (text.size() > longest ? "..." : "") + quote;
}

std::string underscored(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return !is_letter(c) && !is_digit(c); }, '_');
  return text;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Parsed<double> parse_number(std::string_view text) {
  return parse_decimal<double>(text, "a decimal number such as 12, 0.5 or 1e-3 (no leading zeros)");
}

Parsed<std::int64_t> parse_integer(std::string_view text) {
  return parse_decimal<std::int64_t>(text, "a whole decimal number such as 12 (no leading zeros)");
}

std::vector<std::int64_t> parse_extents(std::string_view text) {
  std::vector<std::int64_t> extents;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int64_t extent = 0;
    const auto [rest, error] = std::from_chars(at, end, extent);
    if (error != std::errc{} || extent < 1) return {};
    extents.push_back(extent);
    if (rest == end) return extents;
    if (*rest != 'x') return {};
    at = rest + 1;
  }
}

namespace {

constexpr std::array all_notations{
    Notation{Dimension::number, "a number without a unit", "8 or 0.85", "", {0, 0, 0, 0}},
    Notation{Dimension::bytes, "a size", "896MiB, 1GB or 512B", "B", {1, 0, 0, 0}},
    Notation{Dimension::bytes_per_second, "a rate", "48GB/s, 1.2TB/s or 64GiB/s", "B/s", {1, -1, 0, 0}},
    Notation{Dimension::time, "a time", "2.2us, 1ms or 600s", "s", {0, 1, 0, 0}},
    Notation{Dimension::frequency, "a frequency", "2100MHz or 1.3GHz", "Hz", {0, -1, 0, 0}},
    Notation{Dimension::power, "a power", "750W or 1.2kW", "W", {0, -1, 1, 0}},
    Notation{Dimension::energy, "an energy", "10.6J or 500mJ", "J", {0, 0, 1, 0}},
    Notation{Dimension::energy_per_byte, "an energy per byte", "62pJ/B, 1.5nJ/B or 7pJ/bit", "J/B", {-1, 0, 1, 0}},
    Notation{
        Dimension::energy_per_flop, "an energy per operation", "0.4pJ/flop or 400fJ/flop", "J/flop", {0, 0, 1, -1}},
    Notation{
        Dimension::flops_per_second, "a rate of operations", "1307TFLOP/s or 81.7TFLOP/s", "FLOP/s", {0, -1, 0, 1}},
};

// Says what is wrong with a unit that does not belong to the dimension `wanted`.
std::string unit_error(std::string_view name, const Notation& wanted) {
  if (const Unit* const other = unit_of(name)) {
    return fmt::format("is {}, but {} is needed: write {}", notation_of(other->dimension).name, wanted.name,
                       wanted.examples);
  }
  return fmt::format("has an unknown unit '{}'{}", name, name_hint(name, units_of(wanted.dimension), &Unit::name));
}

// Returns the size number * factor, rounded to whole bytes because tables round their sizes, as in 33.9KiB.
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
  // std::from_chars would also accept a second sign, "inf" and "nan".
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
