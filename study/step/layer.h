// A layer as PyTorch launches it: each of its operations a kernel, matrix products by the library, attention fused.
#pragma once

#include <string>

#include "study/step/step_writer.h"

namespace c3sim::study {

// The operations of a layer forward, in their order. `prefix` is put before their names.
void write_forward(StepWriter& writer, const std::string& prefix);

// What the experts of a GPU are given, where tokens are spread evenly: copies of tokens for all of them, those that
// have any, tokens of each.
struct Experts {
  std::int64_t copies = 0;
  std::int64_t busy = 0;
  std::int64_t tokens = 0;
};
Experts experts_of(const StepWriter& writer);

}  // namespace c3sim::study
