#include "models/platform/gpu_spec.h"

namespace c3sim::models {

GpuSpec GpuSpec::read(sim::Section section, int gpus, const GemmKernelTables& tables) {
  GpuSpec spec;
  const int xcds = static_cast<int>(section.integer("xcds", 1, 64));
  spec.cus_per_xcd = static_cast<int>(section.integer("cus_per_xcd", 1, 1024));
  spec.memory = MemorySpec::read(section.section("memory"), xcds);
  spec.dispatch = DispatchSpec::read(section.section("dispatch"));
  spec.cu = CuResources::read(section.section("cu"));
  spec.vector_flops_per_cycle_per_cu = section.number("vector_flops_per_cycle_per_cu", 0.0, 1e6, 0.0);
  spec.gemm = GemmSpec::read(section.section("gemm"), spec.cu, tables);
  spec.power = PowerSpec::read(section.section("power"));
  spec.sdma = SdmaSpec::read(section.section("sdma"), gpus);
  return spec;
}

}  // namespace c3sim::models
