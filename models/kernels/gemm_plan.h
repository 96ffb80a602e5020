// A GemmPlan says which library kernel a shape gets, how it cuts the product into pieces, and how long a CU takes for
// one.
#pragma once

#include <cstdint>
#include <optional>

#include "models/machine/cu_mask.h"
#include "models/platform/gpu_spec.h"

namespace c3sim::models {

struct GemmPlan {
  GemmShape shape;
  GemmKernelSpec kernel;
  std::int64_t tiles_m = 0;
  std::int64_t tiles_n = 0;
  int grouped_rows = 0;          // see GemmLibrary
  std::int64_t l2_drift = 0;     // see GemmLibrary
  std::int64_t cache_drift = 0;  // see GemmLibrary
  int per_cu = 1;                // workgroups that fit a CU together
  double efficiency = 0.0;       // share of the matrix peak at the actual clock that a full CU reaches
  double cycles = 0.0;           // time of a full, undisturbed CU for one piece per workgroup
  double around = 0.0;           // share of `cycles` outside the loop along k: first loads, output
  double l2_conflicts = 1.0;     // factor on the bytes of a piece at the L2, for conflicts
  double alone_share = 1.0;      // share of `efficiency` that a workgroup reaches alone on a CU
  bool tuned = false;            // the library's table has this very size
  bool warm = false;             // caches hold its operands from a run before
  sim::Bytes in_flight;          // operands that a workgroup keeps under way
  std::optional<GemmProfile> profile;

  // A piece is a tile or, if its contraction is split, the part of one workgroup.
  std::int64_t pieces() const { return shape.products * tiles_m * tiles_n * kernel.split_k; }
  double piece_k() const { return static_cast<double>(shape.k) / kernel.split_k; }
  // Returns the elements of A and B that a workgroup loads from the L2 for each element of k. A cluster that reaches
  // beyond the product shares loads only among its real tiles.
  double loaded() const;
  double piece_flops() const;     // operations, padding included
  double piece_writes() const;    // bytes of the result
  double piece_reads() const;     // bytes of the result that are read if the parts of a tile are added up
  double piece_l2_bytes() const;  // bytes of result and operands
};

// Returns how many pieces are outside their loop along k, and so being stored, at a time on `cus` full CUs.
std::int64_t stored_at_once(const GemmPlan& plan, const GpuSpec& gpu, int cus);

// Returns the time before the first workgroup, twice if the parts of a contraction are added up.
sim::Time start_up_of(const GemmLibrary& library, const GemmKernelSpec& kernel);

// Plans the product with the kernel of the nearest size that the library was tuned for, by the Euclidean distance of m,
// n and k, as rocBLAS does. A library that chooses by modelled time takes the kernel tuned for this very size,
// otherwise the one with the fewest cycles. `first_loads` is the share of all loads beyond the L2s that miss the
// Infinity Cache whatever it can hold; 0 if A and B are there already as far as they fit. A library that is told of the
// CUs in `mask` (GemmLibrary::told_cus) chooses for these, any other one for all.
GemmPlan plan_gemm(const GpuSpec& gpu, const GemmShape& shape, CuMask mask = {}, double first_loads = 0.0);

}  // namespace c3sim::models
