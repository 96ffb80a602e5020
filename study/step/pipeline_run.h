// Computes a step of a pipeline from a run of a few layers and micro-batches on the first stage, one in between and the
// last. The run tells how long each kind of turn takes alone; the turns of all stages are then played together.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/units.h"
#include "study/network/step_question.h"
#include "study/play/testbed.h"
#include "study/play/timeline.h"
#include "study/program/layer_templates.h"
#include "study/program/operation_graph.h"
#include "study/program/step_operation.h"
#include "study/step/step_totals.h"

namespace c3sim::study {

inline constexpr std::int64_t layers_of_stage = 2;  // simulated layers of each kind per stage

// few_of_pipeline() returns the question that is simulated for one with several stages or micro-batches;
// few_pipeline_blocks() returns its blocks, in which the stage in between has all kinds of layers of such stages.
StepQuestion few_of_pipeline(const StepQuestion& question);
std::vector<StepBlock> few_pipeline_blocks(const StepQuestion& question, const StepMachine& machine);

struct PipelineStep {
  StepTotals totals;     // all stages, micro-batches and layers
  OperationGraph graph;  // of the simulated part
  Timeline timeline;     // of the simulated part, launched by hosts that are never late
};

// Computes a step with several stages or micro-batches; `testbed` determines how it is launched.
PipelineStep pipeline_step(const StepQuestion& question, const LayerTemplates& templates, Testbed& testbed);

}  // namespace c3sim::study
