// CopyNode is a node without compute: it has the memories, links, SDMA engines and host of a platform, for tests of
// copies and of the collectives made of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/collectives/sdma_collective.h"
#include "models/machine/fabric.h"
#include "models/machine/host.h"
#include "models/machine/memory.h"
#include "models/sdma/sdma_copy.h"
#include "models/sdma/sdma_engine.h"
#include "sim/resource_network.h"
#include "sim/simulator.h"
#include "tests/models/collectives/collective_fixture.h"

namespace c3sim::models {

struct CopyPlatform {
  int gpus = 8;
  FabricSpec fabric;
  MemorySpec memory;
  SdmaSpec sdma;
  HostSpec host;

  static CopyPlatform mi300x() {
    static const PlatformSpec whole = models::mi300x();
    return {whole.gpus, whole.fabric, whole.gpu.memory, whole.gpu.sdma, whole.host};
  }

  // Returns a platform of two GPUs with round numbers, for expectations derived by hand: links and engines of 10 GB/s,
  // fast memories without latency; the latencies of SDMA and host are different powers of two, in nanoseconds.
  static CopyPlatform round();
};

inline CopyPlatform CopyPlatform::round() {
  using sim::operator""_ns;
  using sim::operator""_GBps;
  const auto bytes = [](double value) { return sim::Bytes(value); };
  CopyPlatform p;
  p.gpus = 2;
  p.fabric.gpus = 2;
  p.fabric.link_rate = 10.0_GBps;
  p.fabric.reads_in_flight = bytes(1e9);
  p.fabric.latency = 16_ns;
  p.fabric.host_to_device_rate = p.fabric.device_to_host_rate = 10.0_GBps;
  p.memory.xcds = 1;
  p.memory.l2_rate = p.memory.port_rate = p.memory.cache_rate = p.memory.hbm_rate = 10000.0_GBps;
  p.host.submission = {64_ns, 1_ns, 2_ns, 0_ns, 4_ns, 8_ns};
  p.host.interrupt_latency = 4096_ns;
  SdmaSpec& s = p.sdma;
  s.engines = 4;
  s.host_engines = 2;
  s.queues_per_engine = 2;
  s.ring = bytes(4096);
  s.packets = {bytes(1e6), bytes(28), bytes(28), bytes(8), bytes(24), bytes(32), bytes(16), bytes(12), bytes(8)};
  s.doorbell_latency = 32_ns;
  s.host_read_latency = 64_ns;
  s.fetch_granule = bytes(4096);
  s.packet_decode = 128_ns;
  s.transfer_setup = 256_ns;
  s.transfer_latency = 512_ns;
  s.poll_interval = 1024_ns;
  s.atomic_latency = s.fence_latency = 2048_ns;
  s.payload_rate = s.host_payload_rate = 10.0_GBps;
  s.broadcast_width = 2;
  s.bytes_in_flight = bytes(1e9);
  s.engine_map = {{-1, 2}, {3, -1}};
  s.to_host_engine = 1;
  s.gpu_submission = {1_ns, 1_ns, 1_ns, 0_ns, 1_ns, 1_ns};
  s.gpu_doorbell_latency = s.gpu_read_latency = s.gpu_completion_latency = 1_ns;
  return p;
}

class CopyNode {
 public:
  explicit CopyNode(CopyPlatform platform)
      : platform_(std::move(platform)),
        network_(simulator_),
        fabric_(platform_.fabric, network_, platform_.gpus),
        host_(platform_.host, simulator_, platform_.gpus) {
    for (int gpu = 0; gpu < platform_.gpus; ++gpu) {
      memories_.push_back(std::make_unique<Memory>(platform_.memory, network_, "gpu" + std::to_string(gpu)));
      all_memories_.push_back(memories_.back().get());
      pulls_.push_back(std::make_unique<PullService>(platform_.sdma, network_, "gpu" + std::to_string(gpu)));
      all_pulls_.push_back(pulls_.back().get());
    }
    for (int gpu = 0; gpu < platform_.gpus; ++gpu) {
      complexes_.push_back(
          std::make_unique<SdmaComplex>(platform_.sdma, gpu, network_, all_memories_, all_pulls_, fabric_));
      all_complexes_.push_back(complexes_.back().get());
    }
  }

  sim::Simulator& simulator() { return simulator_; }
  sim::ResourceNetwork& network() { return network_; }
  Fabric& fabric() { return fabric_; }
  Host& host() { return host_; }
  Memory& memory(int gpu) { return *all_memories_[static_cast<std::size_t>(gpu)]; }
  SdmaComplex& sdma(int gpu) { return *all_complexes_[static_cast<std::size_t>(gpu)]; }
  std::span<SdmaComplex* const> complexes() const { return all_complexes_; }

  // Returns the time of the timed part of a collective that has the node to itself.
  sim::Time run(const CollectiveSpec& spec) {
    SdmaCollective collective(spec, host_, all_complexes_);
    sim::Time time{0};
    simulator_.spawn("collective", time_collective(collective, time));
    simulator_.run();
    return time;
  }
  SdmaCopyPhases run(const SdmaCopySpec& spec) {
    SdmaCopyPhases phases;
    simulator_.spawn("copy", time_copy(*this, spec, phases));
    simulator_.run();
    return phases;
  }

 private:
  static sim::Task<> time_collective(SdmaCollective& collective, sim::Time& time) {
    co_await collective.prepare();
    time = co_await collective.run();
  }
  static sim::Task<> time_copy(CopyNode& node, SdmaCopySpec spec, SdmaCopyPhases& phases) {
    phases = co_await run_sdma_copy(node.host_, node.all_complexes_, spec);
  }

  CopyPlatform platform_;
  sim::Simulator simulator_;
  sim::ResourceNetwork network_;
  Fabric fabric_;
  Host host_;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<Memory*> all_memories_;
  std::vector<std::unique_ptr<PullService>> pulls_;
  std::vector<PullService*> all_pulls_;
  std::vector<std::unique_ptr<SdmaComplex>> complexes_;
  std::vector<SdmaComplex*> all_complexes_;
};

inline CollectiveSpec sdma_collective(CollectiveKind kind, SdmaVariant variant, bool prelaunch, sim::Bytes bytes) {
  CollectiveSpec spec = collective(kind, Backend::sdma, bytes);
  spec.variant = variant;
  spec.prelaunch = prelaunch;
  return spec;
}
inline CollectiveSpec all_gather(SdmaVariant variant, sim::Bytes bytes, bool prelaunch = false) {
  return sdma_collective(CollectiveKind::all_gather, variant, prelaunch, bytes);
}

}  // namespace c3sim::models
