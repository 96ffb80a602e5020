#include "sim/config/variables.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/config/nearest_name.h"

namespace c3sim::sim {

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
      256;  // that stand on each other: far beyond what a person writes, and shallow for a stack
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

std::vector<Variables::Fault> Variables::take_faults() { return std::exchange(faults_, {}); }

void Variables::evaluate_all() {
  for (auto& [name, variable] : variables_) {
    if (variable.state == Variable::State::unread) evaluate(name, variable);
  }
}

}  // namespace c3sim::sim
