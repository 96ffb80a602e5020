// Arithmetic with units, as files write it in $(...): "$(tokens * hidden * 2B)", "$(gathered / 8)", "$(48GB/s * 2ms)".
// Numbers, units, names, + - * / %, parentheses and the functions min, max, floor, ceil and round: nothing that runs.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/config_text.h"
#include "sim/config/config_tree.h"

namespace c3sim::sim {

// A number with what it measures.
struct Amount {
  double value = 0.0;  // in base units
  Powers powers{};

  bool operator==(const Amount&) const = default;
};

// What a name stands for: an amount, or a word such as "all_gather".
using NamedValue = std::variant<Amount, std::string>;

// What is wrong with an expression, and at which character of its text, from 0.
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(std::size_t at, const std::string& what) : std::runtime_error(what), at_(at) {}
  std::size_t at() const { return at_; }

 private:
  std::size_t at_;
};

// Asked for the names that an expression uses; throws std::runtime_error where one stands for nothing.
using LookUp = std::function<NamedValue(std::string_view name)>;

// Whether anything in the text is to be replaced.
bool has_expression(std::string_view text);

// The text with every $(...) replaced by its value: a whole number as its digits, an amount in its base unit ("1024B").
// Throws ExpressionError for what is no expression, dimensions that do not fit, a division by zero and a value that no
// text can carry: one that is not finite, a fraction of a byte, a negative amount with a unit, bytes times seconds.
std::string replaced(std::string_view text, const LookUp& look_up);

// The amount that a text such as "8192" or "896MiB" spells, or else the text as a word.
NamedValue value_of_text(std::string_view text);
// Whether two texts spell the same, but for rounding: "0.7us" and "700 ns" do.
bool is_same_value(std::string_view one, std::string_view other);

// Whether expressions read the name as something else: a unit or a function.
bool is_reserved(std::string_view name);

// The named values that $(...) of one configuration may use: its parameters, which may stand on each other, and what
// its reader binds while it reads, such as the number of a layer.
class Variables {
 public:
  // A parameter by its text, which is evaluated when it is first asked for; the position is that of its first
  // character.
  void declare(const std::string& name, std::string text, ConfigPosition position);
  // A value that the reader gives; it hides no parameter.
  void bind(const std::string& name, NamedValue value);
  void unbind(std::string_view name);

  bool has(std::string_view name) const { return variables_.contains(name); }
  // Whether any was ever declared or bound: a configuration without is read as it is written.
  bool in_use() const { return in_use_; }
  void use() { in_use_ = true; }

  // The value. Throws std::runtime_error for a name that stands for nothing, a parameter that stands on itself, and,
  // silently (empty what()), one whose own fault is known.
  NamedValue at(std::string_view name);
  // The text with its expressions replaced. Throws ExpressionError.
  std::string replaced(std::string_view text);

  struct Fault {
    std::string name;
    ConfigPosition position;
    std::size_t at = 0;
    std::string what;
  };
  // What was found wrong with parameters since this was last asked.
  std::vector<Fault> take_faults();
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
  std::vector<std::string> being_read_;  // each stands on the next
  std::vector<Fault> faults_;
  bool in_use_ = false;
};

}  // namespace c3sim::sim
