// These are the commands of an SDMA engine as the runtime queues them, with sizes, limits and names of their packets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "models/machine/delivery_ledger.h"
#include "models/machine/memory_word.h"
#include "models/platform/sdma_spec.h"
#include "sim/event_queue.h"
#include "sim/gate.h"

namespace c3sim::models {

// TransferTimes says when an engine came to a transfer and when it finished it; several may note their times in one.
struct TransferTimes {
  sim::Time fetched = sim::Time::max();  // the first packet has reached the engine
  sim::Time finished{0};                 // the last byte is written and acknowledged

  void note_fetched(sim::Time at) { fetched = std::min(fetched, at); }
  void note_finished(sim::Time at) { finished = std::max(finished, at); }
};

enum class TransferKind {
  copy,    // COPY_LINEAR: the source to the destination; with several destinations a broadcast
  swap,    // SWAP_LINEAR: source and destination exchange their bytes in place
  reduce,  // COPY_LINEAR of a future engine: the source is added to the destination, in the memory of the engine's GPU
  update,  // COPY_LINEAR whose writes the destination's memory adds to its contents
};

// A TransferCommand is one transfer of any size. Above the packet limit it stands for several packets, which run alike,
// one after the other, and are simulated as one activity.
struct TransferCommand {
  TransferKind kind = TransferKind::copy;
  BufferRange source{};
  std::vector<BufferRange> destinations{};  // each as long as the source; swap and reduce have one
  DeliveryLedger* ledger = nullptr;         // records what has been written; may be null
  TransferTimes* times = nullptr;           // filled in; may be null
  std::uint32_t operation = 0;              // index of the operation in the schedule: see ActivityTag
  // `readers` engines read the same source concurrently: one reads HBM, the others find the data in a cache.
  int readers = 1;
  sim::EventAction written{};  // runs once everything is written and acknowledged
};
// Records in the ledger what the transfer has written.
void book_delivery(const TransferCommand& transfer, DeliveryLedger& ledger);

struct PollCommand {  // POLL_REGMEM: the queue waits until the word meets the condition
  MemoryWord* word;
  Condition condition;
  sim::Latch* reached = nullptr;  // counted down when the engine starts polling
  bool told = false;              // the writer of the word notifies the engine, which reads nothing itself
};
struct AtomicCommand {  // ATOMIC ADD64, once the transfers before it are done
  MemoryWord* word;
  std::int64_t addend;
};
struct FenceCommand {  // FENCE: a 32-bit write, once the transfers before it are done
  MemoryWord* word;
  std::int32_t value;
};
struct TrapCommand {  // TRAP: an interrupt message that sets `event`, on which a sleeping thread waits
  MemoryWord* event;
};
using SdmaCommand = std::variant<TransferCommand, PollCommand, AtomicCommand, FenceCommand, TrapCommand>;

// These return the number of packets of a command, the bytes of one packet in a ring, and the bytes of all packets.
std::int64_t packets_of(const SdmaCommand& command, const PacketFormat& format);
sim::Bytes packet_bytes(const SdmaCommand& command, const PacketFormat& format);
sim::Bytes ring_bytes(const SdmaCommand& command, const PacketFormat& format);
// Splits the command into pieces of at most `room` ring bytes each, in order; `room` must hold one of its packets.
std::vector<SdmaCommand> pieces_of(const SdmaCommand& command, const PacketFormat& format, sim::Bytes room);

std::string_view packet_name(const SdmaCommand& command);  // "POLL_REGMEM"

}  // namespace c3sim::models
