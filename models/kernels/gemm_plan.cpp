#include "models/kernels/gemm_plan.h"

#include <algorithm>

namespace c3sim::models {

namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

double GemmPlan::piece_flops() const { return 2.0 * kernel.tile_m * kernel.tile_n * piece_k(); }

std::int64_t GemmPlan::workgroups(std::int64_t slots) const {
  return kernel.persistent ? std::min(slots, pieces()) : pieces();
}

GemmPlan plan_gemm(const GemmSpec& spec, const GemmShape& shape) {
  const auto fits = [&shape](const GemmKernelSpec& kernel) {
    return shape.n >= kernel.least_n &&
           static_cast<double>(shape.n) >= kernel.least_n_over_m * static_cast<double>(shape.m);
  };
  GemmPlan plan;
  plan.shape = shape;
  plan.kernel = *std::find_if(spec.kernels.begin(), spec.kernels.end(), fits);
  plan.tiles_m = ceil_divide(shape.m, plan.kernel.tile_m);
  plan.tiles_n = ceil_divide(shape.n, plan.kernel.tile_n);
  for (const GemmProfile& profile : spec.profiles) {
    if (profile.shape == shape) plan.profile = profile;
  }
  return plan;
}

}  // namespace c3sim::models
