// Schedules of a GEMM and the collective that it depends on, or that depends on it, after FiCCO (arXiv 2512.10236): all
// of one after the other, in the shards that lie on the GPUs, or one level finer, so that all links work at once.
//   gather   C[m x n] = A[m x k] * B[k x n], where the columns of B (tokens) lie on the GPUs in equal shards and every
//            GPU needs them all: an all-gather feeds the GEMM
//   scatter  every GPU has such a product of its own, and its columns are added up over the GPUs, each of which keeps a
//            shard of the sum: the GEMM feeds a reduce-scatter
#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>

#include "models/platform/collective_spec.h"
#include "models/platform/gemm_shape.h"
#include "models/platform/platform_spec.h"
#include "study/program/operation.h"

namespace c3sim::study {

struct DependentSchedule {
  enum class Collective { none, gather, scatter };  // none: the GEMM alone, in `pieces`
  // finer: every shard in 8 pieces; step s has piece s of all of them. triggered: the same pieces of one GEMM,
  // which travel as they are complete (models/collectives/fused_gemm.h).
  enum class Grain { serial, shard, finer, triggered };

  Collective collective = Collective::gather;
  Grain grain = Grain::serial;
  models::Backend backend = models::Backend::rccl;
  bool own_shard_apart = false;     // hetero: multiplied first (gather) or last (scatter); else uniform
  bool fused = true;                // one GEMM per step, or one per peer and step
  CutAxis axis = CutAxis::tokens;   // 1d, or 2d: pieces of k where they are gathered, of m where they are scattered
  std::int64_t pieces = 1;          // of the GEMM alone
  models::TriggerChoice trigger{};  // of what is triggered, as path and stores are
  models::FusedPath path = models::FusedPath::direct;
  bool stores = false;

  auto operator<=>(const DependentSchedule&) const = default;
};

// "finer_hetero_fused_1d" by copy engines, "scatter_by_flag", "scatter_by_tracker_ring_stores",
// "rccl_finer_uniform_fused_2d", "scatter_serial_sdma", "gemm_8_row_pieces".
std::string_view to_string(const DependentSchedule& schedule);
// Those that are triggered, for which a machine may lack what they need.
std::span<const DependentSchedule> triggered_schedules();
// All others that have a name. RCCL moves whole shards or pieces of all of them at once; what is scattered by its
// kernels has no shard apart.
std::span<const DependentSchedule> all_dependent_schedules();
// The one of that name, which there is.
const DependentSchedule& dependent_schedule(std::string_view name);

// The bytes of the array that is gathered, k x n elements, or scattered, m x n.
sim::Bytes gathered_bytes(const models::GemmShape& shape);
sim::Bytes scattered_bytes(const models::GemmShape& shape);

// Why the columns cannot be cut so, in one sentence that says what would be accepted; empty if they can.
std::string why_impossible(const DependentSchedule& schedule, const models::GemmShape& shape,
                           const models::PlatformSpec& platform);

// Operations on streams "compute", "communication", "reduction" and one per peer; the schedule is possible. Pieces are
// whole tokens, or whole elements of k or m, and differ by one at most: of fewer than there are pieces some have none
// and are left out.
Schedule operations_of(const DependentSchedule& schedule, const models::GemmShape& shape,
                       const models::PlatformSpec& platform);

}  // namespace c3sim::study
