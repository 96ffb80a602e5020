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

}  // namespace

LogCells TransferMatrix::words_in(const LogCell& line) {
  return words_of(line, ",|\xE2\x94\x82");  // also U+2502, the rule of boxes
}

bool TransferMatrix::are_heads(const LogCell& line) {
  const LogCells words = words_in(line);
  return !words.empty() && words.front().text.starts_with("SRC") &&
         words.front().text.find('\\') != std::string_view::npos &&
         words.front().text.find("DST") != std::string_view::npos;
}

TransferMatrix::TransferMatrix(TransferMatrixForm form, const LogCell& heads, LogReading& reading)
    : form_(std::move(form)), reading_(reading) {
  const LogCells words = words_in(heads);
  std::size_t at = 1;
  while (const std::optional<Device> device = read_device(words, at)) {
    if (std::ranges::find(columns_, *device) == columns_.end()) {
      columns_.push_back(*device);
      continue;
    }
    reading_.fault(words[at - 1], "", "this column is named twice");
    columns_.clear();
    return;
  }
  sums_ = words.size() - at;
  for (; at < words.size(); ++at) {
    if (words[at].text == "STotal" || words[at].text == "Actual") continue;
    reading_.fault(words[at], "",
                   shown(words[at].text) + " is not known: CPU 00, GPU 00, STotal and Actual are accepted");
    columns_.clear();
    return;
  }
}

// "GPU 00", in one word or two.
std::optional<TransferMatrix::Device> TransferMatrix::read_device(const LogCells& words, std::size_t& at) {
  if (at >= words.size()) return {};
  const LogCell& word = words[at];
  const bool is_gpu = word.text.starts_with("GPU");
  if (!is_gpu && !word.text.starts_with("CPU")) return {};
  LogCell index = word.from(3);
  std::size_t used = 1;
  if (index.text.empty() && at + 1 < words.size()) {
    index = words[at + 1];
    used = 2;
  }
  const std::optional<int> number = reading_.integer(index, 0, most_units - 1, word.text.substr(0, 3));
  if (!number) return {};
  at += used;
  return Device{is_gpu, *number};
}

Transfer TransferMatrix::transfer(const Device& from, const Device& to, double rate, int line) const {
  const auto memory = [this](const Device& device) {
    const auto kind = device.is_gpu ? TransferMemory::Kind::gpu : TransferMemory::Kind::other;
    return TransferMemory{kind, device.index, device.is_gpu && form_.is_fine_grained};
  };
  const Device& by = form_.by_destination ? to : from;
  TransferExecutor executor{.kind = TransferExecutor::Kind::host, .index = by.index};
  if (by.is_gpu) executor.kind = form_.by_engine ? TransferExecutor::Kind::engine : TransferExecutor::Kind::kernel;
  if (executor.kind == TransferExecutor::Kind::kernel) executor.units = form_.cus;
  return {line, {memory(from)}, {memory(to)}, executor, *form_.bytes, rate};
}

std::vector<std::optional<Transfer>> TransferMatrix::read_cells(const Device& source, const LogCells& words,
                                                                bool is_reversed) {
  std::vector<std::optional<Transfer>> transfers(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Device& other = columns_[i];
    const LogCell& cell = words[words.size() - sums_ - columns_.size() + i];
    if (is_unmeasured(cell.text)) {
      if (source == other) continue;
      misses_some_ = true;
      reading_.leave_out(cell.line, "not measured");
      continue;
    }
    const std::optional<double> rate = reading_.figure(cell, study::Figure::link_rate, "GB/s");
    if (!rate) continue;
    transfers[i] = transfer(is_reversed ? other : source, is_reversed ? source : other, *rate, cell.line);
  }
  return transfers;
}

bool TransferMatrix::read_row(const LogCell& line, bool may_be_cut) {
  const LogCells words = words_in(line);
  if (columns_.empty() || words.empty()) return false;
  const std::string_view label = words.front().text;
  if (!label.starts_with("CPU") && !label.starts_with("GPU")) return false;
  if (label.size() > 3 && !sim::is_digit(label[3])) return false;  // "GPU->GPU", above averages
  std::size_t at = 0;
  const std::optional<Device> source = read_device(words, at);
  if (!source) return true;
  if (std::ranges::find(columns_, *source) == columns_.end()) {
    reading_.fault(words.front(), "",
                   "this source is no destination: rows and columns of the same devices are accepted");
    return true;
  }
  constexpr std::array<std::string_view, 3> arrows{"->", "<-", "<->"};
  std::string_view arrow;
  if (at < words.size() && std::ranges::find(arrows, words[at].text) != arrows.end()) arrow = words[at++].text;
  if (arrow == "<->") return true;  // the sum of both directions
  const std::size_t cells = columns_.size() + sums_;
  if (words.size() - at != cells) {
    reading_.fault(words.front(), "",
                   fmt::format("{} cells where the columns are {}: cut short?", words.size() - at, cells));
    return true;
  }
  for (std::size_t i = at; i + 1 < words.size(); ++i) decimals_ = std::max(decimals_, decimals(words[i].text));
  if (may_be_cut && !is_unmeasured(words.back().text) && decimals(words.back().text) < decimals_) {
    reading_.fault(words.back(), "", shown(words.back().text) + " is cut off: an end of line is accepted behind it");
    return true;
  }
  if (!form_.why_not.empty()) {
    reading_.leave_out(line.line, form_.why_not);
    return true;
  }
  if (!form_.bytes) {
    reading_.fault(words.front(), "bytes",
                   "is missing: 'Bytes Per Direction N', or '- Copying N bytes', is accepted above the table");
    return true;
  }
  const bool is_reversed = arrow == "<-";
  keep({words.front(), read_cells(*source, words, is_reversed)}, is_reversed);
  return true;
}

std::string TransferMatrix::tool() const {
  return form_.pattern == Pattern::all ? "TransferBench a2a" : "TransferBench p2p";
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
      if (cell) record(std::span(&*cell, 1), tool(), reading_);
    } else if (!forward_) {
      return reading_.fault(row.place, "", "the row of the other direction ('->') is accepted above it");
    } else if (cell && forward_->transfers[i]) {
      record(std::array{*forward_->transfers[i], *cell}, tool(), reading_);
    }
  }
  forward_.reset();
}

void TransferMatrix::drop_half() {
  if (forward_) reading_.fault(forward_->place, "", "the row of the other direction ('<-') is missing");
  forward_.reset();
}

void TransferMatrix::end() {
  drop_half();
  const auto gpus = static_cast<int>(std::ranges::count_if(columns_, &Device::is_gpu));
  const std::vector<Transfer> all = std::exchange(all_, {});
  if (!misses_some_) return record_of_all(all, gpus, tool(), reading_);
  for (const Transfer& transfer : all) {
    reading_.leave_out(transfer.line, "some GPUs did not copy to all others: no trial stands for that");
  }
}

}  // namespace c3sim::calibrate
