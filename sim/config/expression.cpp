#include "sim/config/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "sim/config/config_text.h"
#include "sim/config/nearest_name.h"

namespace c3sim::sim {

namespace {

using Powers = std::array<int, 4>;  // of bytes, seconds, joules, operations

struct Measure {
  Dimension dimension;
  Powers powers;
  std::string_view unit;  // the base unit
};
constexpr std::array measures{Measure{Dimension::number, {0, 0, 0, 0}, ""},
                              Measure{Dimension::bytes, {1, 0, 0, 0}, "B"},
                              Measure{Dimension::bytes_per_second, {1, -1, 0, 0}, "B/s"},
                              Measure{Dimension::time, {0, 1, 0, 0}, "s"},
                              Measure{Dimension::frequency, {0, -1, 0, 0}, "Hz"},
                              Measure{Dimension::power, {0, -1, 1, 0}, "W"},
                              Measure{Dimension::energy, {0, 0, 1, 0}, "J"},
                              Measure{Dimension::energy_per_byte, {-1, 0, 1, 0}, "J/B"},
                              Measure{Dimension::energy_per_flop, {0, 0, 1, -1}, "J/flop"},
                              Measure{Dimension::flops_per_second, {0, -1, 0, 1}, "flops/s"}};

const Measure* measure_of(const Powers& powers) {
  const auto found = std::ranges::find(measures, powers, &Measure::powers);
  return found == measures.end() ? nullptr : &*found;
}

// "B", "B s^2", "no unit".
std::string words(const Powers& powers) {
  if (const Measure* const known = measure_of(powers))
    return known->unit.empty() ? "no unit" : std::string(known->unit);
  constexpr std::array<std::string_view, 4> bases{"B", "s", "J", "flop"};
  std::string text;
  for (std::size_t i = 0; i < powers.size(); ++i) {
    if (powers[i] == 0) continue;
    text += fmt::format("{}{}", text.empty() ? "" : " ", bases[i]);
    if (powers[i] != 1) text += fmt::format("^{}", powers[i]);
  }
  return text;
}

using Fold = double (*)(double, double);
struct Function {
  std::string_view name;
  std::size_t least, most;  // arguments
  Fold fold;                // of one argument: called with it twice
};
constexpr std::size_t any_number = 64;
constexpr std::array functions{Function{"min", 1, any_number, [](double a, double b) { return std::min(a, b); }},
                               Function{"max", 1, any_number, [](double a, double b) { return std::max(a, b); }},
                               Function{"floor", 1, 1, [](double a, double) { return std::floor(a); }},
                               Function{"ceil", 1, 1, [](double a, double) { return std::ceil(a); }},
                               Function{"round", 1, 1, [](double a, double) { return std::round(a); }}};

bool is_name_letter(char c) { return is_letter(c) || c == '_'; }

// Reads one expression of a text, up to the parenthesis that closes it.
class Parser {
 public:
  Parser(std::string_view text, std::size_t at, const LookUp& look_up) : text_(text), at_(at), look_up_(look_up) {}

  std::size_t at() const { return at_; }

  // What stands between "$(" and ")"; a word only where it stands alone.
  NamedValue closed_value() {
    skip_blanks();
    if (at_ < text_.size() && is_name_letter(text_[at_]) && !calls_function()) {
      const std::size_t begin = at_;
      NamedValue named = look_up(begin, take_name());
      skip_blanks();
      if (std::holds_alternative<std::string>(named) && peek() == ')') {
        ++at_;
        return named;
      }
      at_ = begin;
    }
    const Amount value = sum();
    close();
    return value;
  }

