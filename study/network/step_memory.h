// What a step keeps in the memory of one GPU.
#pragma once

#include <string>
#include <vector>

#include "study/network/step_question.h"

namespace c3sim::study {

struct StepMemory {
  sim::Bytes weights;
  sim::Bytes gradients;
  sim::Bytes states;       // of the optimizer: two moments, and weights in single precision where they are not
  sim::Bytes activations;  // that the gradient needs, or those of one layer
  sim::Bytes cache;        // keys and values of all tokens

  sim::Bytes total() const { return weights + gradients + states + activations + cache; }
};

// Weights of a layer on one GPU that as many GPUs have alike: these add up their gradients, and share them out where
// they are sharded.
struct AlikeWeights {
  std::string of;  // before names: "" of all, or "expert_"
  double count = 0.0;
  int holders = 1;
};
// Those of experts apart, where other GPUs have them alike than have the rest.
std::vector<AlikeWeights> alike_weights(const StepQuestion& question);
double layer_weights(const StepQuestion& question);  // the sum
// Of embedding and head, 0 where the step has layers alone.
double end_weights(const StepQuestion& question);
double head_weights(const StepQuestion& question);  // of these, of the head alone

// Of these, what a stage has that begins or ends the model: embedding and head, or the one matrix that is both.
double end_share(const StepQuestion& question);

StepMemory memory_of(const StepQuestion& question);
std::string to_string(const StepMemory& memory);  // "weights 16.1 GB, cache 17.2 GB"

}  // namespace c3sim::study
