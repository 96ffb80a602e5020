// An SdmaEngine has a front end that serves its queues in turn and fetches and decodes packets in order, and a data
// mover that streams one transfer after the other. The set-up of a transfer runs while the one before still streams.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/machine/host.h"
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

// An SdmaComplex has the SDMA engines of one GPU, and a thread of the GPU that submits commands or waits for them if
// the host does not.
class SdmaComplex {
 public:
  // `memories` and `pulls` are those of all GPUs of the node, by index.
  SdmaComplex(const SdmaSpec& spec, int gpu, sim::ResourceNetwork& network, std::span<Memory* const> memories,
              std::span<PullService* const> pulls, const Fabric& fabric);
  SdmaComplex(const SdmaComplex&) = delete;
  SdmaComplex& operator=(const SdmaComplex&) = delete;

  const SdmaSpec& spec() const { return spec_; }
  int gpu() const { return gpu_; }
  PullService& pulls_of(int gpu) { return *pulls_[static_cast<std::size_t>(gpu)]; }
  SdmaEngine& engine(int index);

  // These return the thread that writes packets for the engines, and the latency of their doorbells.
  SubmittingThread& submitter(Host& host);
  sim::Time doorbell_latency() const;
  // Waits for a completion word, on a host thread or on the GPU itself as the platform says.
  sim::Task<> see_completion(Host& host, MemoryWord& word, Condition condition);
  // Returns the thread that see_completion() occupies.
  const SubmittingThread& waiter(Host& host);

 private:
  const SdmaSpec& spec_;
  int gpu_;
  SdmaDataPath path_;
  std::vector<PullService*> pulls_;
  SubmittingThread own_thread_;
  sim::ResourceNetwork& network_;
  std::vector<SdmaDataPath::Engine> identities_;      // by index
  std::vector<std::unique_ptr<SdmaEngine>> engines_;  // by index; null until asked for: most are never used
};

// With a CompletionSignal an engine tells a waiter that all queued work is done, in the way of the platform: by an
// ATOMIC or a FENCE on a polled word, and a TRAP if the host sleeps. The signal must outlive its packets.
class CompletionSignal {
 public:
  // `engines` are those on which the work is queued.
  CompletionSignal(Host& host, SdmaComplex& engines, const std::string& name);

  // Appends the packets that follow the last one of the work.
  void append_to(std::vector<SdmaCommand>& commands);
  // Ends when the waiter knows of the completion.
  sim::Task<> see();

 private:
  bool sleeps() const;

  Host& host_;
  SdmaComplex& engines_;
  MemoryWord word_;
  MemoryWord event_;
};

}  // namespace c3sim::models
