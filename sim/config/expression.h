// Evaluates arithmetic with units, which files write in $(...): "$(tokens * hidden * 2B)", "$(gathered / 8)", "$(48GB/s
// * 2ms)". An expression has numbers, units, names, + - * / %, parentheses, min, max, floor, ceil and round; conditions
// are 1 or 0 and have == != < <= > >=, and, or, not, and if(condition, value, value otherwise).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/config/config_text.h"
#include "sim/config/config_tree.h"

namespace c3sim::sim {

// An Amount is a number with its dimension.
struct Amount {
  double value = 0.0;  // in base units
  Powers powers{};

  bool operator==(const Amount&) const = default;
};

// A NamedValue is what a name stands for: an amount, or a word such as "all_gather".
using NamedValue = std::variant<Amount, std::string>;

// Says what is wrong with an expression; at() is the index of the faulty character in its text, from 0.
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(std::size_t at, const std::string& what) : std::runtime_error(what), at_(at) {}
  std::size_t at() const { return at_; }

 private:
  std::size_t at_;
};

// Returns the value of a name that an expression uses. Throws std::runtime_error if the name is unknown.
using LookUp = std::function<NamedValue(std::string_view name)>;

// An Expression is read once and evaluated often.
class Expression {
 public:
  // Reads the whole text, which is what others have between "$(" and ")". Throws ExpressionError where it is none.
  explicit Expression(std::string_view text);
  // Reads the expression at `at` and moves `at` behind the ')' that closes it.
  Expression(std::string_view text, std::size_t& at);

  // Returns its value, a word only if it is a name alone. Throws ExpressionError for dimensions that do not fit, a
  // division by zero, a word in arithmetic and a name that `look_up` does not know.
  NamedValue value(const LookUp& look_up) const;
  Amount amount(const LookUp& look_up) const;  // throws for a word, too

  // A Step takes its operands from a stack, on which it leaves its result. A step without operands is a number or, if
  // it has a name, the value of that; one with three chooses the second or the third.
  struct Rule;
  struct Step {
    int operands = 0;
    std::size_t place = 0;  // in the text
    Amount number{};
    const Rule* rule = nullptr;  // of an operator or a function
    std::string name{};
  };
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

// Returns whether the text contains an expression.
bool has_expression(std::string_view text);

// Replaces every $(...) of the text by its value: a whole number by its digits, an amount in its base unit ("1024B").
// Throws ExpressionError for an invalid expression, dimensions that do not fit, a division by zero and a value that no
// text can carry: one that is not finite, a fraction of a byte, a negative amount with a unit, bytes times seconds.
std::string replaced(std::string_view text, const LookUp& look_up);

// Returns the amount that a text such as "8192" or "896MiB" spells; any other text is a word.
NamedValue value_of_text(std::string_view text);
// Returns whether two texts spell the same value, apart from rounding, as "0.7us" and "700 ns" do.
bool is_same_value(std::string_view one, std::string_view other);

// Returns whether expressions read the name as a unit or a function.
bool is_reserved(std::string_view name);

// Holds the named values that expressions of one configuration may use: its parameters, which may use each other, and
// values that its reader binds while it reads, such as the number of a layer.
class Variables {
 public:
  // Declares a parameter, which is evaluated when it is first asked for. `position` is that of the first character of
  // `text`.
  void declare(const std::string& name, std::string text, ConfigPosition position);
  // Binds a value that the reader gives. `name` must not be that of a parameter, which it would replace.
  void bind(const std::string& name, NamedValue value);
  void unbind(std::string_view name);

  bool has(std::string_view name) const { return variables_.contains(name); }
  // Returns whether any name was ever declared or bound. If not, texts are read as written.
  bool in_use() const { return in_use_; }
  void use() { in_use_ = true; }

  // Returns the value of a name. Throws std::runtime_error if the name is unknown or its parameter uses itself, and
  // with an empty what() if the parameter has a fault that is already known.
  NamedValue at(std::string_view name);
  // Replaces the expressions of the text by their values. Throws ExpressionError.
  std::string replaced(std::string_view text);

  struct Fault {
    std::string name;
    ConfigPosition position;
    std::size_t at = 0;
    std::string what;
  };
  // Returns the faults of parameters found since the last call.
  std::vector<Fault> take_faults() { return std::exchange(faults_, {}); }
  // Evaluates all parameters.
  void evaluate_all();

 private:
  struct Variable {
    std::string text;
    ConfigPosition position;
    NamedValue value;
    enum class State { unread, being_read, known, faulty } state = State::unread;
  };
  void evaluate(const std::string& name, Variable& variable);

  std::map<std::string, Variable, std::less<>> variables_;
  std::vector<std::string> being_read_;  // names under evaluation, each of which uses the next
  std::vector<Fault> faults_;
  bool in_use_ = false;
};

}  // namespace c3sim::sim
