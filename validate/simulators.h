// Other simulators beside c3sim: what each said of the same runs that were measured.
#pragma once

#include "study/report/result_table.h"
#include "validate/validation.h"

namespace c3sim::validate {

// For each figure that others predicted, of all cases, of each model and of each load: median errors, in percent. That
// of another simulator is over the cases that it predicts, beside how many these are; c3sim's over all.
study::ResultTable simulators_table(const Validation& validation);

}  // namespace c3sim::validate
