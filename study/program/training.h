// What training adds to the layers: gradients, gathered weights, reduced gradients, the update of the weights.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/program/step_writer.h"

namespace c3sim::study {

// Before a layer of fully sharded weights: its weights, gathered while the layer before is computed (prefetch of one),
// and the copies into and out of the gathered buffer; `of` whose they are (AlikeWeights). `prefix` tells the pass.
struct Gather {
  std::string of;
  Written copy_in;
  Written gather;
};
std::vector<Gather> write_gather(StepWriter& writer, const std::string& prefix);
// Each begins once the layer before the one before has come to its `last`, which is written behind them.
void wait_for_layer_before(StepWriter& writer, const std::vector<Gather>& gathers, const Written& last);

// The gradients of a product, those of its weights as they are added up.
struct ProductGradients {
  std::string of;
  Written input;
  Written weights;
};
// The operations of the gradient of a layer, in their order.
std::vector<ProductGradients> write_backward(StepWriter& writer);

// Behind the gradient of a layer: the gradients of its weights, over the GPUs that have these alike: reduced and
// scattered where they are fully sharded, else all-reduced in buckets as they come. The head's are the first bucket.
// Returns what reduces, which the update waits for.
std::vector<Written> write_reduction(StepWriter& writer, const std::vector<Gather>& gathers,
                                     const std::vector<ProductGradients>& gradients);
Written write_head_reduction(StepWriter& writer, const Written& head_weights);

// The gradients of a stage's layers, and of so large a share of embedding and head, in one piece behind its last
// micro-batch: as Megatron-LM has it unless told to overlap them.
void write_reduction_of_turns(StepWriter& writer, std::span<const LayerGroup> groups, double ends);

// The same of the weights of embedding and head, where they are sharded: they stay gathered. And of their gradients,
// which come last.
void write_end_gather(StepWriter& writer);
void write_end_reduction(StepWriter& writer);

// The update of the weights of these layers, and of so large a share of the rest where the step has it, behind all
// that reduces their gradients beside them.
void write_update(StepWriter& writer, std::span<const LayerGroup> groups, const std::vector<Written>& reductions,
                  double ends = 1.0);

}  // namespace c3sim::study
