// Reads arbitrary bytes as a value with expressions: a text without expressions replaces it, or there is an
// ExpressionError at a place within it.
#include <stdexcept>

#include "sim/config/expression.h"
#include "tests/fuzz/fuzz.h"

using namespace c3sim;

void fuzz(std::string_view text) {
  const auto look_up = [](std::string_view name) -> sim::NamedValue {
    if (name == "n") return sim::Amount{3.0, {}};
    if (name == "b") return sim::Amount{1024.0, {1, 0, 0, 0}};
    if (name == "word") return "all_gather";
    throw std::runtime_error("nothing is named so");
  };
  try {
    const std::string made = sim::replaced(text, look_up);
    require(sim::has_expression(text) || made == text);
  } catch (const sim::ExpressionError& error) {
    require(error.at() <= text.size() && *error.what() != '\0');
  }
}
