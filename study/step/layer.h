// A layer as PyTorch launches it: each of its operations a kernel, matrix products by the library, attention fused.
#pragma once

#include <string>

#include "study/step/step_writer.h"

namespace c3sim::study {

// The operations of a layer forward, in their order. `prefix` is put before their names.
void write_forward(StepWriter& writer, const std::string& prefix);

}  // namespace c3sim::study
