// SdmaDataPath says what an SDMA transfer takes from memories, links and the engine, and the latency of its last byte.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/machine/fabric.h"
#include "models/machine/memory.h"
#include "models/platform/sdma_spec.h"
#include "models/sdma/sdma_packet.h"
#include "sim/resource_network.h"

namespace c3sim::models {

// A PullService is a GPU's capacity for pulls, which are copies by engines that read from another GPU. The reading GPU
// and the one that is read both serve a pull. One pull each way goes as fast as links allow. Several on either side
// take turns, in an unknown order: they share one rate, and each takes pull_turn of it in addition to its bytes.
class PullService {
 public:
  PullService(const SdmaSpec& spec, sim::ResourceNetwork& network, const std::string& name);
  PullService(const PullService&) = delete;
  PullService& operator=(const PullService&) = delete;

  enum class Side {
    reader,  // this GPU's engine reads, with the pull under way
    source   // this GPU is read; the pull is under way or waits for its turn
  };
  // Both count the pulls on a side: one more, one less.
  void enter(Side side) { change(side, 1); }
  void leave(Side side) { change(side, -1); }

  sim::ResourceId rate() const { return rate_; }
  // Returns the units of rate() that each byte takes in a pull of `pulled` bytes.
  double cost(sim::Bytes pulled) const;

 private:
  void change(Side side, int by);

  const SdmaSpec& spec_;
  sim::ResourceNetwork& network_;
  sim::ResourceId rate_;
  int reading_ = 0;
  int read_from_ = 0;
};

class SdmaDataPath {
 public:
  // `memories` and `pulls` are those of all GPUs of the node, by index.
  SdmaDataPath(const SdmaSpec& spec, std::span<Memory* const> memories, std::span<PullService* const> pulls,
               const Fabric& fabric);

  // The engine that runs a transfer.
  struct Engine {
    int gpu = 0;
    int index = 0;
    sim::ResourceNetwork::ResourceId payload = 0;  // bytes written per second
  };
  // Between enter() and leave() a pull counts as under way at its source and at its reader; other transfers do not.
  void enter(const TransferCommand& transfer, const Engine& engine) const;
  void leave(const TransferCommand& transfer, const Engine& engine) const;
  // Returns the activity of a transfer, whose unit of progress is a byte of the source.
  sim::ActivitySpec activity(const TransferCommand& transfer, const Engine& engine) const;
  // Returns the time from the read of the last byte to the last acknowledgement of its writes, in idle memories.
  sim::Time completion_latency(const TransferCommand& transfer) const;

 private:
  static bool is_pull(const TransferCommand& transfer, const Engine& engine);
  PullService& pulls_of(int gpu) const { return *pulls_[static_cast<std::size_t>(gpu)]; }
  void add_memory(UsageList& usages, int device, const Traffic& traffic) const;
  sim::Time memory_latency(int device) const;
  // Returns the latency of a byte's hops, one after the other: there and back for a write or read, twice for a swap.
  sim::Time travel(const TransferCommand& transfer) const;
  double engine_cost(const TransferCommand& transfer, const Engine& engine) const;

  const SdmaSpec& spec_;
  std::vector<Memory*> memories_;
  std::vector<PullService*> pulls_;
  const Fabric& fabric_;
};

}  // namespace c3sim::models
