// Which kernel of the library a shape gets, how this cuts the product into pieces of work, and how long a CU has to do
// with one.
#pragma once

#include <cstdint>
#include <optional>

#include "models/platform/gpu_spec.h"

namespace c3sim::models {

// A shape with the kernel chosen for it.
struct GemmPlan {
  GemmShape shape;
  GemmKernelSpec kernel;
  std::int64_t tiles_m = 0;
  std::int64_t tiles_n = 0;
  int grouped_rows = 0;          // see GemmLibrary
  std::int64_t l2_drift = 0;     // see GemmLibrary
  std::int64_t cache_drift = 0;  // see GemmLibrary
  int per_cu = 1;                // workgroups that fit a CU together
  double efficiency = 0.0;       // share of the matrix peak at the actual clock that a CU reaches which is full of them
  double cycles = 0.0;           // at which a full CU is done with a piece each, nobody beside it
  double around = 0.0;           // share of these outside the loop along k: first loads, output
  double l2_conflicts = 1.0;     // so many times its bytes a piece takes of the L2
  double alone_share = 1.0;      // of that, what a workgroup reaches that has a CU for itself
  bool tuned = false;            // the library's table has this very size
  bool warm = false;             // its operands were gone through before, and nothing else since
  sim::Bytes in_flight;          // operands that a workgroup keeps under way
  std::optional<GemmProfile> profile;

  // A piece is a tile, or what one of the workgroups that split its contraction does of it.
  std::int64_t pieces() const { return shape.products * tiles_m * tiles_n * kernel.split_k; }
  double piece_k() const { return static_cast<double>(shape.k) / kernel.split_k; }
  // Elements of A and B that a workgroup loads of the L2 for each element of k: a cluster shares no load with
  // neighbours that the product does not have.
  double loaded() const;
  double piece_flops() const;     // of a full tile, padding included
  double piece_writes() const;    // bytes of the result
  double piece_reads() const;     // of the same: the parts of a tile are added up
  double piece_l2_bytes() const;  // these and its operands
};

// Pieces that are stored at the same time where so many CUs are full of them: those outside their loops.
std::int64_t stored_at_once(const GemmPlan& plan, const GpuSpec& gpu, int cus);

// Before the first workgroup, and again where the parts of a contraction are added up.
sim::Time start_up_of(const GemmLibrary& library, const GemmKernelSpec& kernel);

// The kernel of the nearest size that the library was tuned for, by the Euclidean distance of m, n and k, as rocBLAS
// does; or, of a library that chooses by modelled time, that of the very size, else the one of its kernels that would
// take the fewest cycles on the whole GPU.
// `first_loads`: of all loads beyond the L2s the share that finds nothing in the Infinity Cache, whatever this can
// hold: 0 where as much of A and B as it holds is there already.
GemmPlan plan_gemm(const GpuSpec& gpu, const GemmShape& shape, double first_loads = 0.0);

}  // namespace c3sim::models
