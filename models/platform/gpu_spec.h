// What one GPU consists of.
#pragma once

#include "models/platform/cu_resources.h"
#include "models/platform/dispatch_spec.h"
#include "models/platform/gemm_spec.h"
#include "models/platform/memory_spec.h"
#include "models/platform/power_spec.h"
#include "models/platform/sdma_spec.h"
#include "sim/config/config_section.h"

namespace c3sim::models {

struct GpuSpec {
  int cus_per_xcd = 0;
  CuResources cu;
  double vector_flops_per_cycle_per_cu = 0.0;  // in single precision; 0: not known
  MemorySpec memory;                           // holds the number of XCDs
  DispatchSpec dispatch;
  GemmSpec gemm;
  PowerSpec power;
  SdmaSpec sdma;

  int cus() const { return memory.xcds * cus_per_xcd; }
  // Workgroups of the kind that fit on that many CUs.
  int slots(int on_cus, const CuResources& workgroup) const { return on_cus * workgroups_that_fit(cu, workgroup); }
  // Of all CUs at the highest clock, in operations per second.
  double peak_flops() const { return cus() * gemm.flops_per_cycle_per_cu * power.highest_clock.value(); }

  // `gpus` is the size of the node.
  static GpuSpec read(sim::Section section, int gpus, const GemmKernelTables& tables);
};

}  // namespace c3sim::models
