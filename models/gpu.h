// One GPU put together: memory system, dispatcher, clock and power. Its copy engines reach into other GPUs, so
// the node puts them in place.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "models/cache_sharing.h"
#include "models/dispatcher.h"
#include "models/gemm.h"
#include "models/interference.h"
#include "models/memory.h"
#include "models/power.h"
#include "models/sdma_spec.h"
#include "sim/resource_network.h"
#include "sim/simulator.h"

namespace models {

struct GpuSpec {
  int cus_per_xcd = 0;
  CuResources cu;
  MemorySpec memory;  // holds the number of XCDs
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
  static GpuSpec read(sim::Section section, int gpus);
};

class Gpu {
 public:
  // `links` carry what this GPU sends and receives; `without`: see models/interference.h.
  Gpu(int index, const GpuSpec& spec, sim::ResourceNetwork& network, std::vector<sim::ResourceId> links,
      Mechanisms without);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  int index() const { return index_; }
  const GpuSpec& spec() const { return spec_; }
  sim::Simulator& simulator() { return network_.simulator(); }
  sim::ResourceNetwork& network() { return network_; }
  // Memory and clock as a tenant sees them: the same for all but in a counterfactual machine.
  Memory& memory(Tenant tenant = Tenant::gemm) { return memories_[static_cast<std::size_t>(tenant)]; }
  CacheSharing& cache_sharing() { return cache_sharing_; }
  const CacheSharing& cache_sharing() const { return cache_sharing_; }
  Dispatcher& dispatcher() { return dispatcher_; }
  PowerGovernor& governor(Tenant tenant = Tenant::gemm) {
    return tenant == Tenant::rccl && rccl_governor_ ? *rccl_governor_ : governor_;
  }

 private:
  int index_;
  const GpuSpec& spec_;
  sim::ResourceNetwork& network_;
  std::array<Memory, tenants> memories_;
  CacheSharing cache_sharing_;
  Dispatcher dispatcher_;
  PowerGovernor governor_;
  std::optional<PowerGovernor> rccl_governor_;  // where clocks are apart
};

}  // namespace models
