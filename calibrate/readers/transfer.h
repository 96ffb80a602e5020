// A transfer as TransferBench runs it: a kernel of so many workgroups, a copy engine or the host's cores move bytes
// from one memory to others.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/readers/log_reading.h"
#include "models/kernels/remote_kernel.h"

namespace c3sim::calibrate {

struct TransferMemory {
  enum class Kind { gpu, nowhere, other };  // other: the host's, or another node's
  Kind kind = Kind::gpu;
  int index = 0;
  bool is_fine_grained = false;
  bool operator==(const TransferMemory&) const = default;
};

struct TransferExecutor {
  enum class Kind { kernel, engine, host, other };
  Kind kind = Kind::kernel;
  int index = 0;
  std::optional<int> part{};   // one XCD, or one engine, of it
  std::optional<int> units{};  // CUs; none: not said
};

struct Transfer {
  int line = 0;
  std::vector<TransferMemory> from, to;
  TransferExecutor by;
  sim::Bytes bytes;
  double rate = 0.0;  // bytes per second
};

// "G0", "F1", "C0", "N0", and several at once as "G0G1" or "G0+G1"; of another node "R1G0". A fault and nothing where
// it is none of them.
std::optional<std::vector<TransferMemory>> read_memories(const LogCell& cell, LogReading& reading);
// "G0", "GPU00", "GFX0", "GFX/G0", "D0", "DMA00", "C0", "CPU00", each perhaps with a part (".2") and units (":4").
std::optional<TransferExecutor> read_executor(const LogCell& cell, LogReading& reading);

// Records what ran at once as the trial that stands for it, or leaves it out with the reason: alone; a pair both ways;
// all GPUs to all others. Of a pair whose directions differ each is held against one that is alone, as each has links
// of its own, in a group that says so. `tool` begins the name of the group: "TransferBench p2p".
void record(std::span<const Transfer> at_once, std::string_view tool, LogReading& reading);

// The same for some of the transfers of so many GPUs that all copied to all others.
void record_of_all(std::span<const Transfer> transfers, int gpus, std::string_view tool, LogReading& reading);

}  // namespace c3sim::calibrate
