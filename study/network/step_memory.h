// Computes what a step keeps in the memory of one GPU.
#pragma once

#include <string>
#include <vector>

#include "study/network/step_question.h"

namespace c3sim::study {

struct StepMemory {
  sim::Bytes weights;
  sim::Bytes gradients;
  sim::Bytes states;       // optimizer: two moments, and a copy of weights that are not in single precision
  sim::Bytes activations;  // those kept for the gradient, or in inference those of one layer
  sim::Bytes cache;        // keys and values of all tokens

  sim::Bytes total() const { return weights + gradients + states + activations + cache; }
};

// AlikeWeights are weights of a layer that `holders` GPUs hold alike: these GPUs add up the gradients, and each keeps a
// share of the weights if they are sharded.
struct AlikeWeights {
  std::string of;  // prefix of names: "" for all weights, or `alike_experts`, `alike_router` or `alike_keys`
  double count = 0.0;
  int holders = 1;
};
inline constexpr auto alike_experts = "expert_";
inline constexpr auto alike_router = "router_";  // of the router and the experts that all tokens use
inline constexpr auto alike_keys = "keys_";      // of the projections to keys and values
// Returns one entry for a layer on one GPU, and further ones for experts if other GPUs hold them alike, for what the tp
// GPUs use on different tokens each, and for heads of keys and values that several of the tp GPUs have for different
// queries each: these GPUs add up gradients, too.
std::vector<AlikeWeights> alike_weights(const StepQuestion& question);
double layer_weights(const StepQuestion& question);  // the sum of alike_weights()
// Returns the weights of embedding and head on one GPU; 0 if the step has only layers.
double end_weights(const StepQuestion& question);
double head_weights(const StepQuestion& question);  // the part in the head

// Returns a stage's share of end_weights() if it is the first or last: half, or all with one stage or tied weights.
double end_share(const StepQuestion& question);

StepMemory memory_of(const StepQuestion& question);
std::string to_string(const StepMemory& memory);  // "weights 16.1 GB, cache 17.2 GB"

}  // namespace c3sim::study
