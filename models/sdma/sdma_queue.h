// A ring of packets in memory between a submitting thread and an engine. Written packets wait for a doorbell; a thread
// that finds the ring full rings for what it has written and waits until the engine has used up enough.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

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

class SdmaQueue {
 public:
  // `on_visible` runs whenever the engine learns of new packets.
  SdmaQueue(sim::Simulator& simulator, const PacketFormat& format, sim::Bytes ring, std::string name,
            sim::EventAction on_visible);
  SdmaQueue(const SdmaQueue&) = delete;
  SdmaQueue& operator=(const SdmaQueue&) = delete;

  // Held while commands are written that those of others must not part.
  sim::Semaphore& writer() { return writer_; }
  // By the submitting thread. `latency` is what a doorbell takes to reach the engine.
  sim::Task<> write(SubmittingThread& thread, SdmaCommand command, sim::Time latency);
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

  sim::Simulator& simulator() { return simulator_; }
  const std::string& name() const { return name_; }
  bool empty() const { return free() == ring_; }
  sim::Bytes free() const { return sim::Bytes(static_cast<double>(room_.available())); }

 private:
  sim::Task<> write_piece(SubmittingThread& thread, SdmaCommand piece, sim::Time latency);
  void become_visible(std::uint64_t written);

  sim::Simulator& simulator_;
  PacketFormat format_;
  sim::Bytes ring_;
  std::string name_;
  sim::EventAction on_visible_;
  sim::Semaphore room_;  // bytes of ring
  sim::Semaphore writer_;
  std::deque<QueuedCommand> commands_;
  std::uint64_t packets_ = 0;
  sim::Bytes written_, visible_, fetched_;  // ends of what is in the ring, known to the engine, inside the engine
};

}  // namespace c3sim::models
