// Whole models as trials of study/ask/trial.h: a step as programs time it, and requests over time as a benchmark client
// measures them.
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "study/ask/figure.h"
#include "study/run/testbed.h"
#include "study/serve/serve_question.h"
#include "study/step/step_operation.h"
#include "study/step/step_question.h"

namespace c3sim::study {

class ServeMachine;

struct StepTrial {
  StepQuestion question;
  std::optional<Kind> kind{};  // of the kernels that kernel_time is of; none: all
  auto operator<=>(const StepTrial&) const = default;
};

std::string to_string(const StepTrial& trial);  // "decode of llama3-8b, 8 x 1 tokens, 1024 cached, 4 layers, tp 2"

// Why the testbed's platform cannot run it: the first of its faults; empty if it can.
std::string why_impossible(const Testbed& testbed, const StepTrial& trial);

// Time, kernel_time, energy, power and clock.
Figures observe(Testbed& testbed, const StepTrial& trial);

// Sums over its operations at peak rates of matrix units, HBM and links, of those that compute and those that
// communicate.
struct StepRoofline {
  sim::Seconds compute;
  sim::Seconds communication;
};
StepRoofline roofline(const StepTrial& trial, const models::PlatformSpec& platform);

struct ServeTrial {
  ServeQuestion question;  // its model by name
  auto operator<=>(const ServeTrial&) const = default;
};

// The first of its faults, or why its model is not read; empty if it can be asked.
std::string why_impossible(ServeMachine& machine, const ServeTrial& trial);

// Times to the first token, per further token and to the last one, and tokens a second.
Figures observe(ServeMachine& machine, const ServeTrial& trial);

}  // namespace c3sim::study
