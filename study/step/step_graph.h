// A step as operations on streams.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/step/step_operation.h"
#include "study/step/step_question.h"
#include "study/work/operation_graph.h"
#include "study/work/operators.h"

namespace c3sim::study {

// The step of a question that has no faults, with so many layers, of each stage. Throws sim::ConfigError where the
// configurations lack an operator.
std::vector<StepBlock> step_blocks(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                                   std::int64_t layers, const models::PlatformSpec& platform);

// Expanded, on all GPUs of the platform; resolved. A framework launches it: all that begins with a kernel is queued.
// Before it hosts pause, which is an operation of that name.
inline constexpr auto pause_name = "pause";
OperationGraph graph_of(std::span<const StepBlock> blocks, const models::PlatformSpec& platform, sim::Time pause = {});

}  // namespace c3sim::study
