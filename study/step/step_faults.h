// Why a step cannot be: what the model, the platform or the question itself contradicts.
#pragma once

#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config_error.h"
#include "study/step/step_question.h"

namespace c3sim::study {

// What of the question the model, the platform or itself contradicts: `where` is the option of the command line,
// without dashes, that asks for it. Memory among it. Empty where it can be asked.
std::vector<sim::Fault> faults_of(const StepQuestion& question, const models::PlatformSpec& platform);

}  // namespace c3sim::study
