// Tensor-parallel products whose GPUs share out the tokens between them, in pieces (FiCCO, arXiv 2512.10236; for a GEMM
// by itself study/work/dependent.h): the tokens of all GPUs are gathered piece by piece while products of those before
// are computed, and results are reduced and scattered piece by piece while the next are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/step/step_writer.h"

namespace c3sim::study {

// In so many pieces of whole tokens. What comes before is the shard of the stream that a GPU
// has; gathers and reductions take turns on a stream of their own.
void write_gathered_product(StepWriter& writer, const std::string& name, std::int64_t out, std::int64_t in, int pieces);
// Returns what scatters the pieces, for which whoever needs the whole result waits.
std::vector<Written> write_scattered_product(StepWriter& writer, const std::string& name, std::int64_t out,
                                             std::int64_t in, int pieces);

}  // namespace c3sim::study
