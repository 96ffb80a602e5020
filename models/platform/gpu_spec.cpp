#include "models/platform/gpu_spec.h"

#include <string_view>

#include "models/platform/knee.h"
#include "models/platform/limits.h"

namespace c3sim::models {

StreamSpec StreamSpec::read(sim::Section section) {
  StreamSpec spec;
  spec.in_flight = section.quantity<sim::Bytes>("in_flight", {sim::Bytes(1.0), sim::Bytes(16777216.0)});
  spec.latency = section.time("latency", limits::latency);
  spec.rows = section.quantity<sim::Bytes>("rows", {sim::Bytes(1.0), sim::Bytes(16777216.0)}, 0.25 * spec.in_flight);
  spec.reduction = section.time("reduction", limits::latency, sim::Time(0));
  spec.least_row = section.number("least_row", 0.0, 1.0);
  spec.row_workgroups = section.number("row_workgroups", 1.0, 64.0);
  spec.pass_cycles = section.number("pass_cycles", 0.0, 1e6, 0.0);
  spec.bytes_per_cycle = section.number("bytes_per_cycle", 0.0, 1e6, 0.0);
  spec.queue_knee = read_knee(section, "queue_knee");
  spec.knee = read_knee(section, "knee");
  spec.efficiency = section.number("efficiency", 0.01, 1.0, 1.0);
  spec.indexing = section.time("indexing", limits::latency, sim::Time(0));
  return spec;
}

void GpuSpec::read(sim::Section section, int gpus, const GemmKernelTables& tables, bool all) {
  if (all) {
    memory.xcds = static_cast<int>(section.integer("xcds", 1, 64));
    cus_per_xcd = static_cast<int>(section.integer("cus_per_xcd", 1, 1024));
    vector_flops_per_cycle_per_cu = section.number("vector_flops_per_cycle_per_cu", 0.0, 1e6, 0.0);
  }
  const auto is_due = [&](std::string_view key) { return all || section.has(key); };
  if (is_due("memory")) memory = MemorySpec::read(section.section("memory"), memory.xcds);
  if (is_due("streams")) streams = StreamSpec::read(section.section("streams"));
  if (is_due("dispatch")) dispatch = DispatchSpec::read(section.section("dispatch"));
  if (is_due("cu")) cu = CuResources::read(section.section("cu"));
  if (is_due("gemm")) gemm = GemmSpec::read(section.section("gemm"), cu, tables);
  if (section.has("attention")) attention = AttentionSpec::read(section.section("attention"));
  if (is_due("power")) power = PowerSpec::read(section.section("power"));
  if (is_due("sdma")) sdma = SdmaSpec::read(section.section("sdma"), gpus);
}

}  // namespace c3sim::models
