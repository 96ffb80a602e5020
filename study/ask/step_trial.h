// A whole step as programs time it, as one of the trials of study/ask/trial.h.
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "study/ask/figure.h"
#include "study/run/testbed.h"
#include "study/step/step_operation.h"
#include "study/step/step_question.h"

namespace c3sim::study {

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

}  // namespace c3sim::study
