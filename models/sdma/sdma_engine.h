// An SdmaEngine has a front end that serves its queues in turn and fetches and decodes packets in order, and a data
// mover that streams one transfer after the other. The set-up of a transfer runs while the one before still streams.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "models/machine/fabric.h"
#include "models/machine/host.h"
#include "models/machine/memory.h"
#include "models/machine/memory_word.h"
#include "models/platform/sdma_spec.h"
#include "models/sdma/sdma_packet.h"
#include "sim/event_queue.h"
#include "sim/gate.h"
#include "sim/resource_network.h"
#include "sim/simulator.h"

namespace c3sim::models {

// A QueuedCommand lies in a ring. Positions in the ring count on from 0 without wrapping.
struct QueuedCommand {
  SdmaCommand command;
  std::uint64_t packet = 0;   // number of its first packet, from 0
  std::uint64_t packets = 1;  // number of its packets
  sim::Bytes begin, end;      // positions in the ring

  std::string words() const;  // "packet 0 POLL_REGMEM", "packets 0-31 COPY_LINEAR"
};

// A QueueUser is the operation that submits commands, by its index in the schedule. `waits` says whether the commands
// wait in the queue for earlier operations.
struct QueueUser {
  std::uint32_t operation = 0;
  bool waits = false;
};

// An SdmaQueue is a ring of packets in memory between a submitting thread and an engine. Written packets wait for a
// doorbell; a thread that finds the ring full rings for what it has written and waits until the engine has freed room.
//
// An engine takes the packets of a queue in order, so a thread that writes between others' packets, or puts a POLL in
// front of what the POLL waits for, stops the queue for ever. Two rules prevent this. The commands of one submission
// are written together. Commands that wait for other operations are written after those of all earlier operations of
// the schedule. No other operation's POLL is then in front of the earliest unfinished operation.
class SdmaQueue {
 public:
  // `on_visible` runs whenever the engine learns of new packets.
  SdmaQueue(sim::Simulator& simulator, const PacketFormat& format, sim::Bytes ring, std::string name,
            sim::EventAction on_visible);
  SdmaQueue(const SdmaQueue&) = delete;
  SdmaQueue& operator=(const SdmaQueue&) = delete;

  // Announces that the operation will submit commands here, once for each call.
  void expect(std::uint32_t operation);
  // Has the thread write the commands, with no others between them, and ring for them. Without `rings` the caller
  // rings, for several queues at once. `latency` is the time that a doorbell takes to reach the engine.
  sim::Task<> submit(SubmittingThread& thread, std::vector<SdmaCommand> commands, sim::Time latency,
                     QueueUser user = {}, bool rings = true);
  // Submits the commands if the ring has room for all of them and no earlier ones are missing. Otherwise this ends at
  // once, and a process of its own submits them as soon as possible.
  sim::Task<> submit_or_leave(SubmittingThread& thread, std::vector<SdmaCommand> commands, sim::Time latency,
                              QueueUser user, bool rings = true);
  // Returns whether all earlier operations that the user's commands would have to wait for have written theirs.
  bool is_turn_of(QueueUser user) const { return first_expected_.meets(turn_of(user)); }
  sim::Task<> ring_doorbell(SubmittingThread& thread, sim::Time latency);
  // Tells the engine after `latency` of all that is written now; the caller has rung a doorbell for several queues.
  void announce(sim::Time latency);

  // The engine calls this and the functions below. Returns whether the engine knows of a command that it has not taken.
  bool has_command() const { return !commands_.empty() && commands_.front().end <= visible_; }
  // needs_fetch() returns whether the first command is still in memory; fetch() brings in `granule` bytes of the ring.
  bool needs_fetch() const { return fetched_ < commands_.front().end; }
  void fetch(sim::Bytes granule);
  // Takes the first command; its bytes stay occupied until they are released.
  QueuedCommand take();
  void release(const QueuedCommand& used);

  // Returns whether transfers of the operation wait here.
  bool holds(std::uint32_t operation) const;

  sim::Simulator& simulator() { return simulator_; }
  const std::string& name() const { return name_; }
  bool empty() const { return free() == ring_; }
  sim::Bytes free() const { return sim::Bytes(static_cast<double>(room_.available())); }

 private:
  Condition turn_of(QueueUser user) const {
    return {Comparison::at_least, user.waits ? std::int64_t{user.operation} : 0};
  }
  sim::Task<> submit_late(SubmittingThread& thread, std::vector<SdmaCommand> commands, sim::Time latency,
                          QueueUser user);
  sim::Task<> write(SubmittingThread& thread, SdmaCommand piece, sim::Time latency);

  sim::Simulator& simulator_;
  PacketFormat format_;
  sim::Bytes ring_;
  std::string name_;
  sim::EventAction on_visible_;
  sim::Semaphore room_;    // free bytes of the ring
  sim::Semaphore writer_;  // held during a submission
  std::multiset<std::uint32_t> expected_;
  MemoryWord first_expected_;  // the first of expected_
  int late_ = 0;               // submissions left to processes of their own that have not ended
  std::deque<QueuedCommand> commands_;
  std::uint64_t packets_ = 0;
  sim::Bytes written_, visible_, fetched_;  // ends of what is written, known to the engine, fetched
};

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
  // Counts `by` more pulls on a side.
  void count(Side side, int by);

