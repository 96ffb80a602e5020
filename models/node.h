// A Node puts the machine together: its GPUs, the fabric between them and the host that drives them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/machine/fabric.h"
#include "models/machine/gpu.h"
#include "models/machine/host.h"
#include "models/platform/platform_spec.h"
#include "models/sdma/sdma_engine.h"
#include "sim/resource_network.h"
#include "sim/simulator.h"

namespace c3sim::models {

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
  Gpu& gpu(int index) { return *gpus_[static_cast<std::size_t>(index < simulated() ? index : 0)]; }
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
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<std::unique_ptr<PullService>> pulls_;
  std::vector<std::unique_ptr<SdmaComplex>> sdma_;
  std::vector<SdmaComplex*> copy_engines_;
  sim::Time work_ended_ = sim::Time::max();
};

}  // namespace c3sim::models
