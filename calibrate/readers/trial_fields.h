// Reads trials as tables spell them: a kind and named fields, all of them text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.h"
#include "study/ask/trial.h"

namespace c3sim::calibrate {

// Fields hold the words of one trial by name, as written: {"gemm", "8192x8192x8192"}, {"cus", "240"}.
using Fields = std::map<std::string, std::string, std::less<>>;

// Returns all kinds. Those with the name of a question (gemm, c3 ...) have its fields, too (study/ask/words.cpp).
std::vector<std::string_view> trial_kinds();
// Returns the fields that a kind may have. The kind must be one of trial_kinds().
std::vector<std::string_view> fields_of(std::string_view kind);

// Returns the trial. Adds to `faults` all that is wrong with the fields, under their names ("bytes", "is missing: 1B to
// 1TiB are accepted"), or under "trial" for an unknown kind; a trial with faults is worthless. Needs names of
// fields_of().
study::Trial read_trial(std::string_view kind, const Fields& fields, std::vector<sim::Fault>& faults);

}  // namespace c3sim::calibrate