 private:
  static constexpr int most_levels = 64;

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (peek() == ' ') ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void close() {
    if (take(')')) return;
    if (at_ == text_.size()) throw ExpressionError(at_, "the expression is not closed: ')' is due");
    throw ExpressionError(at_, fmt::format("'{}' where an operator or ')' is due", character()));
  }
  // A whole character of UTF-8.
  std::string character() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0U) == 0x80U) ++end;
    return std::string(text_.substr(at_, end - at_));
  }

  std::string_view take_name() {
    const std::size_t begin = at_;
    while (is_name_letter(peek()) || is_digit(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool calls_function() {
    const std::size_t begin = at_;
    take_name();
    skip_blanks();
    const bool calls = peek() == '(';
    at_ = begin;
    return calls;
  }

  NamedValue look_up(std::size_t begin, std::string_view name) const {
    try {
      return look_up_(name);
    } catch (const ExpressionError&) {
      throw;
    } catch (const std::runtime_error& unknown) {
      throw ExpressionError(begin, unknown.what());
    }
  }

  Amount sum() {
    Amount left = product();
    for (;;) {
      skip_blanks();
      const std::size_t place = at_;
      const char sign = peek();
      if (sign != '+' && sign != '-') return left;
      ++at_;
      const Amount right = product();
      require_alike(place, left, right, sign == '+' ? "added to" : "subtracted from");
      left.value += sign == '+' ? right.value : -right.value;
    }
  }

  Amount product() {
    Amount left = signed_primary();
    for (;;) {
      skip_blanks();
      const std::size_t place = at_;
      const char sign = peek();
      if (sign != '*' && sign != '/' && sign != '%') return left;
      ++at_;
      const Amount right = signed_primary();
      if (sign != '*' && right.value == 0.0) throw ExpressionError(place, "a division by zero");
      if (sign == '%') {
        require_alike(place, left, right, "a divisor of");
        left.value -= right.value * std::floor(left.value / right.value);
        continue;
      }
      left.value = sign == '*' ? left.value * right.value : left.value / right.value;
      for (std::size_t i = 0; i < left.powers.size(); ++i) {
        left.powers[i] += sign == '*' ? right.powers[i] : -right.powers[i];
      }
      // Beyond any dimension that a file asks for, and far below what an int holds.
      constexpr int highest = 8;
      const auto beyond = [](int power) { return std::abs(power) > highest; };
      if (std::ranges::any_of(left.powers, beyond)) throw ExpressionError(place, "a power of a unit beyond 8");
    }
  }

  static void require_alike(std::size_t place, const Amount& left, const Amount& right, std::string_view verb) {
    if (left.powers == right.powers) return;
    throw ExpressionError(
        place, fmt::format("what has {} cannot be {} what has {}", words(right.powers), verb, words(left.powers)));
  }

  Amount signed_primary() {
    bool negative = false;
    while (take('-')) negative = !negative;
    Amount value = primary();
    if (negative) value.value = -value.value;
    return value;
  }

  Amount primary() {
    skip_blanks();
    const std::size_t begin = at_;
    if (is_digit(peek())) return number();
    if (take('(')) {
      enter(begin);
      const Amount value = sum();
      close();
      --level_;
      return value;
    }
    if (!is_name_letter(peek())) {
      if (at_ == text_.size()) throw ExpressionError(at_, "the expression ends where a value is due");
      throw ExpressionError(at_, fmt::format("'{}' where a number, a name or '(' is due", character()));
    }
    if (calls_function()) return call();
    const std::string_view name = take_name();
    const NamedValue named = look_up(begin, name);
    if (const auto* const amount = std::get_if<Amount>(&named)) return *amount;
    throw ExpressionError(begin, fmt::format("{} is the word '{}', with which nothing can be computed", name,
                                             std::get<std::string>(named)));
  }

  void enter(std::size_t place) {
    if (++level_ > most_levels) throw ExpressionError(place, "more than 64 parentheses within each other");
  }

  Amount call() {
    const std::size_t begin = at_;
    const std::string_view name = take_name();
    const auto function = std::ranges::find(functions, name, &Function::name);
    if (function == functions.end()) {
      std::vector<std::string> known;
      for (const Function& one : functions) known.emplace_back(one.name);
      throw ExpressionError(begin, fmt::format("no function is named '{}'{}", name, name_hint(name, known)));
    }
    take('(');
    enter(begin);
    Amount value = sum();
    std::size_t arguments = 1;
    value.value = function->fold(value.value, value.value);
    while (take(',')) {
      const Amount next = sum();
      if (++arguments > function->most) {
        throw ExpressionError(begin, fmt::format("{} takes {} value", name, function->most));
      }
      require_alike(begin, value, next, "compared with");
      value.value = function->fold(value.value, next.value);
    }
    close();
    --level_;
    return value;
  }

  // With the unit behind it, if there is one: the longest text that is a unit.
  Amount number() {
    const std::size_t begin = at_;
    while (is_digit(peek()) || peek() == '.') ++at_;
    // An exponent, not a unit that begins with an e: there is none.
    if ((peek() == 'e' || peek() == 'E') && at_ + 1 < text_.size()) {
      const bool has_sign = text_[at_ + 1] == '-' || text_[at_ + 1] == '+';
      const std::size_t digits = at_ + (has_sign ? 2 : 1);
      if (digits < text_.size() && is_digit(text_[digits])) {
        at_ = digits;
        while (is_digit(peek())) ++at_;
      }
    }
    const std::string digits(text_.substr(begin, at_ - begin));
    if (const std::string unit = take_unit(); !unit.empty()) {
      const Dimension dimension = *dimension_of_unit(unit);
      const ParsedQuantity quantity = parse_quantity(digits + unit, dimension);
      if (!quantity.ok()) throw ExpressionError(begin, quantity.error);
      return {quantity.value, std::ranges::find(measures, dimension, &Measure::dimension)->powers};
    }
    const Parsed<double> plain = parse_number(digits);
    if (!plain.error.empty()) throw ExpressionError(begin, plain.error);
    if (is_name_letter(peek())) {
      const std::size_t place = at_;
      throw ExpressionError(place, fmt::format("'{}' is no unit", take_name()));
    }
    return {plain.value, {}};
  }

  std::string take_unit() {
    std::size_t end = at_;
    while (end < text_.size() && text_[end] == ' ') ++end;
    const std::size_t begin = end;
    const auto letters = [&] {
      while (end < text_.size() && is_name_letter(text_[end])) ++end;
    };
    letters();
    const std::string_view simple = text_.substr(begin, end - begin);
    std::string_view found = dimension_of_unit(simple) ? simple : std::string_view();
    if (end < text_.size() && text_[end] == '/') {
      ++end;
      letters();
      const std::string_view ratio = text_.substr(begin, end - begin);
      if (dimension_of_unit(ratio)) found = ratio;
    }
    if (!found.empty()) at_ = begin + found.size();
    return std::string(found);
  }

  std::string_view text_;
  std::size_t at_;
  const LookUp& look_up_;
  int level_ = 0;
};

// The text of a value, which stands at this place.
std::string text_of(const Amount& amount, std::size_t place) {
  const auto fail = [&](const std::string& what) { throw ExpressionError(place, "the expression " + what); };
  if (!std::isfinite(amount.value)) fail("is beyond what can be represented");
  const Measure* const measure = measure_of(amount.powers);
  if (measure == nullptr) fail(fmt::format("has the unit {}, which no value of a file has", words(amount.powers)));
  const bool whole = amount.value == std::floor(amount.value) && std::abs(amount.value) < 0x1p53;
  if (measure->dimension != Dimension::number && amount.value < 0.0) {
    fail(fmt::format("is negative: {:g}{}", amount.value, measure->unit));
  }
  if (measure->dimension == Dimension::bytes && !whole) {
    fail(fmt::format("comes to {:.17g} bytes, no whole number below 2^53: floor() and ceil() make one", amount.value));
  }
  return fmt::format("{}{}", whole ? fmt::format("{:.0f}", amount.value + 0.0) : fmt::format("{}", amount.value),
                     measure->unit);
}

}  // namespace

bool has_expression(std::string_view text) { return text.find("$(") != std::string_view::npos; }

std::string replaced(std::string_view text, const LookUp& look_up) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t open = text.find("$("); open != std::string_view::npos; open = text.find("$(", done)) {
    result += text.substr(done, open - done);
    Parser parser(text, open + 2, look_up);
    const NamedValue value = parser.closed_value();
    const auto* const word = std::get_if<std::string>(&value);
    result += word != nullptr ? *word : text_of(std::get<Amount>(value), open);
    done = parser.at();
  }
  return result += text.substr(done);
}

NamedValue value_of_text(std::string_view text) {
  const std::string_view bare = trimmed(text);
  for (const Measure& measure : measures) {
    if (measure.dimension == Dimension::number) {
      const Parsed<double> number = parse_number(bare);
      if (number.error.empty()) return Amount{number.value, {}};
      continue;
    }
    const ParsedQuantity quantity = parse_quantity(bare, measure.dimension);
    if (quantity.ok()) return Amount{quantity.value, measure.powers};
  }
  return std::string(text);
}

bool is_reserved(std::string_view name) {
  return dimension_of_unit(name).has_value() || std::ranges::find(functions, name, &Function::name) != functions.end();
}

}  // namespace c3sim::sim
