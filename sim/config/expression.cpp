#include "sim/config/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sim/config/nearest_name.h"

namespace c3sim::sim {
namespace {

// Returns the notation of a dimension, or null if no dimension has these powers.
const Notation* notation_with(const Powers& powers) {
  const auto found = std::ranges::find(notations(), powers, &Notation::powers);
  return found == notations().end() ? nullptr : &*found;
}

// Describes a unit: "B", "B s^2" or "no unit".
std::string words(const Powers& powers) {
  if (const Notation* const known = notation_with(powers)) {
    return known->base.empty() ? "no unit" : std::string(known->base);
  }
  constexpr std::array<std::string_view, 4> bases{"B", "s", "J", "flop"};
  std::string text;
  for (std::size_t i = 0; i < powers.size(); ++i) {
    if (powers[i] == 0) continue;
    text += fmt::format("{}{}", text.empty() ? "" : " ", bases[i]);
    if (powers[i] != 1) text += fmt::format("^{}", powers[i]);
  }
  return text;
}

using Step = Expression::Step;

}  // namespace

// A Rule says what an operator or a function makes of two operands; of one, which is then both.
struct Expression::Rule {
  double (*fold)(double left, double right);
  std::string_view verb = {};  // if the units must be alike: "added to" in "what has s cannot be added to what has B"
  int exponent = 0;            // of the right operand's unit in that of the result
  bool divides = false;        // the right operand must not be 0
  bool is_condition = false;   // the result has no unit
};

namespace {

using Rule = Expression::Rule;

void require_alike(std::size_t place, const Amount& left, const Amount& right, std::string_view verb) {
  if (left.powers == right.powers) return;
  throw ExpressionError(
      place, fmt::format("what has {} cannot be {} what has {}", words(right.powers), verb, words(left.powers)));
}

Amount applied(const Rule& rule, std::size_t place, Amount left, const Amount& right) {
  if (rule.divides && right.value == 0.0) throw ExpressionError(place, "a division by zero");
  if (!rule.verb.empty()) require_alike(place, left, right, rule.verb);
  left.value = rule.fold(left.value, right.value);
  for (std::size_t i = 0; i < left.powers.size(); ++i) left.powers[i] += rule.exponent * right.powers[i];
  // The bound is beyond any dimension that a file asks for and far below what an int holds.
  constexpr int highest = 8;
  const auto beyond = [](int power) { return std::abs(power) > highest; };
  if (std::ranges::any_of(left.powers, beyond)) throw ExpressionError(place, "a power of a unit beyond 8");
  if (rule.is_condition) left.powers = {};
  return left;
}

template <class Compare>
constexpr Rule comparison{[](double a, double b) { return Compare()(a, b) ? 1.0 : 0.0; }, "compared with", 0, false,
                          true};

struct Function {
  std::string_view name;
  std::size_t least, most;  // number of arguments
  Rule rule;                // of two of them; without a fold for if()
};
constexpr std::size_t any_number = 64;
constexpr std::array functions{
    Function{"min", 1, any_number, {[](double a, double b) { return std::min(a, b); }, "compared with"}},
    Function{"max", 1, any_number, {[](double a, double b) { return std::max(a, b); }, "compared with"}},
    Function{"floor", 1, 1, {[](double a, double) { return std::floor(a); }}},
    Function{"ceil", 1, 1, {[](double a, double) { return std::ceil(a); }}},
    Function{"round", 1, 1, {[](double a, double) { return std::round(a); }}},
    Function{"if", 3, 3, {nullptr}}};

// Operators of a higher level bind more closely.
enum class Level { disjunction, conjunction, negation, comparison, sum, product, sign, value };
struct Operator {
  Level level;
  std::string_view sign;  // longer ones stand before those that they begin with
  Rule rule;
};
constexpr std::array operators{
    Operator{Level::disjunction,
             "or",
             {[](double a, double b) { return a != 0.0 || b != 0.0 ? 1.0 : 0.0; }, "", 0, false, true}},
    Operator{Level::conjunction,
             "and",
             {[](double a, double b) { return a != 0.0 && b != 0.0 ? 1.0 : 0.0; }, "", 0, false, true}},
    Operator{Level::negation, "not", {[](double a, double) { return a == 0.0 ? 1.0 : 0.0; }, "", 0, false, true}},
    Operator{Level::comparison, "==", comparison<std::equal_to<>>},
    Operator{Level::comparison, "!=", comparison<std::not_equal_to<>>},
    Operator{Level::comparison, "<=", comparison<std::less_equal<>>},
    Operator{Level::comparison, ">=", comparison<std::greater_equal<>>},
    Operator{Level::comparison, "<", comparison<std::less<>>},
    Operator{Level::comparison, ">", comparison<std::greater<>>},
    Operator{Level::sum, "+", {[](double a, double b) { return a + b; }, "added to"}},
    Operator{Level::sum, "-", {[](double a, double b) { return a - b; }, "subtracted from"}},
    Operator{Level::product, "*", {[](double a, double b) { return a * b; }, "", 1}},
    Operator{Level::product, "/", {[](double a, double b) { return a / b; }, "", -1, true}},
    Operator{
        Level::product, "%", {[](double a, double b) { return a - b * std::floor(a / b); }, "a divisor of", 0, true}},
    Operator{Level::sign, "-", {[](double a, double) { return -a; }}}};

bool is_name_letter(char c) { return is_letter(c) || c == '_'; }

// Returns whether the sign of the operator is a word, which names nothing else.
bool is_word(const Operator& one) { return is_letter(one.sign.front()); }
bool is_word_of_operator(std::string_view name) {
  return std::ranges::any_of(operators, [name](const Operator& one) { return is_word(one) && one.sign == name; });
}

// Parses one expression of a text into steps.
class Parser {
 public:
  Parser(std::string_view text, std::size_t at, std::vector<Step>& steps) : text_(text), at_(at), steps_(steps) {}

