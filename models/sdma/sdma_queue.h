// A ring of packets in memory between a submitting thread and an engine. Written packets wait for a doorbell; a thread
// that finds the ring full rings for what it has written and waits until the engine has used up enough.
//
// An engine takes the packets of a queue in order, so whoever writes between others' packets, or puts a POLL in front
// of what it waits for, stops the queue for ever. Two rules prevent both. Commands are submitted together: nobody
// else's come between them. Commands that wait in the queue for other operations are written once all operations before
// theirs have written what they are expected to. Of those that have not ended, the operation that comes first in the
// schedule then never has another one's POLL in front of it.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "models/machine/memory_word.h"
#include "models/machine/submitting_thread.h"
#include "models/sdma/sdma_packet.h"
#include "sim/event_queue.h"
#include "sim/semaphore.h"
#include "sim/simulator.h"

namespace c3sim::models {

// A command in a ring, which is taken as an endless line of bytes.
struct QueuedCommand {
  SdmaCommand command;
  std::uint64_t packet = 0;   // number of its first packet, from 0
  std::uint64_t packets = 1;  // it takes
  sim::Bytes begin, end;      // in the ring

  std::string words() const;  // "packet 0 POLL_REGMEM", "packets 0-31 COPY_LINEAR"
};

// Whose commands are submitted: an operation, by its place in the schedule; and whether they wait in the queue for what
// operations before it do.
struct QueueUser {
  std::uint32_t operation = 0;
  bool waits = false;
};

class SdmaQueue {
 public:
  // `on_visible` runs whenever the engine learns of new packets.
  SdmaQueue(sim::Simulator& simulator, const PacketFormat& format, sim::Bytes ring, std::string name,
            sim::EventAction on_visible);
  SdmaQueue(const SdmaQueue&) = delete;
  SdmaQueue& operator=(const SdmaQueue&) = delete;

  // The operation will submit commands here, once for each time that this is said.
  void expect(std::uint32_t operation);
  // The thread writes the commands, with nobody else's between them, and rings for them; without `rings`, whoever calls
  // this does, for several queues at once. `latency` is what a doorbell takes to reach the engine.
  sim::Task<> submit(SubmittingThread& thread, std::vector<SdmaCommand> commands, sim::Time latency,
                     QueueUser user = {}, bool rings = true);
  // The same where it can be done at once. Where the ring has no room for all of them, or commands before them are
  // missing, this ends nevertheless, and a process of its own submits them as soon as it can.
  sim::Task<> submit_or_leave(SubmittingThread& thread, std::vector<SdmaCommand> commands, sim::Time latency,
                              QueueUser user, bool rings = true);
  // Whether all operations before the user's that its commands would have to wait for have written theirs.
  bool is_turn_of(QueueUser user) const;
  sim::Task<> ring_doorbell(SubmittingThread& thread, sim::Time latency);
  // The engine learns `latency` from now of all that is written now: a doorbell that was rung for several queues.
  void announce(sim::Time latency);

  // By the engine: commands that it knows of, in order.
  bool has_command() const { return !commands_.empty() && commands_.front().end <= visible_; }
  // Whether the first of them still lies in memory, and the fetch of `granule` bytes of ring that brings it in.
  bool needs_fetch() const { return fetched_ < commands_.front().end; }
  void fetch(sim::Bytes granule);
  // Takes the first command; its bytes stay occupied until they are released.
  QueuedCommand take();
  void release(const QueuedCommand& used);

  // Whether transfers of the operation wait here.
  bool holds(std::uint32_t operation) const;

  sim::Simulator& simulator() { return simulator_; }
  const std::string& name() const { return name_; }
  bool empty() const { return free() == ring_; }
  sim::Bytes free() const { return sim::Bytes(static_cast<double>(room_.available())); }

 private:
  Condition turn_of(QueueUser user) const;
  sim::Task<> submit_late(SubmittingThread& thread, std::vector<SdmaCommand> commands, sim::Time latency,
                          QueueUser user);
  void no_longer_expect(std::uint32_t operation);
  sim::Task<> write(SubmittingThread& thread, SdmaCommand command, sim::Time latency);
  sim::Task<> write_piece(SubmittingThread& thread, SdmaCommand piece, sim::Time latency);
  void become_visible(std::uint64_t written);

  sim::Simulator& simulator_;
  PacketFormat format_;
  sim::Bytes ring_;
  std::string name_;
  sim::EventAction on_visible_;
  sim::Semaphore room_;    // bytes of ring
  sim::Semaphore writer_;  // held by whoever submits
  std::multiset<std::uint32_t> expected_;
  MemoryWord first_expected_;  // of these operations
  int late_ = 0;               // submissions that were left to processes of their own
  std::deque<QueuedCommand> commands_;
  std::uint64_t packets_ = 0;
  sim::Bytes written_, visible_, fetched_;  // ends of what is in the ring, known to the engine, inside the engine
};

}  // namespace c3sim::models
