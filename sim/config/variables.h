// The named values that $(...) of one configuration may use: its parameters, which may stand on each other, and what
// its reader binds while it reads, such as the number of a layer.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_tree.h"
#include "sim/config/expression.h"

namespace c3sim::sim {

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
