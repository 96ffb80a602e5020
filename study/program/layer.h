// Writes a layer as PyTorch launches it: one kernel per operation, matrix products by the library, fused attention; and
// what a model has before and after its layers (study/program/ends.cpp).
#pragma once

#include <functional>
#include <string>

#include "study/program/step_writer.h"

namespace c3sim::study {

// Writes the forward pass of a layer and returns its last operation. `again`: the pass is a recomputation, because its
// results were not kept.
Written write_forward(StepWriter& writer, bool again = false);

// Experts counts copies of tokens, one per expert that a token uses: `sent` by a GPU; `copies` received by the most
// loaded GPU, for its `busy` experts with `tokens` each.
struct Experts {
  double over_even = 1.0;  // copies that the most loaded GPU receives, relative to an even distribution
  std::int64_t sent = 0;
  std::int64_t copies = 0;
  std::int64_t busy = 0;
  std::int64_t tokens = 0;
  double of_model = 1.0;  // copies of the mean GPU over those that its products have
  std::int64_t ffn = 0;   // features of an expert between its products, on a GPU
};
Experts experts_of(const StepWriter& writer);

// write_dispatch() sends copies of tokens to the ranks of their experts and to all GPUs that share out these experts;
// write_combine() sends results back, summed over these GPUs. Without expert parallelism both write nothing. `beside`
// writes what is computed while tokens travel.
void write_dispatch(StepWriter& writer, const std::string& name, const Experts& experts,
                    const std::function<void()>& beside = {});
void write_combine(StepWriter& writer, const std::string& name, const Experts& experts);

// These write embedding, last norm, head and loss, and their gradients.
void write_embedding(StepWriter& writer);
void write_head(StepWriter& writer);
Written write_head_gradient(StepWriter& writer);  // returns the gradient of the weights
void write_embedding_gradient(StepWriter& writer);

}  // namespace c3sim::study