  std::size_t at() const { return at_; }

  void closed() {
    operation(Level::disjunction);
    close();
  }
  void whole() {
    operation(Level::disjunction);
    skip_blanks();
    if (at_ < text_.size()) throw ExpressionError(at_, fmt::format("'{}' where an operator is expected", character()));
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
    if (at_ == text_.size()) throw ExpressionError(at_, "the expression is not closed: ')' is expected");
    throw ExpressionError(at_, fmt::format("'{}' where an operator or ')' is expected", character()));
  }
  // Returns the whole UTF-8 character at the current place.
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
  // Takes the operator of this level that comes next, or returns null.
  const Operator* take_operator(Level level) {
    skip_blanks();
    for (const Operator& one : operators) {
      if (one.level != level || !text_.substr(at_).starts_with(one.sign)) continue;
      const std::size_t begin = at_;
      if (!is_word(one) || take_name() == one.sign) {
        at_ = begin + one.sign.size();
        return &one;
      }
      at_ = begin;
    }
    return nullptr;
  }
  void add(int operands, std::size_t place, const Rule& rule) {
    steps_.push_back({.operands = operands, .place = place, .rule = &rule});
  }

  // Reads operations of this level and of those that bind more closely.
  void operation(Level level) {
    if (level == Level::value) return primary();
    const auto next = static_cast<Level>(static_cast<int>(level) + 1);
    if (level == Level::negation || level == Level::sign) {
      const Operator* negates = nullptr;  // twice is not at all
      while (const Operator* const taken = take_operator(level)) negates = negates == nullptr ? taken : nullptr;
      const std::size_t place = at_;
      operation(next);
      if (negates != nullptr) add(1, place, negates->rule);
      return;
    }
    operation(next);
    while (const Operator* const taken = take_operator(level)) {
      const std::size_t place = at_ - taken->sign.size();
      operation(next);
      add(2, place, taken->rule);
      if (level == Level::comparison) return;  // a comparison is not compared
    }
  }

  void primary() {
    skip_blanks();
    const std::size_t begin = at_;
    if (is_digit(peek())) return number();
    if (take('(')) {
      enter(begin);
      operation(Level::disjunction);
      close();
      --level_;
      return;
    }
    if (!is_name_letter(peek())) {
      if (at_ == text_.size()) throw ExpressionError(at_, "the expression ends where a value is expected");
      const std::string_view hint = peek() == '$' ? ": within an expression names stand without $( )" : "";
      throw ExpressionError(at_, fmt::format("'{}' where a number, a name or '(' is expected{}", character(), hint));
    }
    const std::string_view name = take_name();
    if (is_word_of_operator(name)) {
      throw ExpressionError(begin, fmt::format("'{}' where a number, a name or '(' is expected", name));
    }
    if (take('(')) return call(begin, name);
    steps_.push_back({.place = begin, .name = std::string(name)});
  }

  void enter(std::size_t place) {
    if (++level_ > most_levels) throw ExpressionError(place, "more than 64 parentheses within each other");
  }

  void call(std::size_t begin, std::string_view name) {
    const auto function = std::ranges::find(functions, name, &Function::name);
    if (function == functions.end()) {
      const std::string hint = name_hint(name, functions, &Function::name);
      throw ExpressionError(begin, fmt::format("no function is named '{}'{}", name, hint));
    }
    const auto wrong_number = [&](std::size_t due) {
      return ExpressionError(begin, fmt::format("{} takes {} value{}", name, due, due == 1 ? "" : "s"));
    };
    enter(begin);
    operation(Level::disjunction);
    if (function->most == 1) add(1, begin, function->rule);
    std::size_t arguments = 1;
    while (take(',')) {
      operation(Level::disjunction);
      if (++arguments > function->most) throw wrong_number(function->most);
      if (function->rule.fold != nullptr) add(2, begin, function->rule);
    }
    if (arguments < function->least) throw wrong_number(function->least);
    if (function->rule.fold == nullptr) add(3, begin, function->rule);
    close();
    --level_;
  }

