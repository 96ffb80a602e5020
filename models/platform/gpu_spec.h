// What one GPU consists of.
#pragma once

#include <optional>

#include "models/platform/attention_spec.h"
#include "models/platform/cu_resources.h"
#include "models/platform/dispatch_spec.h"
#include "models/platform/gemm_spec.h"
#include "models/platform/memory_spec.h"
#include "models/platform/power_spec.h"
#include "models/platform/sdma_spec.h"
#include "sim/config/config_section.h"

namespace c3sim::models {

// How kernels that go through arrays keep memory busy, by Little's law.
struct StreamSpec {
  static constexpr double piece_of_row = 1024.0;  // elements

  sim::Bytes in_flight;          // by a CU full of their waves: read and not yet there, or written and on the way
  sim::Bytes rows;               // the same of kernels that go row by row, for each such piece of a row
  sim::Time latency{0};          // of a step of their loop, beside that of the memory
  sim::Time reduction{0};        // of a step besides, where it reduces a row before it writes it, for each piece
  double least_row = 1.0;        // pieces for which a row takes that at least, however short it is
  double row_workgroups = 0.0;   // a row each, that a CU holds
  double pass_cycles = 0.0;      // of a CU, for a pass of a wave's loop beside its loads and stores
  double bytes_per_cycle = 0.0;  // that a CU loads and stores; 0: whatever the L2s give
  double queue_knee = 0.0;       // of Little's law where memory fills up: see Demand::queue_knee
  double knee = 0.0;             // of their roofline: see models::Bend
  double efficiency = 1.0;       // share of the vector peak that they reach
  sim::Time indexing{0};         // of a workgroup where it works out the place of each element in parts of arrays

  static StreamSpec read(sim::Section section);
};

struct GpuSpec {
  int cus_per_xcd = 0;
  CuResources cu;
  double vector_flops_per_cycle_per_cu = 0.0;  // in single precision; 0: not known
  MemorySpec memory;                           // holds the number of XCDs
  StreamSpec streams;
  DispatchSpec dispatch;
  GemmSpec gemm;
  std::optional<AttentionSpec> attention;  // none: not described
  PowerSpec power;
  SdmaSpec sdma;

  int cus() const { return memory.xcds * cus_per_xcd; }
  // Workgroups of the kind that fit on that many CUs.
  int slots(int on_cus, const CuResources& workgroup) const { return on_cus * workgroups_that_fit(cu, workgroup); }
  // Of all CUs at the highest clock, in matrix operations per second; of a format that the platform has a rate for.
  double peak_flops(Dtype dtype = Dtype::bf16) const {
    return cus() * gemm.precision(dtype).value().flops_per_cycle_per_cu * power.highest_clock.value();
  }
  // All L2s load so many bytes in each cycle of the rated clock. Where their rate does not follow the clock, a faster
  // clock meets their bandwidth, which the network keeps.
  double l2_bytes_per_cycle() const { return (memory.l2_rate / power.rated_clock).value() * memory.xcds; }

  // Reads all of it, or those of its sections that are there: then the rest stays as it is. `gpus` is the size of the
  // node.
  void read(sim::Section section, int gpus, const GemmKernelTables& tables, bool all);
};

}  // namespace c3sim::models
