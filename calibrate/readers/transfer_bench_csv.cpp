// The rows that TransferBench writes with OUTPUT_TO_CSV=1, one per transfer (Test#, NumBytes, Src, Exe, Dst, CUs,
// BW(GB/s) and others), beneath the settings of the run.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/readers/log_formats.h"
#include "calibrate/readers/transfer.h"
#include "sim/config/nearest_name.h"

namespace c3sim::calibrate {

namespace {

bool are_transfer_heads(const LogCell& line) {
  return trimmed(line).text.starts_with("Test#") && line.text.find("NumBytes") != std::string_view::npos;
}

// Where the columns stand that are looked at.
struct TransferColumns {
  std::size_t all = 0;
  std::size_t test = 0, bytes = 0, from = 0, by = 0, to = 0, units = 0, rate = 0;
};

std::optional<TransferColumns> columns_of(const LogCells& heads, LogReading& reading) {
  const std::size_t faults_before = reading.faults();
  std::vector<std::string> known;
  constexpr std::size_t most_named = 16;
  for (const LogCell& head : heads) {
    if (known.size() < most_named) known.push_back(printable(head.text));
  }
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find(heads, name, &LogCell::text);
    if (found == heads.end()) {
      reading.fault(heads.front(), name, "this column is missing" + sim::name_hint(name, known));
    }
    return static_cast<std::size_t>(found - heads.begin());
  };
  const TransferColumns columns{heads.size(), find("Test#"), find("NumBytes"), find("Src"),
                                find("Exe"),  find("Dst"),   find("CUs"),      find("BW(GB/s)")};
  if (reading.faults() != faults_before) return {};
  return columns;
}

class TransferCsvReader {
 public:
  TransferCsvReader(std::string_view text, const std::string& name) : lines_(text), reading_(name) {}

  Reading read() && {
    while (lines_.next()) {
      if (reading_.accepts(lines_.line())) read_line(lines_.line());
    }
    if (has_sums_ && !at_once_.empty() && !is_damaged_) {
      is_damaged_ = true;
      reading_.fault({.text = {}, .line = at_once_.back().line}, "",
                     "the test is cut off: more transfers, and a row of all of them, are accepted");
    }
    end_test();
    if (reading_.empty()) reading_.fault({}, "", "no row: transfers are accepted below their columns");
    return std::move(reading_).take();
  }

 private:
  void read_line(const LogCell& line);
  void read_row(const LogCells& cells);
  void begin_row(std::string_view test);
  void end_test();

  LogLines lines_;
  LogReading reading_;
  std::optional<TransferColumns> columns_;
  std::string_view test_;
  std::vector<Transfer> at_once_;
  bool is_damaged_ = false;
  bool has_sums_ = false;  // tests end with the sum of their transfers
};

// Settings and comments stand between rows where several runs were written to one file.
void TransferCsvReader::read_line(const LogCell& line) {
  const LogCells cells = fields_of(line, ",");
  if (are_transfer_heads(line)) {
    end_test();
    columns_ = columns_of(cells, reading_);
    return;
  }
  if (!columns_) return;
  const bool begins_with_digit =
      !cells.front().text.empty() && cells.front().text.front() >= '0' && cells.front().text.front() <= '9';
  if (cells.size() == columns_->all) return read_row(cells);
  if (!begins_with_digit || cells.size() < 2) return;
  begin_row(cells.front().text);
  is_damaged_ = true;
  reading_.fault(line.from(0, 0), "", fmt::format("{} cells where the columns are {}", cells.size(), columns_->all));
}

void TransferCsvReader::begin_row(std::string_view test) {
  if (test != test_) end_test();
  test_ = test;
}

void TransferCsvReader::read_row(const LogCells& cells) {
  const TransferColumns& columns = *columns_;
  begin_row(cells[columns.test].text);
  if (cells[columns.by].text == "ALL") {  // the sum of the test
    has_sums_ = true;
    return end_test();
  }
  const std::size_t faults_before = reading_.faults();
  Transfer transfer{.line = cells.front().line, .from = {}, .to = {}, .by = {}, .bytes = {}};
  reading_.integer(cells[columns.test], 0, most_units * most_units, "Test#");
  const auto bytes = reading_.bytes(cells[columns.bytes], "NumBytes");
  const auto from = read_memories(cells[columns.from], reading_);
  const auto by = read_executor(cells[columns.by], reading_);
  const auto to = read_memories(cells[columns.to], reading_);
  const auto units = reading_.integer(cells[columns.units], 0, most_units, "CUs");
  const auto rate = reading_.figure(cells[columns.rate], study::Figure::link_rate, "BW(GB/s)");
  if (reading_.faults() != faults_before) {
    is_damaged_ = true;
    return;
  }
  transfer.bytes = *bytes;
  transfer.from = *from;
  transfer.by = *by;
  transfer.by.units = units;
  transfer.to = *to;
  transfer.rate = *rate;
  at_once_.push_back(std::move(transfer));
}

void TransferCsvReader::end_test() {
  const std::vector<Transfer> at_once = std::exchange(at_once_, {});
  if (!std::exchange(is_damaged_, false)) return record(at_once, "TransferBench", reading_);
  for (const Transfer& transfer : at_once) reading_.leave_out(transfer.line, "what ran beside it could not be read");
}

}  // namespace

bool is_transfer_bench_csv(std::string_view text) { return has_line(text, are_transfer_heads); }

Reading read_transfer_bench_csv(std::string_view text, const std::string& name) {
  return TransferCsvReader(text, name).read();
}

}  // namespace c3sim::calibrate
