// A Gpu has the memory system, dispatcher, clock and power of one GPU. The Node has the engines, which reach all GPUs.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "models/machine/cache_sharing.h"
#include "models/machine/dispatcher.h"
#include "models/machine/governor_loop.h"
#include "models/machine/memory.h"
#include "models/machine/power.h"
#include "models/platform/gpu_spec.h"
#include "models/platform/interference.h"
#include "sim/resource_network.h"
#include "sim/simulator.h"

namespace c3sim::models {

class Gpu {
 public:
  // `links` carry what this GPU sends and receives. models/platform/interference.h explains `without`.
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
  // Returns the governor of the clock that a tenant runs at. It is the same for all, except that collectives by kernels
  // have their own on a machine without Mechanism::clock.
  PowerGovernor& governor(Tenant tenant) {
    return tenant == Tenant::rccl && rccl_governor_ ? *rccl_governor_ : governor_;
  }
  // Returns how long a kernel waits that is launched now, could begin after `gap` and has its first workgroups
  // `start_up` later: workgroups reach the dispatcher in the order in which their kernels were launched.
  sim::Time wait_in_order(sim::Time gap, sim::Time start_up);
  // Starts the firmware's loop that holds mean power under the cap, from a remembered state or from rest. Until then
  // limit and ceiling stay as they are. Does nothing if the cap acts at once.
  void start_governor_loop(const std::optional<GovernorState>& state = {});
  // Returns the state of the loop, which must have been started.
  GovernorState governor_state();

 private:
  int index_;
  const GpuSpec& spec_;
  sim::ResourceNetwork& network_;
  Memory memory_;
  CacheSharing cache_sharing_;
  Dispatcher dispatcher_;
  PowerGovernor governor_;
  std::optional<PowerGovernor> rccl_governor_;  // only on a machine without Mechanism::clock
  std::variant<std::monostate, ClockLoop, PowerLimitLoop> governor_loop_;
  sim::Time last_arrival_{-1};  // of workgroups at the dispatcher, of the kernels that waited in order
};

}  // namespace c3sim::models
