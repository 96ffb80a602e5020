// How far the prediction of a step is backed by measurements (study/uncertainty/fidelity.h).
#pragma once

#include <span>

#include "study/run/platform_file.h"
#include "study/step/step_question.h"
#include "study/uncertainty/fidelity.h"
#include "study/work/operators.h"

namespace c3sim::study {

// Of what backs least: its products and collectives as they would be alone; attention and kernels that go through
// arrays as assumed where no parameter of theirs was measured or fitted on this platform; launches by the host, where
// it launches op by op, likewise. Never better than extrapolated, as nothing was fitted to whole steps. The question
// has no faults, and says what carries each collective.
Fidelity fidelity_of(const StepQuestion& question, const Platform& platform,
                     std::span<const ElementwiseOperator> operators);

}  // namespace c3sim::study
