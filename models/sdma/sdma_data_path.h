// What an SDMA transfer takes from memories, links and the engine, and how long its last byte is under way.
#pragma once

#include <span>
#include <vector>

#include "models/machine/fabric.h"
#include "models/machine/memory.h"
#include "models/sdma/sdma_packet.h"
#include "sim/resource_network.h"

namespace c3sim::models {

class SdmaDataPath {
 public:
  // `memories` are those of all GPUs of the node, by index.
  SdmaDataPath(const SdmaSpec& spec, std::span<Memory* const> memories, const Fabric& fabric);

  // Copies that engines of a GPU read from other GPUs at this moment, and what they share where there are several, or
  // where others wait for their turn to read from the same GPU: they come in each other's way there.
  struct Pulls {
    sim::ResourceNetwork::ResourceId rate = 0;  // bytes per second
    int under_way = 0;
  };

  // The engine that runs a transfer.
  struct Engine {
    int gpu = 0;
    int index = 0;
    sim::ResourceNetwork::ResourceId payload = 0;  // bytes written per second
    Pulls* pulls = nullptr;                        // of all engines of its GPU
  };
  static bool is_pull(const TransferCommand& transfer, const Engine& engine);
  // One unit of progress is a byte of the source. A pull counts as under way already.
  sim::ActivitySpec activity(const TransferCommand& transfer, const Engine& engine) const;
  // From the last byte read to the acknowledgement of its write at every destination, in idle memories.
  sim::Time completion_latency(const TransferCommand& transfer) const;

 private:
  void add_memory(UsageList& usages, int device, double reads, double writes, double cache_hits) const;
  void add_link(UsageList& usages, int from, int to, double bytes) const;
  sim::Time memory_latency(int device) const;
  sim::Time hop_latency(int from, int to) const;
  // Hops that a byte makes one after the other: there and back for a write or a remote read, both for a swap.
  sim::Time travel(const TransferCommand& transfer) const;
  double engine_cost(const TransferCommand& transfer, const Engine& engine) const;

  const SdmaSpec& spec_;
  std::vector<Memory*> memories_;
  const Fabric& fabric_;
};

}  // namespace c3sim::models
