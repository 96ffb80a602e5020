// An SdmaPacketList is a list of packets written by hand that a thread queues on one engine, in order, for experiments.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "models/machine/host.h"
#include "models/machine/memory_word.h"
#include "models/sdma/sdma_engine.h"

namespace c3sim::models {

struct HandWrittenPacket {
  enum class Kind { copy, swap, poll, atomic, fence };
  Kind kind = Kind::copy;
  int peer = 0;            // copy: the destination; swap: the other GPU
  sim::Bytes bytes{};      // copy and swap
  std::string word{};      // poll, atomic and fence: the word's name
  Condition condition{};   // poll
  std::int64_t value = 0;  // atomic: the addend; fence: the new value

  auto operator<=>(const HandWrittenPacket&) const = default;
};

struct SdmaPacketList {
  int gpu = 0;
  int engine = 0;
  int queue = 0;
  std::vector<HandWrittenPacket> packets;

  auto operator<=>(const SdmaPacketList&) const = default;
};

std::string to_string(const SdmaPacketList& list);

// Returns why the packets cannot be queued, in one sentence that says what would be accepted; empty if they can.
// Packets that wait for ever are accepted.
std::string why_impossible(const SdmaPacketList& list, const SdmaSpec& sdma, int gpus);

// NamedWords holds words of host memory by name, each 0 at first. Packets of several lists wait for each other on them.
class NamedWords {
 public:
  explicit NamedWords(sim::Simulator& simulator) : simulator_(simulator) {}
  MemoryWord& operator[](const std::string& name);

 private:
  sim::Simulator& simulator_;
  std::deque<MemoryWord> words_;
};

// Returns the queue of the list. `engines` are those of all GPUs of the node, by index.
SdmaQueue& queue_of(std::span<SdmaComplex* const> engines, const SdmaPacketList& list);

// Queues a possible list and a completion packet with one doorbell; ends when the waiter knows of the completion.
sim::Task<> run_packet_list(Host& host, std::span<SdmaComplex* const> engines, SdmaPacketList list, NamedWords& words,
                            std::uint32_t operation = 0);

}  // namespace c3sim::models
