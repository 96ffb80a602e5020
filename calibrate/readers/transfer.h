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

// A table of rates that TransferBench's presets p2p and a2a print: a source in every row, a destination in every
// column.

// What is printed around the table says this of it.
struct TransferMatrixForm {
  enum class Pattern { one_way, both_ways, all };
  Pattern pattern = Pattern::one_way;
  bool by_engine = false;  // instead of a kernel
  bool by_destination = false;
  bool is_fine_grained = false;
  std::optional<int> cus{};  // of each transfer
  std::optional<sim::Bytes> bytes{};
  std::string why_not{};  // why none of it can be compared; empty if it can
};

class TransferMatrix {
 public:
  // `heads` names the columns: "SRC\DST  CPU 00  GPU 00  GPU 01". The log must outlive the matrix.
  TransferMatrix(TransferMatrixForm form, const LogCell& heads, LogReading& log);
  static bool are_heads(const LogCell& line);

  // Whether the line is a row of it. Where it may be cut off, it must not end in a number that lacks decimals.
  bool read_row(const LogCell& line);
  // Behind the last row.
  void end();

 private:
  // Of a table of both ways it waits for the row of the other direction.
  struct Row {
    LogCell place;
    std::vector<std::optional<Transfer>> transfers;  // by column
  };

  std::optional<TransferMemory> read_device(const LogCells& words, std::size_t& at);
  void read_cells(const TransferMemory& source, const LogCells& words, std::size_t at, bool is_reversed);
  Transfer transfer(const TransferMemory& from, const TransferMemory& to, double rate, int line) const;
  void keep(Row row, bool is_reversed);
  void drop_half();

  TransferMatrixForm form_;
  LogReading& log_;
  std::string_view tool_;
  std::vector<TransferMemory> columns_;
  std::size_t sums_ = 0;  // columns behind those of the devices
  std::optional<Row> forward_;
  std::vector<Transfer> all_;
  bool misses_some_ = false;
  std::size_t decimals_ = 2;  // that every rate has
};

}  // namespace c3sim::calibrate
