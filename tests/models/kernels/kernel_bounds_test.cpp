// What holds of every kind of kernel on every shipped platform: what it must move goes no faster than the peak of the
// memory or link that it goes through, and what it computes no faster than the units that do.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "models/kernels/attention.h"
#include "models/kernels/elementwise.h"
#include "models/kernels/gemm.h"
#include "models/kernels/gemm_plan.h"
#include "models/kernels/remote_kernel.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

constexpr int kernels = 1000;  // of each kind

class KernelBounds : public testing::TestWithParam<std::string> {
 protected:
  // Spread evenly over its orders of magnitude.
  std::int64_t extent(double bits, std::int64_t least = 1) {
    return std::max(least, static_cast<std::int64_t>(std::exp2(bits * of_one_(random_))));
  }
  template <class Value, std::size_t size>
  Value one_of(const std::array<Value, size>& values) {
    return values[random_() % size];
  }
  bool either() { return random_() % 2 == 0; }

  double seconds(const Kernel& kernel) const {
    sim::Simulator simulator;
    Node node(simulator, platform_, Symmetry::all_alike);
    return sim::to_seconds(time_of(simulator, run_kernel(node, 0, kernel))).value();
  }
  // What HBM delivers at best. Operands and results of a kernel that runs once are in no cache, so that all of them
  // come from there or go there.
  double hbm_rate() const {
    const MemorySpec& memory = platform_.gpu.memory;
    return memory.hbm_rate.value() * std::max(memory.hbm_read_efficiency, memory.hbm_write_efficiency);
  }

  PlatformSpec platform_ = read_platform(platform_file(GetParam()));

 private:
  std::mt19937 random_{20261125};
  std::uniform_real_distribution<double> of_one_{0.0, 1.0};
};

// Products of few rows and long contractions, either way round.
TEST_P(KernelBounds, HoldForProductsOfFewRows) {
  const GpuSpec& gpu = platform_.gpu;
  Stream cold;
  cold.cached_operands = false;
  for (int i = 0; i < kernels; ++i) {
    GemmShape shape{extent(7.0), extent(17.0, 256), extent(17.0, 256)};
    shape.dtype = one_of(std::array{Dtype::bf16, Dtype::fp16, Dtype::fp8, Dtype::fp32, Dtype::tf32});
    if (!gpu.gemm.precision(shape.dtype)) continue;
    for (int way = 0; way < 2; ++way) {
      const double time = seconds(gemm_kernel(gpu, shape, cold));
      ASSERT_GE(time, shape.compulsory_bytes().value() / hbm_rate()) << to_string(shape);
      ASSERT_GE(time, shape.flops().value() / gpu.peak_flops(shape.dtype)) << to_string(shape);
      std::swap(shape.m, shape.n);
    }
  }
}

// Prompts, gradients, and few queries against a cache, from one head on one CU to all memory.
TEST_P(KernelBounds, HoldForAttention) {
  const GpuSpec& gpu = platform_.gpu;
  int asked = 0;
  for (int i = 0; i < 3 * kernels; ++i) {
    AttentionShape shape;
    shape.batch = extent(8.0);
    shape.kv_heads = extent(5.0);
    shape.heads = shape.kv_heads * extent(4.0);
    shape.keys = extent(17.0);
    shape.queries = either() ? 1 + shape.keys % 4 : shape.keys;
    if (shape.queries > shape.keys) continue;
    shape.head_dim = one_of(std::array<std::int64_t, 3>{64, 128, 256});
    shape.causal = either();
    shape.backward = either();
    shape.dropout = either();
    shape.dtype = one_of(std::array{Dtype::bf16, Dtype::fp16, Dtype::fp8, Dtype::fp32});
    const double bytes = (shape.read() + shape.written()).value();
    if (!why_impossible(shape, gpu).empty() || bytes > gpu.memory.hbm_capacity.value()) continue;
    const double time = seconds(attention_kernel(gpu, shape));
    ++asked;
    ASSERT_GE(time, bytes / hbm_rate()) << to_string(shape);
    ASSERT_GE(time, shape.flops().value() / gpu.peak_flops(shape.multiplied())) << to_string(shape);
  }
  EXPECT_GE(asked, gpu.attention ? kernels : 0);
}

// Arrays that are read, written or both; norms, which reduce rows; parts of arrays; by few workgroups or by all CUs.
TEST_P(KernelBounds, HoldForArraysThatAreGoneThroughOnce) {
  const GpuSpec& gpu = platform_.gpu;
  for (int i = 0; i < 2 * kernels; ++i) {
    ElementwiseSpec spec;
    spec.read = sim::Bytes(i % 3 == 0 ? 0.0 : static_cast<double>(extent(37.0)));
    spec.written = sim::Bytes(i % 3 == 1 ? 0.0 : static_cast<double>(extent(37.0)));
    if (gpu.vector_flops_per_cycle_per_cu > 0.0 && either()) spec.flops = sim::Flops(static_cast<double>(extent(40.0)));
    spec.reduces = either();
    spec.row = extent(16.0);
    spec.strided = either();
    spec.workgroups = either() ? 0 : static_cast<int>(extent(9.0));
    if (spec.bytes() > gpu.memory.hbm_capacity) continue;
    const double time = seconds(elementwise_kernel(gpu, spec));
    const double vector_rate = gpu.vector_flops_per_cycle_per_cu * gpu.cus() * gpu.power.highest_clock.value();
    ASSERT_GE(time, spec.bytes().value() / hbm_rate()) << to_string(spec);
    ASSERT_GE(time * vector_rate, spec.flops.value()) << to_string(spec);
  }
}

// Between two GPUs there is one link, or the port of a switch: loads reach more of its peak than stores.
TEST_P(KernelBounds, HoldForWhatGoesToOrComesFromAnotherGpu) {
  for (int i = 0; i < kernels / 4; ++i) {
    RemoteKernelSpec spec;
    spec.peers = {1};
    spec.access = one_of(std::array{RemoteAccess::store, RemoteAccess::uncached_store, RemoteAccess::load});
    spec.bytes = sim::Bytes(static_cast<double>(extent(33.0)));
    spec.workgroups = static_cast<int>(extent(8.0));
    if (!why_impossible(spec, platform_.gpus, platform_.gpu).empty()) continue;
    sim::Simulator simulator;
    Node node(simulator, platform_);
    const double time = sim::to_seconds(time_of(simulator, run_remote_kernel(node, spec))).value();
    ASSERT_GE(time, spec.bytes.value() / platform_.fabric.peak_link_rate.value()) << to_string(spec);
  }
}

std::string name_of_platform(const testing::TestParamInfo<std::string>& platform) { return platform.param; }

INSTANTIATE_TEST_SUITE_P(Shipped, KernelBounds,
                         testing::Values("mi300x", "mi300x_conccl", "mi325x", "h200", "h100", "mi355x", "mi350x", "t3"),
                         name_of_platform);

}  // namespace
}  // namespace c3sim::models
