// Requests over time as a benchmark client measures them, as one of the trials of study/ask/trial.h.
#pragma once

#include <compare>
#include <string>

#include "study/ask/figure.h"
#include "study/serve/serve_question.h"

namespace c3sim::study {

class ServeMachine;

struct ServeTrial {
  ServeQuestion question;  // its model by name
  auto operator<=>(const ServeTrial&) const = default;
};

// The first of its faults, or why its model is not read; empty if it can be asked.
std::string why_impossible(ServeMachine& machine, const ServeTrial& trial);

// Times to the first token, per further token and to the last one, and tokens a second.
Figures observe(ServeMachine& machine, const ServeTrial& trial);

}  // namespace c3sim::study
