// Schedules a GEMM and a collective one of which depends on the other, after FiCCO (arXiv 2512.10236): one after the
// other, overlapped shard by shard, or in pieces of shards so that all links work at once.
//   gather   C[m x n] = A[m x k] * B[k x n], where the columns of B (tokens) lie on the GPUs in equal shards and every
//            GPU needs them all: an all-gather feeds the GEMM
//   scatter  every GPU computes such a product, and the columns are added up over the GPUs, each of which keeps a
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
  enum class Collective { none, gather, scatter };  // none: only the GEMM, in `pieces`
  // finer: every shard is cut into 8 pieces, and step s handles piece s of all shards. triggered: a single fused GEMM,
  // whose pieces travel as soon as they are complete (models/collectives/fused_gemm.h).
  enum class Grain { serial, shard, finer, triggered };

  Collective collective = Collective::gather;
  Grain grain = Grain::serial;
  models::Backend backend = models::Backend::rccl;
  bool own_shard_apart = false;     // hetero: own shard multiplied first (gather) or last (scatter); else uniform
  bool fused = true;                // one GEMM per step; else one per peer and step
  CutAxis axis = CutAxis::tokens;   // tokens: 1d; contraction: 2d, pieces of k (gather) or of m (scatter)
  std::int64_t pieces = 1;          // of a GEMM without collective
  models::TriggerChoice trigger{};  // for Grain::triggered only, as are `path` and `stores`
  models::FusedPath path = models::FusedPath::direct;
  bool stores = false;

  auto operator<=>(const DependentSchedule&) const = default;
};

// Returns the name of a schedule: "finer_hetero_fused_1d" by copy engines, "scatter_by_flag",
// "scatter_by_tracker_ring_stores", "rccl_finer_uniform_fused_2d", "scatter_serial_sdma", "gemm_8_row_pieces".
std::string_view to_string(const DependentSchedule& schedule);
// Returns the triggered schedules; a machine may lack what they need.
std::span<const DependentSchedule> triggered_schedules();
// Returns all other schedules with a name. RCCL moves whole shards, or pieces of all shards at once; a reduce-scatter
// by RCCL does not treat the own shard apart.
std::span<const DependentSchedule> all_dependent_schedules();

// gathered_bytes() are those of the gathered array of k x n elements, scattered_bytes() those of the m x n array.
sim::Bytes gathered_bytes(const models::GemmShape& shape);
sim::Bytes scattered_bytes(const models::GemmShape& shape);

// Returns why the columns cannot be cut for this schedule, and what would be accepted; empty if they can.
std::string why_impossible(const DependentSchedule& schedule, const models::GemmShape& shape,
                           const models::PlatformSpec& platform);

// Returns the operations of the schedule's collective by itself, as a whole and by the backend of the schedule.
Schedule collective_of(const DependentSchedule& schedule, const models::GemmShape& shape,
                       const models::PlatformSpec& platform);

// Returns the operations of a possible schedule, on streams "compute", "communication", "reduction" and one per peer.
// Pieces are whole tokens, or whole elements of k or m, and differ by at most one element; empty pieces are left out.
Schedule operations_of(const DependentSchedule& schedule, const models::GemmShape& shape,
                       const models::PlatformSpec& platform);

}  // namespace c3sim::study
