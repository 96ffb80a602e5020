// An SdmaEngine has a front end that serves its queues in turn and fetches and decodes packets in order, and a data
// mover that streams one transfer after the other. The set-up of a transfer runs while the one before still streams.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/platform/sdma_spec.h"
#include "models/sdma/sdma_data_path.h"
#include "models/sdma/sdma_queue.h"
#include "sim/open_step.h"
#include "sim/resource_network.h"
#include "sim/semaphore.h"
#include "sim/simulator.h"

namespace c3sim::models {

class SdmaEngine {
 public:
  SdmaEngine(const SdmaSpec& spec, SdmaDataPath::Engine identity, sim::ResourceNetwork& network,
             const SdmaDataPath& path);
  SdmaEngine(const SdmaEngine&) = delete;
  SdmaEngine& operator=(const SdmaEngine&) = delete;

  // The engine as the network knows it, with the resource that its payload takes.
  static SdmaDataPath::Engine add_to(sim::ResourceNetwork& network, const SdmaSpec& spec, int gpu, int index);

  int gpu() const { return identity_.gpu; }
  int index() const { return identity_.index; }
  const std::string& name() const { return name_; }
  int queues() const { return static_cast<int>(queues_.size()); }
  SdmaQueue& queue(int number);
  // Returns a queue in which transfers of the operation wait; null if there is none.
  const SdmaQueue* queue_that_holds(std::uint32_t operation) const;
  // Runs a runtime's blocks as one flow of at most `cap`. A byte takes `share` of its usual part of the engine's rate.
  sim::Task<> run_blocks(TransferCommand blocks, sim::BytesPerSecond cap, double share);
  sim::ResourceNetwork::ResourceId payload() const { return identity_.payload; }
  sim::Simulator& simulator() { return simulator_; }

 private:
  // A ServedQueue is a queue with the engine's progress on it.
  struct ServedQueue {
    ServedQueue(SdmaEngine& engine, const std::string& name);
    SdmaQueue queue;
    MemoryWord transfers_under_way;  // their number; a completion packet waits until it is 0
    bool in_service = false;
  };

  // Ends a step with a packet, on the track of its queue.
  static void end(sim::OpenStep& step, const ServedQueue& served, std::string_view kind, const QueuedCommand& queued);
  void start_service(ServedQueue& served);
  sim::Task<> serve(ServedQueue& served);
  sim::Task<> run(ServedQueue& served, QueuedCommand queued);
  sim::Task<> start_transfer(ServedQueue& served, QueuedCommand queued);
  sim::Task<> stream(ServedQueue& served, QueuedCommand queued);
  sim::Task<> poll(ServedQueue& served, const QueuedCommand& queued);
  sim::Task<> complete(ServedQueue& served, const SdmaCommand& command);
  // Posts a write: `action` changes the word when the write arrives.
  void post(ServedQueue& served, sim::Time latency, const MemoryWord& word, sim::EventAction action);
  // These return the latency of a read of a ring or polled word, and of a completion write; they are shorter on the
  // GPU.
  sim::Time read_latency() const;
  sim::Time write_latency(sim::Time to_host) const;

  const SdmaSpec& spec_;
  SdmaDataPath::Engine identity_;
  sim::Simulator& simulator_;
  sim::ResourceNetwork& network_;
  const SdmaDataPath& path_;
  std::string name_;
  sim::Semaphore front_end_;                          // held by the queue whose turn it is
  sim::Semaphore data_mover_;                         // held by the transfer that streams
  std::vector<std::unique_ptr<ServedQueue>> queues_;  // null until asked for: most are never used
};

}  // namespace c3sim::models
