// The libraries of kernels for matrix products: which kernel each was tuned to take for which size, and what its
// kernels have in common.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/platform/cu_resources.h"
#include "models/platform/dispatch_spec.h"
#include "models/platform/gemm_kernels.h"
#include "models/platform/gemm_shape.h"
#include "sim/config/config_section.h"
#include "sim/units.h"

namespace c3sim::models {

// What the kernels of a library have in common.
struct GemmLibrary {
  std::string name;
  bool by_modelled_time = false;  // a size that is not in the table gets the kernel that is fastest by `cycles`, rather
                                  // than that of the nearest size
  bool splits = false;            // the contraction of such a size is split where the tiles leave CUs without work
  double least_busy = 0.0;        // of the CUs, in such a split at least, however little it gains
  int undivided_columns = 0;      // such a size of no more is not cut along them
  Dealing schedule = Dealing::per_xcd;   // how tiles reach the CUs
  bool shares_last = false;              // the tiles of a last wave that is not full are shared out (Stream-K)
  double efficiency = 0.0;               // share of the matrix peak at the actual clock that the loop along k reaches
  std::optional<double> fp8_efficiency;  // over that, of its kernels for fp8; none: as PrecisionSpec has it
  double packed_efficiency = 1.0;        // over that, of kernels that unpack weights on their way to the matrix pipes
  double tile_overhead = 0.0;            // cycles per element of a tile with nothing multiplied: first loads, output
  double least_step = 0.0;               // cycles of a workgroup in a step along k, however small: latency
  double cold_operands = 0.0;            // so much longer a step takes whose operands are not in the Infinity Cache
  double knee = 0.0;                     // of its roofline: see models::Bend
  sim::Time start_up{0};    // before the first workgroup: state that it resets; again where parts are added up
  int steps_in_flight = 1;  // along k, whose operands a workgroup keeps under way
  bool loads_ahead = true;  // while it multiplies; else it does one behind the other
  // So much longer the L2 takes for operands whose rows lie a multiple of so many bytes apart: those of a tile are then
  // in a few of its channels.
  double row_conflicts = 1.0;
  sim::Bytes conflicting_rows{0};
  double time_spread = 0.0;      // of the times of a workgroup on different CUs: standard deviation over mean
  int grouped_rows = 0;          // of tiles that an XCD's workgroups go down before the next column; 0: a square block
  std::int64_t l2_drift = 0;     // elements of k between the first and the last workgroup of an XCD
  std::int64_t cache_drift = 0;  // the same over the whole GPU; nobody asks where there is no Infinity Cache
  std::vector<GemmKernelSpec> kernels;
};

// What a profiler saw of a GEMM that had the GPU to itself; it stands in for the estimate of the same.
struct GemmProfile {
  GemmShape shape;
  double efficiency = 0.0;  // in place of the kernel's: the one that gives the measured time
  // Read and written, over the whole GEMM.
  sim::Bytes l2;
  sim::Bytes cache;
  sim::Bytes hbm;
};

// What matrix products of another number format do, beside those of bf16.
struct PrecisionSpec {
  double flops_per_cycle_per_cu = 0.0;
  double efficiency = 1.0;       // of the library's kernels, over that of its kernels for bf16
  double input_gradient = 1.0;   // the same of gradients of inputs, over that
  double weight_gradient = 1.0;  // and of weights
  double energy = 1.0;           // of an operation, over that of bf16

  double efficiency_of(Layout layout) const;
};

struct GemmSpec {
  double flops_per_cycle_per_cu = 0.0;                                   // of bf16
  std::array<std::optional<PrecisionSpec>, all_dtypes.size()> others{};  // by Dtype; fp16 is as bf16 unless it is here
  GemmLibrary library;                                                   // the one in use
  std::optional<GemmLibrary> experts_library;                            // of products of experts in served models
  std::vector<std::string> libraries;                                    // the names of all
  std::vector<GemmProfile> profiles;                                     // of shapes that have one

  // None where the platform has no rate for it.
  std::optional<PrecisionSpec> precision(Dtype dtype) const;
  // Whose kernels compute this product. Those for experts where it asks for them and the platform has some.
  const GemmLibrary& library_of(const GemmShape& shape) const;
  static GemmSpec read(sim::Section section, const CuResources& cu, const GemmKernelTables& tables);
};

}  // namespace c3sim::models
