#include "calibrate/readers/transfer_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace c3sim::calibrate {

namespace {

using Pattern = TransferMatrixForm::Pattern;

bool is_unmeasured(std::string_view cell) { return cell == "N/A" || cell == "-"; }

// How many digits stand behind the point.
std::size_t decimals(std::string_view number) {
  const std::size_t point = number.find('.');
  return point == std::string_view::npos ? 0 : number.size() - point - 1;
}

LogCells words_in(const LogCell& line) {
  return words_of(line, ",|\xE2\x94\x82");  // also U+2502, the rule of boxes
}

}  // namespace

bool TransferMatrix::are_heads(const LogCell& line) {
  const LogCells words = words_in(line);
  if (words.empty()) return false;
  const LogCell& first = words.front();
  return first.text.starts_with("SRC") && first.holds("\\") && first.holds("DST");
}

TransferMatrix::TransferMatrix(TransferMatrixForm form, const LogCell& heads, LogReading& log)
    : form_(std::move(form)),
      log_(log),
      tool_(form_.pattern == Pattern::all ? "TransferBench a2a" : "TransferBench p2p") {
  const LogCells words = words_in(heads);
  std::size_t at = 1;
  std::string what;
  while (const std::optional<TransferMemory> device = read_device(words, at)) {
    const bool is_new = std::ranges::find(columns_, *device) == columns_.end();
    columns_.push_back(*device);
    if (is_new) continue;
    what = "this column is named twice";
    --at;  // to the column that is at fault
    break;
  }
  sums_ = words.size() - at;
  while (what.empty() && at < words.size() && (words[at].text == "STotal" || words[at].text == "Actual")) ++at;
  if (what.empty() && at < words.size()) {
    what = shown(words[at].text) + " is not known: CPU 00, GPU 00, STotal and Actual are accepted";
  }
  if (what.empty()) return;
  log_.fault(words[at], "", std::move(what));
  columns_.clear();
}

// "GPU 00", in one word or two.
std::optional<TransferMemory> TransferMatrix::read_device(const LogCells& words, std::size_t& at) {
  if (at >= words.size()) return {};
  const std::string_view kind = words[at].text.substr(0, 3);
  if (kind != "GPU" && kind != "CPU") return {};
  const bool is_apart = words[at].text.size() == kind.size() && at + 1 < words.size();
  const LogCell index = is_apart ? words[at + 1] : words[at].from(kind.size());
  const std::optional<int> number = log_.integer(index, 0, most_units - 1, kind);
  if (!number) return {};
  at += is_apart ? 2 : 1;
  if (kind == "CPU") return TransferMemory{TransferMemory::Kind::other, *number};
  return TransferMemory{TransferMemory::Kind::gpu, *number, form_.is_fine_grained};
}

Transfer TransferMatrix::transfer(const TransferMemory& from, const TransferMemory& to, double rate, int line) const {
  using Executor = TransferExecutor::Kind;
  const TransferMemory& by = form_.by_destination ? to : from;
  TransferExecutor executor{.kind = Executor::host, .index = by.index};
  if (by.kind == TransferMemory::Kind::gpu) executor.kind = form_.by_engine ? Executor::engine : Executor::kernel;
  if (executor.kind == Executor::kernel) executor.units = form_.cus;
  return {line, {from}, {to}, executor, *form_.bytes, rate};
}

void TransferMatrix::read_cells(const TransferMemory& source, const LogCells& words, std::size_t at, bool is_reversed) {
  Row row{words.front(), std::vector<std::optional<Transfer>>(columns_.size())};
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const TransferMemory& other = columns_[i];
    const LogCell& cell = words[at + i];
    if (is_unmeasured(cell.text)) {
      if (source == other) continue;
      misses_some_ = true;
      log_.leave_out(cell.line, "not measured");
    } else if (const auto rate = log_.figure(cell, study::Figure::link_rate, "GB/s")) {
      row.transfers[i] = transfer(is_reversed ? other : source, is_reversed ? source : other, *rate, cell.line);
    }
  }
  keep(std::move(row), is_reversed);
}

bool TransferMatrix::read_row(const LogCell& line) {
  const LogCells words = words_in(line);
  if (columns_.empty() || words.empty()) return false;
  const std::string_view label = words.front().text;
  if (!label.starts_with("CPU") && !label.starts_with("GPU")) return false;
  if (label.size() > 3 && !sim::is_digit(label[3])) return false;  // "GPU->GPU", above averages
  const auto fault = [this](const LogCell& at, std::string_view path, std::string what) {
    log_.fault(at, path, std::move(what));
    return true;
  };
  std::size_t at = 0;
  const std::optional<TransferMemory> source = read_device(words, at);
  if (!source) return true;
  if (std::ranges::find(columns_, *source) == columns_.end()) {
    return fault(words.front(), "", "this source is no destination: rows and columns of the same devices are accepted");
  }
  constexpr std::array<std::string_view, 3> arrows{"->", "<-", "<->"};
  std::string_view arrow;
  if (at < words.size() && std::ranges::find(arrows, words[at].text) != arrows.end()) arrow = words[at++].text;
  if (arrow == "<->") return true;  // the sum of both directions
  const std::size_t cells = columns_.size() + sums_;
  if (words.size() - at != cells) {
    return fault(words.front(), "",
                 fmt::format("{} cells where the columns are {}: cut short?", words.size() - at, cells));
  }
  for (std::size_t i = at; i + 1 < words.size(); ++i) decimals_ = std::max(decimals_, decimals(words[i].text));
  const std::string_view last = words.back().text;
  if (log_.is_cut() && !is_unmeasured(last) && decimals(last) < decimals_) {
    return fault(words.back(), "", shown(last) + " is cut off: an end of line is accepted behind it");
  }
  if (!form_.why_not.empty()) {
    log_.leave_out(line.line, form_.why_not);
  } else if (!form_.bytes) {
    return fault(words.front(), "bytes",
                 "is missing: 'Bytes Per Direction N', or '- Copying N bytes', is accepted above the table");
  } else {
    read_cells(*source, words, at, arrow == "<-");
  }
  return true;
}

void TransferMatrix::keep(Row row, bool is_reversed) {
  if (form_.pattern == Pattern::both_ways && !is_reversed) {
    drop_half();
    forward_ = std::move(row);
    return;
  }
  for (std::size_t i = 0; i < row.transfers.size(); ++i) {
    std::optional<Transfer>& cell = row.transfers[i];
    if (form_.pattern == Pattern::all) {
      if (cell) all_.push_back(std::move(*cell));
    } else if (form_.pattern == Pattern::one_way) {
      if (cell) record(std::span(&*cell, 1), tool_, log_);
    } else if (!forward_) {
      return log_.fault(row.place, "", "the row of the other direction ('->') is accepted above it");
    } else if (cell && forward_->transfers[i]) {
      record(std::array{*forward_->transfers[i], *cell}, tool_, log_);
    }
  }
  forward_.reset();
}

void TransferMatrix::drop_half() {
  if (forward_) log_.fault(forward_->place, "", "the row of the other direction ('<-') is missing");
  forward_.reset();
}

void TransferMatrix::end() {
  drop_half();
  const auto gpus = static_cast<int>(std::ranges::count(columns_, TransferMemory::Kind::gpu, &TransferMemory::kind));
  const std::vector<Transfer> all = std::exchange(all_, {});
  if (!misses_some_) return record_of_all(all, gpus, tool_, log_);
  for (const Transfer& transfer : all) {
    log_.leave_out(transfer.line, "some GPUs did not copy to all others: no trial stands for that");
  }
}

}  // namespace c3sim::calibrate
