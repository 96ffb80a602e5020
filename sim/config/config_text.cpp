#include "sim/config/config_text.h"

#include <boost/locale/utf.hpp>
#include <charconv>
#include <system_error>

#include "sim/interruption.h"

namespace c3sim::sim {
namespace {

using Utf8 = boost::locale::utf::utf_traits<char>;
using boost::locale::utf::code_point;

// Why a code point has no place in a configuration; empty where it has one.
std::string objection(code_point c) {
  if (c == boost::locale::utf::illegal || c == boost::locale::utf::incomplete)
    return "bytes that are not UTF-8 (a binary file?)";
  if (c == 0) return "a NUL byte (a binary file?)";
  if (c == '\t') return "a tab; use blanks";
  if (c == 0xFEFF) return "a byte order mark inside the text";
  // Beside the control characters, YAML 1.1 breaks lines at U+0085 (within 0x80-0x9F), U+2028 and U+2029.
  const bool control = (c < 0x20 && c != '\n') || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
  return control ? "a control character" : "";
}

// Whether a number that std::from_chars reads has digits before and behind its point, and no zero before others.
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

std::optional<TextFault> check_characters(std::string_view text) {
  int line = 1;
  const char* line_start = text.data();
  const char* const end = text.data() + text.size();
  ShortSteps steps;
  for (const char* at = text.data(); at != end;) {
    steps.note();
    const char* const here = at;
    const code_point c = Utf8::decode(at, end);
    if (c == '\r' && at != end && *at == '\n') continue;
    if (std::string what = objection(c); !what.empty()) {
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

}  // namespace c3sim::sim
