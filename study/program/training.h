// Writes what training adds to the layers: gradients, gathered weights, reduced gradients, the update of the weights.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/program/layer_templates.h"
#include "study/program/step_writer.h"

namespace c3sim::study {

// A Gather fetches a layer's fully sharded weights while the layer before is computed (prefetch of one), as part
// `gather` of common.yaml says; other steps have none. `of` is AlikeWeights::of. `prefix` names the pass.
struct Gather {
  std::string of;
  Written copy_in;
  Written gather;
};
std::vector<Gather> write_gather(StepWriter& writer, const std::string& prefix);
// Makes each gather wait for `last` of the layer two before; `last` is written after the gathers.
void wait_for_layer_before(StepWriter& writer, const std::vector<Gather>& gathers, const Written& last);

// Writes the reduction of a layer's weight gradients over the GPUs with the same weights: reduce-scattered if fully
// sharded, otherwise all-reduced in buckets as they become complete, of which the head's is the first. Returns the
// reductions, which the update waits for.
std::vector<Written> write_reduction(StepWriter& writer, const std::vector<Gather>& gathers,
                                     const std::vector<ProductGradients>& gradients);
// Writes the reduction of the head's gradient, which is complete with the last operation; nothing if it is reduced with
// that of the embedding.
Written write_head_reduction(StepWriter& writer);

// Writes one all-reduce of the gradients of a stage's layers and of the share `ends` of embedding and head, after its
// last micro-batch, as Megatron-LM does by default.
void write_reduction_of_turns(StepWriter& writer, std::span<const LayerGroup> groups, double ends);

// Both write collectives for embedding and head: the gather of sharded weights, which stay gathered, and the reduction
// of their gradients, which come last.
void write_end_gather(StepWriter& writer);
void write_end_reduction(StepWriter& writer);

// Writes the update of the weights of these layers, and of the share `ends` of embedding and head, after all
// `reductions`.
void write_update(StepWriter& writer, std::span<const LayerGroup> groups, const std::vector<Written>& reductions,
                  double ends = 1.0);

}  // namespace c3sim::study
