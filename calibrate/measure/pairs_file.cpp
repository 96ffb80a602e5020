// Tables of pairs to measure.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "calibrate/measure/gpu_error.h"
#include "calibrate/measure/plan.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr std::array<std::string_view, 4> strategies{"c3_base", "c3_sp", "conccl", "serial"};
constexpr std::int64_t largest_array = std::int64_t{1} << 37;
constexpr std::int64_t most_channels = 64;

// UserError where the cells are no pair.
void check(const Arguments& pair, int gpus) {
  parse_shape(pair.text("gemm"));
  const Collective collective = parse_collective(pair.text("collective"));
  if (std::ranges::find(strategies, pair.text("strategy")) == strategies.end()) {
    throw UserError(
        fmt::format("'{}' is no strategy: {} are accepted", pair.text("strategy"), fmt::join(strategies, ", ")));
  }
  const bool computes = collective == Collective::all_reduce || collective == Collective::reduce_scatter;
  if (pair.text("strategy") == "conccl" && computes) {
    throw UserError(
        fmt::format("copies alone make no {}: c3_base, c3_sp and serial are accepted", pair.text("collective")));
  }
  const std::int64_t unit = std::int64_t{2} * gpus;  // numbers of two bytes, as many for each GPU
  if (parse_count(pair.text("bytes"), unit, largest_array) % unit != 0) {
    throw UserError(fmt::format("bytes {} are no multiple of {}", pair.text("bytes"), unit));
  }
  if (!pair.text("channels").empty()) parse_count(pair.text("channels"), 1, most_channels);
}

}  // namespace

std::vector<Arguments> read_pairs(const std::string& text, const std::string& name, int gpus) {
  constexpr std::array<std::string_view, 5> columns{"gemm", "collective", "bytes", "strategy", "channels"};
  std::istringstream stream(text);
  std::vector<Arguments> pairs;
  std::vector<std::string> head;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<std::string> cells = split(line, ',');
    if (head.empty()) {
      head = std::move(cells);
      for (const std::string_view column : columns) {
        if (column == "channels" || std::ranges::find(head, column) != head.end()) continue;
        throw UserError(
            fmt::format("{}:{}: no column {}: gemm, collective, bytes and strategy are needed, channels is "
                        "accepted",
                        name, number, column));
      }
      continue;
    }
    if (cells.size() != head.size()) {
      throw UserError(fmt::format("{}:{}: {} cells under {} columns", name, number, cells.size(), head.size()));
    }
    Arguments pair;
    for (const std::string_view column : columns) {
      const auto at = std::ranges::find(head, column) - head.begin();
      const bool there = at < static_cast<std::ptrdiff_t>(head.size());
      std::string cell = there ? cells[static_cast<std::size_t>(at)] : "";
      if (column == "channels" && (cell == "-" || cell == "0")) cell.clear();
      pair.add(std::string(column), std::move(cell));
    }
    try {
      check(pair, gpus);
    } catch (const UserError& fault) {
      throw UserError(fmt::format("{}:{}: {}", name, number, fault.what()));
    }
    pairs.push_back(std::move(pair));
  }
  if (pairs.empty()) throw UserError(fmt::format("{}: no pair in it", name));
  return pairs;
}

}  // namespace c3sim::measure
