#include "models/platform/gpu_spec.h"

#include "models/platform/limits.h"

namespace c3sim::models {

StreamSpec StreamSpec::read(sim::Section section) {
  StreamSpec spec;
  spec.in_flight = section.bytes("in_flight", {sim::Bytes(1.0), sim::Bytes(16777216.0)});
  spec.latency = section.time("latency", limits::latency);
  spec.rows = section.bytes("rows", {sim::Bytes(1.0), sim::Bytes(16777216.0)}, spec.in_flight);
  spec.reduction = section.time("reduction", limits::latency, sim::Time(0));
  spec.indexing = section.time("indexing", limits::latency, sim::Time(0));
  return spec;
}

GpuSpec GpuSpec::read(sim::Section section, int gpus, const GemmKernelTables& tables) {
  GpuSpec spec;
  const int xcds = static_cast<int>(section.integer("xcds", 1, 64));
  spec.cus_per_xcd = static_cast<int>(section.integer("cus_per_xcd", 1, 1024));
  spec.memory = MemorySpec::read(section.section("memory"), xcds);
  spec.streams = StreamSpec::read(section.section("streams"));
  spec.dispatch = DispatchSpec::read(section.section("dispatch"));
  spec.cu = CuResources::read(section.section("cu"));
  spec.vector_flops_per_cycle_per_cu = section.number("vector_flops_per_cycle_per_cu", 0.0, 1e6, 0.0);
  spec.gemm = GemmSpec::read(section.section("gemm"), spec.cu, tables);
  if (section.has("attention")) spec.attention = AttentionSpec::read(section.section("attention"));
  spec.power = PowerSpec::read(section.section("power"));
  spec.sdma = SdmaSpec::read(section.section("sdma"), gpus);
  return spec;
}

}  // namespace c3sim::models
