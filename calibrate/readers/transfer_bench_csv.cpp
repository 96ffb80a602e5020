// The rows that TransferBench writes with OUTPUT_TO_CSV=1, one per transfer (Test#, NumBytes, Src, Exe, Dst, CUs,
// BW(GB/s) and others), beneath the settings of the run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "calibrate/readers/log_formats.h"
#include "calibrate/readers/transfer.h"
#include "sim/config/nearest_name.h"

namespace c3sim::calibrate {

namespace {

bool are_transfer_heads(const LogCell& line) {
  return trimmed(line).text.starts_with("Test#") && line.holds("NumBytes");
}

class TransferCsvReader {
 public:
  TransferCsvReader(std::string_view text, const std::string& name) : log_(name, text) {}

  Reading read() && {
    while (log_.next()) read_line(log_.line());
    if (has_sums_ && !at_once_.empty() && !is_damaged_) {
      is_damaged_ = true;
      log_.fault({.text = {}, .line = at_once_.back().line}, "",
                 "the test is cut off: more transfers, and a row of all of them, are accepted");
    }
    end_test();
    return std::move(log_).take("no row: transfers are accepted below their columns");
  }

 private:
  enum Column : std::size_t { test, bytes, from, by, to, units, rate, looked_at };

  void read_line(const LogCell& line);
  void take_heads(const LogCells& heads);
  void read_row(const LogCells& row);
  void begin_row(std::string_view test);
  void end_test();

  LogReading log_;
  std::size_t columns_ = 0;  // of all; 0: none that can be read yet
  std::array<std::size_t, looked_at> at_{};
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
    return take_heads(cells);
  }
  if (columns_ == 0) return;
  if (cells.size() == columns_) return read_row(cells);
  const std::string_view first = cells.front().text;
  if (first.empty() || !sim::is_digit(first.front()) || cells.size() < 2) return;
  begin_row(first);
  is_damaged_ = true;
  log_.fault(line.from(0, 0), "", fmt::format("{} cells where the columns are {}", cells.size(), columns_));
}

void TransferCsvReader::take_heads(const LogCells& heads) {
  constexpr std::array<std::string_view, looked_at> names{"Test#", "NumBytes", "Src", "Exe", "Dst", "CUs", "BW(GB/s)"};
  constexpr std::size_t most_named = 16;
  std::vector<std::string> known;
  for (const LogCell& head : heads) {
    if (known.size() < most_named) known.push_back(printable(head.text));
  }
  columns_ = heads.size();
  for (std::size_t i = 0; i < looked_at; ++i) {
    const auto found = std::ranges::find(heads, names[i], &LogCell::text);
    at_[i] = static_cast<std::size_t>(found - heads.begin());
    if (found != heads.end()) continue;
    columns_ = 0;
    log_.fault(heads.front(), names[i], "this column is missing" + sim::name_hint(names[i], known));
  }
}

void TransferCsvReader::begin_row(std::string_view test) {
  if (test != test_) end_test();
  test_ = test;
}

void TransferCsvReader::read_row(const LogCells& row) {
  const auto cell = [&](Column column) { return row[at_[column]]; };
  begin_row(cell(test).text);
  if (cell(by).text == "ALL") {  // the sum of the test
    has_sums_ = true;
    return end_test();
  }
  const std::size_t faults_before = log_.faults();
  log_.integer(cell(test), 0, most_units * most_units, "Test#");
  const auto size = log_.bytes(cell(bytes), "NumBytes");
  const auto sources = read_memories(cell(from), log_);
  const auto executor = read_executor(cell(by), log_);
  const auto destinations = read_memories(cell(to), log_);
  const auto workgroups = log_.integer(cell(units), 0, most_units, "CUs");
  const auto measured = log_.figure(cell(rate), study::Figure::link_rate, "BW(GB/s)");
  if (log_.faults() != faults_before) {
    is_damaged_ = true;
    return;
  }
  at_once_.push_back({row.front().line, *sources, *destinations, *executor, *size, *measured});
  at_once_.back().by.units = workgroups;
}

void TransferCsvReader::end_test() {
  const std::vector<Transfer> at_once = std::exchange(at_once_, {});
  if (!std::exchange(is_damaged_, false)) return record(at_once, "TransferBench", log_);
  for (const Transfer& transfer : at_once) log_.leave_out(transfer.line, "what ran beside it could not be read");
}

}  // namespace

const LogFormat transfer_bench_csv{
    "TransferBench CSV", "rates of transfers, as TransferBench writes them with OUTPUT_TO_CSV=1",
    [](std::string_view text) { return has_line(text, are_transfer_heads); },
    [](std::string_view text, const std::string& name) { return TransferCsvReader(text, name).read(); }};

}  // namespace c3sim::calibrate
