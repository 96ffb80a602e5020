// A Node puts the machine together: its GPUs, the fabric between them and the host that drives them.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "models/machine/dispatcher.h"
#include "models/machine/fabric.h"
#include "models/machine/governor_loop.h"
#include "models/machine/host.h"
#include "models/machine/memory.h"
#include "models/machine/power.h"
#include "models/platform/gpu_spec.h"
#include "models/platform/interference.h"
#include "models/platform/platform_spec.h"
#include "models/sdma/sdma_engine.h"
#include "sim/resource_network.h"
#include "sim/simulator.h"

namespace c3sim::models {

// A Gpu has the memory system, dispatcher, clock and power of one GPU. The Node has the engines, which reach all GPUs.
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

// Symmetry says how many GPUs are simulated.
enum class Symmetry {
  none,       // all GPUs
  all_alike,  // one: all GPUs do the same at the same time, so that one receives exactly what it sends
};

class Node {
 public:
  Node(sim::Simulator& simulator, const PlatformSpec& spec, Symmetry symmetry = Symmetry::none)
      : Node(simulator, spec, spec.host, symmetry) {}
  // With a host that does not drive it as that of the platform would.
  Node(sim::Simulator& simulator, const PlatformSpec& spec, const HostSpec& host, Symmetry symmetry);

  sim::Simulator& simulator() { return simulator_; }
  sim::ResourceNetwork& network() { return network_; }
  const PlatformSpec& spec() const { return spec_; }
  int gpus() const { return spec_.gpus; }
  // Returns the number of simulated GPUs, which are 0 to simulated() - 1.
  int simulated() const { return static_cast<int>(gpus_.size()); }
  std::vector<int> all_simulated() const;
  // Returns the GPU, or the simulated one that stands for it.
  Gpu& gpu(int index) { return gpus_[static_cast<std::size_t>(index < simulated() ? index : 0)]; }
  Fabric& fabric() { return fabric_; }
  Host& host() { return host_; }
  // Returns the SDMA engines of each simulated GPU.
  std::span<SdmaComplex* const> copy_engines() const { return copy_engines_; }
  // Records that all work has ended. Links that go to sleep afterwards count in no meter.
  void end_work() { work_ended_ = simulator_.now(); }
  sim::Time work_ended() const { return work_ended_; }

 private:
  sim::Simulator& simulator_;
  const PlatformSpec& spec_;
  sim::ResourceNetwork network_;
  Fabric fabric_;
  Host host_;
  std::deque<Gpu> gpus_;
  std::deque<PullService> pulls_;
  std::deque<SdmaComplex> sdma_;
  std::vector<SdmaComplex*> copy_engines_;
  sim::Time work_ended_ = sim::Time::max();
};

}  // namespace c3sim::models
