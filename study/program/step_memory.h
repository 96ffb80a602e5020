// Computes what a step keeps in the memory of one GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/network/step_question.h"
#include "study/program/layer_templates.h"

namespace c3sim::study {

struct StepMemory {
  sim::Bytes weights;
  sim::Bytes gradients;
  sim::Bytes states;       // optimizer: two moments, and a copy of weights that are not in single precision
  sim::Bytes activations;  // those kept for the gradient, or in inference those of one layer
  sim::Bytes cache;        // keys and values of all tokens

  sim::Bytes total() const { return weights + gradients + states + activations + cache; }
};

// A CachedTensor is a tensor of the `cache` of layers of one kind on one GPU, by how it grows with a sequence.
struct CachedTensor {
  std::int64_t layers = 0;
  sim::Bytes of_sequence{};  // whatever its length, as of a state
  sim::Bytes of_token{};
  std::int64_t window = 0;  // tokens up to which it grows; 0: any number

  // Returns the bytes of a block of so many tokens, the first of a sequence.
  sim::Bytes of_block(std::int64_t tokens) const { return of_sequence + static_cast<double>(tokens) * of_token; }
};
std::vector<CachedTensor> cached_tensors(StepQuestion question, const LayerTemplates& templates);

StepMemory memory_of(const StepQuestion& question, const LayerTemplates& templates);
std::string to_string(const StepMemory& memory);  // "weights 16.1 GB, cache 17.2 GB"

}  // namespace c3sim::study
