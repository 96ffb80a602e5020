// One GPU put together: memory system, dispatcher, clock and power. Its copy engines reach into other GPUs, so
// the node puts them in place.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "models/machine/cache_sharing.h"
#include "models/machine/dispatcher.h"
#include "models/machine/governor_state.h"
#include "models/machine/memory.h"
#include "models/machine/power.h"
#include "models/platform/gpu_spec.h"
#include "models/platform/interference.h"
#include "sim/resource_network.h"
#include "sim/simulator.h"

namespace c3sim::models {

class Gpu {
 public:
  // `links` carry what this GPU sends and receives; `without`: see models/platform/interference.h.
  Gpu(int index, const GpuSpec& spec, sim::ResourceNetwork& network, std::vector<sim::ResourceId> links,
      Mechanisms without);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  int index() const { return index_; }
  const GpuSpec& spec() const { return spec_; }
  sim::Simulator& simulator() { return network_.simulator(); }
  sim::ResourceNetwork& network() { return network_; }
  Memory& memory() { return memory_; }
  CacheSharing& cache_sharing() { return cache_sharing_; }
  const CacheSharing& cache_sharing() const { return cache_sharing_; }
  Dispatcher& dispatcher() { return dispatcher_; }
  // The clock as a tenant sees it: the same for all but in a counterfactual machine.
  PowerGovernor& governor(Tenant tenant) {
    return tenant == Tenant::rccl && rccl_governor_ ? *rccl_governor_ : governor_;
  }
  // From now on firmware sees to it that the cap holds for mean power; without, limit and clock stay as they are.
  // One that remembers begins from a state, without one from that of rest.
  void start_governor_loop(const std::optional<GovernorState>& state = {});
  // What the loop that was started remembers.
  GovernorState governor_state();

 private:
  int index_;
  const GpuSpec& spec_;
  sim::ResourceNetwork& network_;
  Memory memory_;
  CacheSharing cache_sharing_;
  Dispatcher dispatcher_;
  PowerGovernor governor_;
  std::optional<PowerGovernor> rccl_governor_;  // where clocks are apart
  std::variant<std::monostate, ClockLoop, PowerLimitLoop> governor_loop_;
};

}  // namespace c3sim::models
