// A validation in Markdown: what docs/accuracy.md, docs/deviations.md and the README's table of accuracy are made of.
#pragma once

#include <string>

#include "validate/validation.h"

namespace c3sim::validate {

// Everything but the cases: errors by suite and group, simple rules, choices, claims, what is not compared.
std::string accuracy_page(const Validation& validation);

// The known deviations, each with its size of today, its cause and what would decide.
std::string deviations_page(const Validation& validation);

// One table: a row per suite and role.
std::string accuracy_table(const Validation& validation);

}  // namespace c3sim::validate
