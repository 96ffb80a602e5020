#include "sim/config/config_number.h"

#include <fmt/format.h>

#include <utility>

namespace c3sim::sim {
namespace {

std::string_view base_unit(Dimension dimension) {
  switch (dimension) {
    case Dimension::number:
      return "";
    case Dimension::bytes:
      return "B";
    case Dimension::bytes_per_second:
      return "B/s";
    case Dimension::time:
      return "s";
    case Dimension::frequency:
      return "Hz";
    case Dimension::power:
      return "W";
    case Dimension::energy:
      return "J";
    case Dimension::energy_per_byte:
      return "J/B";
    case Dimension::energy_per_flop:
      return "J/flop";
    case Dimension::flops_per_second:
      return "FLOP/s";
  }
  return "";
}

Parsed<double> parse_dimension(std::string_view text, Dimension dimension) {
  ParsedQuantity quantity = parse_quantity(text, dimension);
  return {quantity.value, std::move(quantity.error)};
}

Parsed<Time> parse_time(std::string_view text) {
  ParsedQuantity quantity = parse_quantity(text, Dimension::time);
  return {to_time(Seconds(quantity.value)), std::move(quantity.error)};
}

std::string format_quantity(double value, Dimension dimension) {
  if (dimension == Dimension::bytes) return to_string(Bytes(value));
  return quantity_text(value, dimension);
}

}  // namespace

NumberForm<double> plain_form() {
  return {base_unit(Dimension::number), parse_number, [](double value) { return fmt::format("{:g}", value); }};
}

NumberForm<std::int64_t> integer_form() {
  return {base_unit(Dimension::number), parse_integer, [](std::int64_t value) { return fmt::format("{}", value); }};
}

NumberForm<Time> time_form() {
  return {base_unit(Dimension::time), parse_time, [](Time value) { return to_string(value); }};
}

NumberForm<double> quantity_form(Dimension dimension) {
  return {base_unit(dimension), [dimension](std::string_view text) { return parse_dimension(text, dimension); },
          [dimension](double value) { return format_quantity(value, dimension); }};
}

}  // namespace c3sim::sim
