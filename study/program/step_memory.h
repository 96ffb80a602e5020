// Computes what a step keeps in the memory of one GPU.
#pragma once

#include <string>

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

StepMemory memory_of(const StepQuestion& question, const LayerTemplates& templates);
std::string to_string(const StepMemory& memory);  // "weights 16.1 GB, cache 17.2 GB"

}  // namespace c3sim::study
