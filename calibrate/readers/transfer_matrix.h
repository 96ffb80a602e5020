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
  // `heads` names the columns: "SRC\DST  CPU 00  GPU 00  GPU 01". The reading must outlive the matrix.
  TransferMatrix(TransferMatrixForm form, const LogCell& heads, LogReading& reading);
  static bool are_heads(const LogCell& line);

  // Whether the line is a row of it. Where it may be cut off, it must not end in a number that lacks decimals.
  bool read_row(const LogCell& line, bool may_be_cut);
  // Behind the last row.
  void end();

 private:
  struct Device {
    bool is_gpu = true;
    int index = 0;
    bool operator==(const Device&) const = default;
  };
  // A row of a table of both ways, until the row of the other direction is there.
  struct Row {
    LogCell place;
    std::vector<std::optional<Transfer>> transfers;  // by column
  };

  static LogCells words_in(const LogCell& line);
  std::optional<Device> read_device(const LogCells& words, std::size_t& at);
  std::vector<std::optional<Transfer>> read_cells(const Device& source, const LogCells& words, bool is_reversed);
  Transfer transfer(const Device& from, const Device& to, double rate, int line) const;
  void keep(Row row, bool is_reversed);
  void drop_half();
  std::string tool() const;

  TransferMatrixForm form_;
  LogReading& reading_;
  std::vector<Device> columns_;
  std::size_t sums_ = 0;  // columns behind those of the devices
  std::optional<Row> forward_;
  std::vector<Transfer> all_;
  bool misses_some_ = false;
  std::size_t decimals_ = 2;  // that every rate has
};

}  // namespace c3sim::calibrate