  // Reads a number with the unit that follows it, if any. The longest text that is a unit counts.
  void number() {
    const std::size_t begin = at_;
    double ignored = 0.0;
    const char* const end = std::from_chars(text_.data() + begin, text_.data() + text_.size(), ignored).ptr;
    at_ = static_cast<std::size_t>(end - text_.data());
    while (is_digit(peek()) || peek() == '.') ++at_;  // a malformed number is reported as a whole
    const std::string digits(text_.substr(begin, at_ - begin));
    if (const Unit* const unit = take_unit()) {
      const ParsedQuantity quantity = parse_quantity(digits + std::string(unit->name), unit->dimension);
      if (!quantity.ok()) throw ExpressionError(begin, quantity.error);
      steps_.push_back({.place = begin, .number = {quantity.value, notation_of(unit->dimension).powers}});
      return;
    }
    const Parsed<double> plain = parse_number(digits);
    if (!plain.error.empty()) throw ExpressionError(begin, plain.error);
    if (is_name_letter(peek())) {
      const std::size_t place = at_;
      throw ExpressionError(place, fmt::format("'{}' is no unit", take_name()));
    }
    steps_.push_back({.place = begin, .number = {plain.value, {}}});
  }

  // Reads a unit, or reads nothing and returns null if no unit follows.
  const Unit* take_unit() {
    const std::size_t begin = std::min(text_.find_first_not_of(' ', at_), text_.size());
    const std::string_view rest = text_.substr(begin);
    const Unit* longest = nullptr;
    for (const Unit& unit : all_units) {
      const std::size_t size = unit.name.size();
      if (!rest.starts_with(unit.name) || (size < rest.size() && is_name_letter(rest[size]))) continue;
      if (longest == nullptr || size > longest->name.size()) longest = &unit;
    }
    if (longest != nullptr) at_ = begin + longest->name.size();
    return longest;
  }

  std::string_view text_;
  std::size_t at_;
  std::vector<Step>& steps_;
  int level_ = 0;
};

NamedValue known(const Step& step, const LookUp& look_up) {
  try {
    return look_up(step.name);
  } catch (const ExpressionError&) {
    throw;
  } catch (const std::runtime_error& unknown) {
    throw ExpressionError(step.place, unknown.what());
  }
}

// Returns the amount of a value. Throws ExpressionError for a word, with which nothing can be computed.
Amount amount_of(const Step& step, const NamedValue& value) {
  if (const auto* const number = std::get_if<Amount>(&value)) return *number;
  throw ExpressionError(step.place, fmt::format("{} is the word '{}', with which nothing can be computed", step.name,
                                                std::get<std::string>(value)));
}

// Returns the text of a value. `place` is the index of its expression, for errors.
std::string text_of(const Amount& amount, std::size_t place) {
  const auto fail = [&](const std::string& what) { throw ExpressionError(place, "the expression " + what); };
  if (!std::isfinite(amount.value)) fail("is beyond what can be represented");
  const Notation* const notation = notation_with(amount.powers);
  if (notation == nullptr) fail(fmt::format("has the unit {}, which no value of a file has", words(amount.powers)));
  const bool whole = amount.value == std::floor(amount.value) && std::abs(amount.value) < 0x1p53;
  if (notation->dimension != Dimension::number && amount.value < 0.0) {
    fail(fmt::format("is negative: {:g}{}", amount.value, notation->base));
  }
  if (notation->dimension == Dimension::bytes && !whole) {
    fail(fmt::format("comes to {:.17g} bytes, no whole number below 2^53: floor() and ceil() make one", amount.value));
  }
  return fmt::format("{}{}", whole ? fmt::format("{:.0f}", amount.value + 0.0) : fmt::format("{}", amount.value),
                     notation->base);
}

}  // namespace

Expression::Expression(std::string_view text) { Parser(text, 0, steps_).whole(); }

Expression::Expression(std::string_view text, std::size_t& at) {
  Parser parser(text, at, steps_);
  parser.closed();
  at = parser.at();
}

NamedValue Expression::value(const LookUp& look_up) const {
  if (steps_.size() == 1 && !steps_.front().name.empty()) return known(steps_.front(), look_up);
  return amount(look_up);
}

Amount Expression::amount(const LookUp& look_up) const {
  std::vector<Amount> stack;
  stack.reserve(steps_.size());
  const auto pop = [&stack] {
    const Amount top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Step& step : steps_) {
    if (step.operands == 0) {
      stack.push_back(step.name.empty() ? step.number : amount_of(step, known(step, look_up)));
    } else if (step.operands == 3) {
      const Amount otherwise = pop();
      const Amount chosen = pop();
      require_alike(step.place, chosen, otherwise, "chosen instead of");
      stack.back() = stack.back().value != 0.0 ? chosen : otherwise;
    } else {
      const Amount right = step.operands == 1 ? stack.back() : pop();
      stack.back() = applied(*step.rule, step.place, stack.back(), right);
    }
  }
  return stack.back();
}

bool has_expression(std::string_view text) { return text.find("$(") != std::string_view::npos; }

std::string replaced(std::string_view text, const LookUp& look_up) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t open = text.find("$("); open != std::string_view::npos; open = text.find("$(", done)) {
    result += text.substr(done, open - done);
    done = open + 2;
    const NamedValue value = Expression(text, done).value(look_up);
    const auto* const word = std::get_if<std::string>(&value);
    result += word != nullptr ? *word : text_of(std::get<Amount>(value), open);
  }
  return result += text.substr(done);
}

