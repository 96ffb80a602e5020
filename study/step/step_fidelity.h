// How far the prediction of a step is backed by measurements (study/uncertainty/fidelity.h).
#pragma once

#include <span>

#include "study/run/platform_file.h"
#include "study/step/step_question.h"
#include "study/uncertainty/fidelity.h"
#include "study/work/operators.h"

namespace c3sim::study {

// A step is backed as far as the least backed of its parts. Its products and collectives count as they would alone.
// Attention, kernels that go through arrays and, op by op, launches by the host are assumed where no parameter of
// theirs was measured or fitted on this platform. No step is better than extrapolated, since nothing was fitted to
// whole steps. The question must have no faults, and says what carries each collective.
Fidelity fidelity_of(const StepQuestion& question, const Platform& platform,
                     std::span<const ElementwiseOperator> operators);

}  // namespace c3sim::study