  sim::ResourceId rate() const { return rate_; }
  // Returns the units of rate() that each byte takes in a pull of `pulled` bytes.
  double cost(sim::Bytes pulled) const { return 1.0 + spec_.pull_rate * sim::to_seconds(spec_.pull_turn) / pulled; }

 private:
  const SdmaSpec& spec_;
  sim::ResourceNetwork& network_;
  sim::ResourceId rate_;
  int reading_ = 0;
  int read_from_ = 0;
};

// An SdmaReach has what the engines of a GPU reach: the memories and pulls of all GPUs of the node, by index, and the
// fabric.
struct SdmaReach {
  std::vector<Memory*> memories;
  std::vector<PullService*> pulls;
  const Fabric& fabric;

  PullService& pulls_of(int gpu) const { return *pulls[static_cast<std::size_t>(gpu)]; }
};

class SdmaEngine {
 public:
  // `payload` is the engine's resource in the network: bytes written per second.
  SdmaEngine(const SdmaSpec& spec, int gpu, int index, sim::ResourceId payload, sim::ResourceNetwork& network,
             const SdmaReach& reach);
  SdmaEngine(const SdmaEngine&) = delete;
  SdmaEngine& operator=(const SdmaEngine&) = delete;

  int gpu() const { return gpu_; }
  int index() const { return index_; }
  const std::string& name() const { return name_; }
  int queues() const { return static_cast<int>(queues_.size()); }
  SdmaQueue& queue(int number);
  // Returns a queue in which transfers of the operation wait; null if there is none.
  const SdmaQueue* queue_that_holds(std::uint32_t operation) const;
  // Runs a runtime's blocks as one flow of at most `cap`. A byte takes `share` of its usual part of the engine's rate.
  sim::Task<> run_blocks(TransferCommand blocks, sim::BytesPerSecond cap, double share);
  sim::ResourceNetwork::ResourceId payload() const { return payload_; }
  sim::Simulator& simulator() { return simulator_; }

 private:
  // A ServedQueue is a queue with the engine's progress on it.
  struct ServedQueue {
    ServedQueue(SdmaEngine& engine, const std::string& name);
    SdmaQueue queue;
    MemoryWord transfers_under_way;  // their number; a completion packet waits until it is 0
    bool in_service = false;
  };

  // Returns the activity of a transfer, whose unit of progress is a byte of the source: what it takes from memories,
  // links and the engine.
  sim::ActivitySpec activity(const TransferCommand& transfer) const;
  // Returns the time from the read of the last byte to the last acknowledgement of its writes, in idle memories.
  sim::Time completion_latency(const TransferCommand& transfer) const;
  bool is_pull(const TransferCommand& transfer) const {
    return transfer.source.device != gpu_ && transfer.source.device != host_device;
  }
  // Counts a pull as `by` more under way at its source and at its reader; other transfers do not count.
  void count(const TransferCommand& transfer, int by) const;
  void add_memory(UsageList& usages, int device, const Traffic& traffic) const;
  sim::Time memory_latency(int device) const;
  // Returns the latency of a byte's hops, one after the other: there and back for a write or read, twice for a swap.
  sim::Time travel(const TransferCommand& transfer) const;
  double cost_of(const TransferCommand& transfer) const;

  // Ends a step with a packet, on the track of its queue.
  static void end(sim::OpenStep& step, const ServedQueue& served, std::string_view kind, const QueuedCommand& queued);
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
  sim::Time read_latency() const {
    return spec_.submitted_by == Initiator::gpu ? spec_.gpu_read_latency : spec_.host_read_latency;
  }
  sim::Time write_latency(sim::Time to_host) const {
    return spec_.completion_seen_by == Initiator::gpu ? spec_.gpu_completion_latency : to_host;
  }

  const SdmaSpec& spec_;
  int gpu_;
  int index_;
  sim::ResourceId payload_;
  sim::Simulator& simulator_;
  sim::ResourceNetwork& network_;
  const SdmaReach& reach_;
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
  PullService& pulls_of(int gpu) { return reach_.pulls_of(gpu); }
  SdmaEngine& engine(int index);

  // These return the thread that writes packets for the engines, and the latency of their doorbells.
  SubmittingThread& submitter(Host& host) {
    return spec_.submitted_by == Initiator::gpu ? own_thread_ : host.thread_of(gpu_);
  }
  sim::Time doorbell_latency() const {
    return spec_.submitted_by == Initiator::gpu ? spec_.gpu_doorbell_latency : spec_.doorbell_latency;
  }
  // Returns the thread that waits for completion words.
  SubmittingThread& waiter(Host& host) {
    return spec_.completion_seen_by == Initiator::gpu ? own_thread_ : host.thread_of(gpu_);
  }

 private:
  const SdmaSpec& spec_;
  int gpu_;
  SdmaReach reach_;
  SubmittingThread own_thread_;
  sim::ResourceNetwork& network_;
  std::vector<sim::ResourceId> payloads_;             // of engines, by index
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
  bool sleeps() const {
    return host_.spec().wait == HostWait::interrupt && engines_.spec().completion_seen_by == Initiator::host;
  }

  Host& host_;
  SdmaComplex& engines_;
  MemoryWord word_;
  MemoryWord event_;
};

}  // namespace c3sim::models
