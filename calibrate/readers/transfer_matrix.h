// A table of rates that TransferBench's presets p2p and a2a print: a source in every row, a destination in every
// column.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/readers/transfer.h"

namespace c3sim::calibrate {

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
