// A layer as PyTorch launches it: each of its operations a kernel, matrix products by the library, attention fused.
#pragma once

#include <functional>
#include <string>

#include "study/program/step_writer.h"

namespace c3sim::study {

// The operations of a layer forward, in their order; returns the last. `again`: they are done once more, as their
// results were not kept.
Written write_forward(StepWriter& writer, bool again = false);

// Copies of tokens, each of which goes to as many experts: those that a GPU sends, and those that its experts are given
// on the GPU that most come to; its experts that have any, and tokens of each, of which all of these have as many.
struct Experts {
  double over_even = 1.0;  // copies that are given over those that are sent
  std::int64_t sent = 0;
  std::int64_t copies = 0;
  std::int64_t busy = 0;
  std::int64_t tokens = 0;
  std::int64_t ffn = 0;  // features of a GPU between the products of an expert
};
Experts experts_of(const StepWriter& writer);

// Copies of tokens on their way to the GPUs of their experts: to each rank, and to all GPUs of it, which share out each
// expert. And back, added up over these GPUs. Nothing where each GPU has a share of every expert. `beside`, if given,
// writes what is computed while tokens travel.
void write_dispatch(StepWriter& writer, const std::string& name, const Experts& experts,
                    const std::function<void()>& beside = {});
void write_combine(StepWriter& writer, const std::string& name, const Experts& experts);

}  // namespace c3sim::study
