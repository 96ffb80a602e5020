// Which kernel of the library a shape gets, and how this cuts the product into pieces of work.
#pragma once

#include <cstdint>
#include <optional>

#include "models/platform/gemm_spec.h"

namespace c3sim::models {

// A shape with the kernel chosen for it.
struct GemmPlan {
  GemmShape shape;
  GemmKernelSpec kernel;
  std::int64_t tiles_m = 0;
  std::int64_t tiles_n = 0;
  std::optional<GemmProfile> profile;

  // A piece is a tile, or what one of the workgroups that split its contraction does of it.
  std::int64_t pieces() const { return tiles_m * tiles_n * kernel.split_k; }
  double piece_k() const { return static_cast<double>(shape.k) / kernel.split_k; }
  double piece_flops() const;  // of a full tile, padding included
  // Workgroups that are launched where `slots` of them fit at once.
  std::int64_t workgroups(std::int64_t slots) const;
  double efficiency() const { return profile ? profile->efficiency : kernel.efficiency; }
};
GemmPlan plan_gemm(const GemmSpec& spec, const GemmShape& shape);

}  // namespace c3sim::models
