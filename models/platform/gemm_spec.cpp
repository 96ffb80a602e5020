#include "models/platform/gemm_spec.h"

#include <algorithm>

#include "models/platform/limits.h"

namespace c3sim::models {

namespace {

// The oldest workgroup of a CU leaves something to the others.
constexpr double most_of_a_cu = 0.99;

}  // namespace

GemmSpec GemmSpec::read(sim::Section section, const CuResources& cu) {
  GemmSpec spec;
  spec.flops_per_cycle_per_cu = section.number("flops_per_cycle_per_cu", 1.0, 1e6);
  for (sim::Section row : section.list("kernels")) {
    GemmKernelSpec kernel;
    kernel.name = row.text("name");
    kernel.least_n = row.integer("least_n", 0, 1 << 24);
    kernel.least_n_over_m = row.number("least_n_over_m", 0.0, 1e6);
    kernel.tile_m = static_cast<int>(row.integer("tile_m", 16, 1024));
    kernel.tile_n = static_cast<int>(row.integer("tile_n", 16, 1024));
    kernel.split_k = static_cast<int>(row.integer("split_k", 1, 256, 1));
    kernel.persistent = row.flag("persistent", false);
    kernel.workgroup = CuResources::read(row);
    check_fits(row, kernel.workgroup, cu);
    kernel.efficiency = row.number("efficiency", 0.01, 1.0);
    kernel.alone_share = row.number("alone_share", 0.1, 1.0);
    const int per_cu = std::max(1, workgroups_that_fit(cu, kernel.workgroup));
    kernel.oldest_share = row.number("oldest_share", 1.0 / per_cu, per_cu == 1 ? 1.0 : most_of_a_cu);
    kernel.time_spread = row.number("time_spread", 0.0, 1.0);
    kernel.in_flight = row.bytes("in_flight", limits::capacity);
    kernel.l2_drift = row.integer("l2_drift", 1, 1 << 24);
    kernel.cache_drift = row.integer("cache_drift", 1, 1 << 24, 1);
    spec.kernels.push_back(std::move(kernel));
  }
  if (spec.kernels.empty() || spec.kernels.back().least_n > 0 || spec.kernels.back().least_n_over_m > 0.0) {
    section.fault("kernels", "needs a last row for every shape: least_n 0 and least_n_over_m 0");
  }
  return spec;
}

}  // namespace c3sim::models
