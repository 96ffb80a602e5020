// Writes the steps of a pipeline on one node: each stage has layers of one or several kinds and GPUs that share out its
// products and experts; micro-batches pass through all stages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/network/step_question.h"
#include "study/program/step_operation.h"

namespace c3sim::study {

// Returns the turns of a stage in order. Without gradients, micro-batches follow each other. In training, once the last
// stage can have been reached, a gradient follows each forward pass (1F1B: PipeDream-Flush, Narayanan et al., arXiv
// 2104.04473), so that a stage keeps activations of as many micro-batches as there are later stages, and its own.
std::vector<Turn> turns_of(int stage, int stages, int micro_batches, bool trains);

// StageLayers are the layers of a stage to write, kind by kind as in StepQuestion::groups, and those that it updates.
struct StageLayers {
  std::vector<LayerGroup> written;
  std::vector<LayerGroup> updated;
  std::int64_t most_behind = most_layers;  // most layers of a kind after the first layer of a turn
};

// Writes the step of a question without faults, with at most `layers` layers of each kind per stage, or with the given
// layers of each stage; the first form updates all layers. Stages send to each other by an engine, or by a kernel with
// as many workgroups as RCCL has channels to a peer, after the last kernel of a turn and concurrently with the next
// turn; the receiving stage waits for the data that it needs.
std::vector<StepBlock> pipeline_blocks(const StepQuestion& question, std::int64_t layers, const StepMachine& machine);
std::vector<StepBlock> pipeline_blocks(const StepQuestion& question, std::span<const StageLayers> stages,
                                       const StepMachine& machine);

}  // namespace c3sim::study
