#include "sim/config/config_text.h"

#include <boost/locale/utf.hpp>
#include <charconv>
#include <system_error>

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

// Whether the text is -?D(.d+)?([eE][+-]?d+)? where D is 0 or starts with another digit; integers end after D.
bool is_decimal(std::string_view text, bool integer) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - begin;
  };
  const auto take = [&](std::string_view any_of) {
    const bool taken = at < text.size() && any_of.find(text[at]) != std::string_view::npos;
    if (taken) ++at;
    return taken;
  };
  take("-");
  const bool zero = at < text.size() && text[at] == '0';
  const std::size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (!integer && take(".") && digits() == 0) return false;
  if (!integer && take("eE")) {
    take("+-");
    if (digits() == 0) return false;
  }
  return at == text.size();
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

template <class T>
Parsed<T> parse_decimal(std::string_view text, bool integer, std::string_view accepted) {
  Parsed<T> parsed;
  if (!is_decimal(text, integer)) {
    parsed.error = quoted(text) + " is not " + std::string(accepted);
  } else if (std::from_chars(text.data(), text.data() + text.size(), parsed.value).ec != std::errc()) {
    parsed.error = quoted(text) + " is beyond what can be represented";
  }
  return parsed;
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
  for (const char* at = text.data(); at != end;) {
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

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Parsed<double> parse_number(std::string_view text) {
  return parse_decimal<double>(text, false, "a decimal number such as 12, 0.5 or 1e-3 (no leading zeros)");
}

Parsed<std::int64_t> parse_integer(std::string_view text) {
  return parse_decimal<std::int64_t>(text, true, "a whole decimal number such as 12 (no leading zeros)");
}

}  // namespace c3sim::sim
