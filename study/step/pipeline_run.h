// A step of micro-batches, from what a few of them show: a run of the first stage, one between and the last, with a few
// layers and micro-batches, says what each kind of turn takes; how the turns of all stages follow each other is then
// a matter of their order (study/step/turn_times.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/network/step_question.h"
#include "study/play/testbed.h"
#include "study/play/timeline.h"
#include "study/program/operation_graph.h"
#include "study/program/operators.h"
#include "study/program/step_operation.h"
#include "study/step/step_totals.h"

namespace c3sim::study {

inline constexpr std::int64_t layers_of_stage = 2;  // that are simulated

// Of a question that has several stages or micro-batches, those that are simulated; and what of them is, with few
// layers of each kind, the stage between with those of all kinds that any stage between has.
StepQuestion few_of_pipeline(const StepQuestion& question);
std::vector<StepBlock> few_pipeline_blocks(const StepQuestion& question, const StepMachine& machine);

struct PipelineStep {
  StepTotals totals;     // of all stages, micro-batches and layers
  OperationGraph graph;  // what was simulated
  Timeline timeline;     // of it, launched by hosts that are never late
};

// Of a question that has several stages or micro-batches; `testbed` launches as it says.
PipelineStep pipeline_step(const StepQuestion& question, std::span<const ElementwiseOperator> operators,
                           Testbed& testbed);

}  // namespace c3sim::study
