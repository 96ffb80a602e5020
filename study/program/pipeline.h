// A pipeline on one node: each stage has its layers, which may be of several kinds, and GPUs that share out its
// products and experts; micro-batches go through all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/network/step_question.h"
#include "study/program/step_operation.h"

namespace c3sim::study {

// Of a stage, in its order. Without gradients micro-batches follow each other; with them a stage has, once the last one
// can have been reached, a gradient behind each forward pass (1F1B: PipeDream-Flush, Narayanan et al., arXiv
// 2104.04473), so that it keeps the activations of as many micro-batches as there are stages behind it, and its own.
std::vector<Turn> turns_of(int stage, int stages, int micro_batches, bool trains);

// The layers of a stage that are written, kind by kind as StepQuestion::groups has them, and those that it updates.
struct StageLayers {
  std::vector<LayerGroup> written;
  std::vector<LayerGroup> updated;
  std::int64_t most_behind = most_layers;  // of a kind, behind the first layer of a turn
};

// The step of a question that has no faults, with so many layers of each kind of each stage, and the update of all; and
// of a question whose stages have these layers. What goes from one stage to the next is sent by an engine, or else by
// as many workgroups as RCCL has channels to a peer, behind the last kernel of a turn and beside the next turn; a stage
// waits for what it needs of it.
std::vector<StepBlock> pipeline_blocks(const StepQuestion& question, std::int64_t layers, const StepMachine& machine);
std::vector<StepBlock> pipeline_blocks(const StepQuestion& question, std::span<const StageLayers> stages,
                                       const StepMachine& machine);

}  // namespace c3sim::study
