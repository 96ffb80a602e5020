// Declares a transfer as TransferBench runs it: a kernel of a number of workgroups, a copy engine or the host's cores
// move bytes from one memory to others. Both readers of TransferBench logs record their transfers here.
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
  enum class Kind { gpu, nowhere, other };  // other: of the host or of another node
  Kind kind = Kind::gpu;
  int index = 0;
  bool is_fine_grained = false;
  bool operator==(const TransferMemory&) const = default;
};

struct TransferExecutor {
  enum class Kind { kernel, engine, host, other };
  Kind kind = Kind::kernel;
  int index = 0;
  std::optional<int> part{};   // index of an XCD or an engine
  std::optional<int> units{};  // number of CUs; none: not said
};

struct Transfer {
  int line = 0;
  std::vector<TransferMemory> from, to;
  TransferExecutor by;
  sim::Bytes bytes;
  double rate = 0.0;  // bytes per second
};

// Reads memories such as "G0", "F1", "C0" or "N0", several as "G0G1" or "G0+G1", or of another node as "R1G0". Records
// a fault and returns nothing for other words.
std::optional<std::vector<TransferMemory>> read_memories(const LogCell& cell, LogReading& reading);
// Reads "G0", "GPU00", "GFX0", "GFX/G0", "D0", "DMA00", "C0" or "CPU00", perhaps with a part (".2") and units (":4").
std::optional<TransferExecutor> read_executor(const LogCell& cell, LogReading& reading);

// Records concurrent transfers as the trial that stands for them, or leaves them out with the reason. Trials stand for
// one transfer alone, a pair in opposite directions, and all GPUs to all others. An unequal pair counts as two single
// transfers, since each direction has its own links; its group says so. Groups begin with `tool`: "TransferBench p2p".
void record(std::span<const Transfer> at_once, std::string_view tool, LogReading& reading);

// Records some of the transfers of a run in which all GPUs copied to all others; `gpus` is the number of GPUs.
void record_of_all(std::span<const Transfer> transfers, int gpus, std::string_view tool, LogReading& reading);

}  // namespace c3sim::calibrate
