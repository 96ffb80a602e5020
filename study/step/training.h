// What training adds to the layers: gradients, gathered weights, reduced gradients, the update of the weights.
#pragma once

#include <string>

#include "study/step/step_writer.h"

namespace c3sim::study {

// Before a layer of fully sharded weights: its weights, gathered while the layer before is computed (prefetch of one),
// and the copies into and out of the gathered buffer. `prefix` tells the pass.
void write_gather(StepWriter& writer, const std::string& prefix);

// The operations of the gradient of a layer, in their order.
void write_backward(StepWriter& writer);

// Behind the gradient of a layer: the gradients of its weights, over the GPUs that have these alike: reduced and
// scattered where they are fully sharded, else all-reduced in buckets as they come. The head's are the first bucket.
void write_reduction(StepWriter& writer);
void write_head_reduction(StepWriter& writer);

// The gradients of a stage, and of so large a share of embedding and head, in one piece behind its last micro-batch: as
// Megatron-LM has it unless told to overlap them.
void write_reduction_of_turns(StepWriter& writer, double ends);

// The same of the weights of embedding and head, where they are sharded: they stay gathered. And of their gradients,
// which come last.
void write_end_gather(StepWriter& writer);
void write_end_reduction(StepWriter& writer);

// The update of the weights of so many layers, and of so large a share of the rest where the step has it.
void write_update(StepWriter& writer, std::int64_t layers, double ends = 1.0);

}  // namespace c3sim::study
