// Schedules of an all-gather that feeds a GEMM: C[m x n] = A[m x k] * B[k x n], where the columns of B (tokens) lie on
// the GPUs in equal shards and every GPU needs them all. After FiCCO (arXiv 2512.10236): whole shards, or shards in
// pieces so that all links work at once.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/platform/gemm_shape.h"
#include "models/platform/platform_spec.h"
#include "study/operation.h"

namespace c3sim::study {

enum class DependentSchedule {
  gemm_8_row_pieces,        // the GEMM alone, in 8 pieces of tokens
  gemm_64_row_pieces,       // in 64
  gemm_8_k_pieces,          // in 8 pieces of the contraction
  serial_rccl,              // all-gather by kernels, then the GEMM
  serial_sdma,              // by engines
  shard_overlap,            // shards pulled from one peer after another, a GEMM per shard, the GPU's own first
  finer_uniform_fused_1d,   // shards in 8 pieces of tokens; step s brings piece s of all peers; a GEMM per step
  finer_hetero_fused_1d,    // the GPU's own shard first, then a GEMM per step
  finer_hetero_unfused_1d,  // the GPU's own shard first, then a GEMM per piece
  finer_uniform_fused_2d    // pieces of the contraction, accumulated; a GEMM per step
};

std::string_view to_string(DependentSchedule schedule);
std::span<const DependentSchedule> all_dependent_schedules();

// The bytes of the array that is gathered: k x n elements.
sim::Bytes gathered_bytes(const models::GemmShape& shape);

// Why the columns cannot be cut so, in one sentence that says what would be accepted; empty if they can.
std::string why_impossible(DependentSchedule schedule, const models::GemmShape& shape,
                           const models::PlatformSpec& platform);

// Operations on streams "compute", "communication" and one per GPU and peer; the schedule is possible. Pieces are whole
// tokens, or whole elements of k, and differ by one at most: of fewer than there are pieces some have none and are left
// out.
Schedule operations_of(DependentSchedule schedule, const models::GemmShape& shape,
                       const models::PlatformSpec& platform);

}  // namespace c3sim::study
