// How far off times were that nothing was fitted to: what `unfitted_errors` of a platform file says, so that intervals
// are no narrower (study/uncertainty/ensemble.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/report/result_table.h"
#include "study/uncertainty/ensemble.h"
#include "validate/case.h"

namespace c3sim::validate {

struct UnfittedError {
  std::string platform;
  study::Unfitted work;
  std::size_t cases = 0;  // of this work, or, where those are too few to tell, of all of the platform
  bool of_all = false;
  double median = 0.0;  // factor between predicted and measured, less one
  // The same that nine in ten stay within, if logarithms of factors are normal and have this median. Fewer do: sizes at
  // which latency rules are far off, and would make every interval as wide as theirs.
  double nine_in_ten = 0.0;
};

// Of times with the role of predictions that are scored, by platform, each of the three kinds of work. None of a
// platform with fewer than ten.
std::vector<UnfittedError> unfitted_errors(std::span<const Case> cases);

study::ResultTable table_of(std::span<const UnfittedError> errors);

}  // namespace c3sim::validate