NamedValue value_of_text(std::string_view text) {
  const std::string_view bare = trimmed(text);
  for (const Notation& notation : notations()) {
    if (notation.dimension == Dimension::number) {
      const Parsed<double> number = parse_number(bare);
      if (number.error.empty()) return Amount{number.value, {}};
      continue;
    }
    const ParsedQuantity quantity = parse_quantity(bare, notation.dimension);
    if (quantity.ok()) return Amount{quantity.value, notation.powers};
  }
  return std::string(text);
}

bool is_same_value(std::string_view one, std::string_view other) {
  constexpr double of_rounding = 1e-9;
  const NamedValue first = value_of_text(one);
  const NamedValue second = value_of_text(other);
  const auto* const a = std::get_if<Amount>(&first);
  const auto* const b = std::get_if<Amount>(&second);
  if (a == nullptr || b == nullptr) return trimmed(one) == trimmed(other);
  return a->powers == b->powers && std::abs(a->value - b->value) <= of_rounding * std::abs(b->value);
}

bool is_reserved(std::string_view name) {
  return unit_of(name) != nullptr || std::ranges::count(functions, name, &Function::name) > 0 ||
         is_word_of_operator(name);
}

void Variables::declare(const std::string& name, std::string text, ConfigPosition position) {
  in_use_ = true;
  variables_[name] = {std::move(text), position, {}, Variable::State::unread};
}

void Variables::bind(const std::string& name, NamedValue value) {
  in_use_ = true;
  variables_[name] = {{}, {}, std::move(value), Variable::State::known};
}

void Variables::unbind(std::string_view name) {
  const auto found = variables_.find(name);
  if (found != variables_.end()) variables_.erase(found);
}

NamedValue Variables::at(std::string_view name) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    const std::string hint = name_hint(name, variables_, &decltype(variables_)::value_type::first);
    throw std::runtime_error("nothing is named '" + std::string(name.substr(0, 80)) + "'" + hint);
  }
  Variable& variable = found->second;
  if (variable.state == Variable::State::being_read) {
    std::string circle;
    const auto begin = std::ranges::find(being_read_, found->first);
    for (auto one = begin; one != being_read_.end(); ++one) circle += *one + " -> ";
    throw std::runtime_error("a parameter stands on itself: " + circle + found->first);
  }
  if (variable.state == Variable::State::unread) evaluate(found->first, variable);
  if (variable.state == Variable::State::faulty) throw std::runtime_error("");
  return variable.value;
}

void Variables::evaluate(const std::string& name, Variable& variable) {
  constexpr std::size_t most =
      256;  // parameters that use each other: more than a person writes, few enough for the stack
  variable.state = Variable::State::being_read;
  being_read_.push_back(name);
  try {
    if (being_read_.size() > most) throw ExpressionError(0, "more than 256 parameters stand on each other");
    variable.value = value_of_text(replaced(variable.text));
    variable.state = Variable::State::known;
  } catch (const ExpressionError& error) {
    variable.state = Variable::State::faulty;
    if (*error.what() != '\0') faults_.push_back({name, variable.position, error.at(), error.what()});
  }
  being_read_.pop_back();
}

std::string Variables::replaced(std::string_view text) {
  return sim::replaced(text, [this](std::string_view name) { return at(name); });
}

void Variables::evaluate_all() {
  for (auto& [name, variable] : variables_) {
    if (variable.state == Variable::State::unread) evaluate(name, variable);
  }
}

}  // namespace c3sim::sim
