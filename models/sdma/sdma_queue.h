// An SdmaQueue is a ring of packets in memory between a submitting thread and an engine. Written packets wait for a
// doorbell; a thread that finds the ring full rings for what it has written and waits until the engine has freed room.
//
// An engine takes the packets of a queue in order, so a thread that writes between others' packets, or puts a POLL in
// front of what the POLL waits for, stops the queue for ever. Two rules prevent this. The commands of one submission
// are written together. Commands that wait for other operations are written after those of all earlier operations of
// the schedule. No other operation's POLL is then in front of the earliest unfinished operation.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "models/machine/host.h"
#include "models/machine/memory_word.h"
#include "models/sdma/sdma_packet.h"
#include "sim/event_queue.h"
#include "sim/semaphore.h"
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
  bool is_turn_of(QueueUser user) const;
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
  sim::Semaphore room_;    // free bytes of the ring
  sim::Semaphore writer_;  // held during a submission
  std::multiset<std::uint32_t> expected_;
  MemoryWord first_expected_;  // the first of expected_
  int late_ = 0;               // submissions left to processes of their own that have not ended
  std::deque<QueuedCommand> commands_;
  std::uint64_t packets_ = 0;
  sim::Bytes written_, visible_, fetched_;  // ends of what is written, known to the engine, fetched
};

}  // namespace c3sim::models
