// Trials as tables spell them: a kind and named fields, all of them text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.h"
#include "study/ask/trial.h"

namespace c3sim::calibrate {

// Of one trial, by name, as written: {"gemm", "8192x8192x8192"}, {"cus", "240"}. What is not said is absent.
using Fields = std::map<std::string, std::string, std::less<>>;

// gemm, collective, copy, c3, step and serve have the words of the questions of these names (study/ask/words.cpp), and
// others.
std::vector<std::string_view> trial_kinds();
// The fields that a kind may have; it must be one of trial_kinds().
std::vector<std::string_view> fields_of(std::string_view kind);

// The trial; `faults` gets all that is wrong with the fields, each where its field is named, and the trial is then
// worthless: "bytes", "is missing: 1B to 1TiB are accepted". A kind that is not known is a fault of "trial"; the names
// of the fields are known ones.
study::Trial read_trial(std::string_view kind, const Fields& fields, std::vector<sim::Fault>& faults);

}  // namespace c3sim::calibrate
