// Tables of pairs to measure.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/plan.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

using Words = std::vector<std::string_view>;

const Words needed{"gemm", "collective", "bytes", "strategy"};
const Words accepted{"channels", "reserved_cus", "variant", "prelaunch"};
const Words strategies{"c3_base", "c3_sp", "c3_rp", "c3_sp_rp", "conccl", "conccl_rp", "serial"};
constexpr std::int64_t largest_array = std::int64_t{1} << 37;
constexpr std::int64_t most_channels = 64;
constexpr std::int64_t most_cus = 4096;

void require_one_of(const Words& words, const Arguments& pair, const char* column) {
  if (std::ranges::find(words, pair.text(column)) != words.end()) return;
  throw UserError("'{}' is no {}: {} are accepted", pair.text(column), column, fmt::join(words, ", "));
}

// UserError where the cells are no pair.
void check(const Arguments& pair, int gpus) {
  parse_shape(pair.text("gemm"));
  parse_collective(pair.text("collective"));
  require_one_of(strategies, pair, "strategy");
  const std::int64_t unit = std::int64_t{2} * gpus;  // numbers of two bytes, as many for each GPU
  if (parse_count(pair.text("bytes"), unit, largest_array) % unit != 0) {
    throw UserError("bytes {} are no multiple of {}", pair.text("bytes"), unit);
  }
  const std::string& strategy = pair.text("strategy");
  const bool has_variant = !pair.text("variant").empty();
  if (has_variant) require_one_of({"pcpy", "bcst", "swap", "b2b"}, pair, "variant");
  if (!pair.text("prelaunch").empty()) require_one_of({"yes", "no"}, pair, "prelaunch");
  if (!strategy.starts_with("conccl") && (has_variant || pair.text("prelaunch") == "yes")) {
    throw UserError("{} has no copies: variant and prelaunch are of conccl and conccl_rp", strategy);
  }
  if (!pair.text("channels").empty()) parse_count(pair.text("channels"), 1, most_channels);
  const std::string& reserved = pair.text("reserved_cus");
  if (!reserved.empty()) parse_count(reserved, 0, most_cus);
  if (strategy.ends_with("_rp") && reserved.empty()) {
    throw UserError("{} keeps CUs from the GEMM: how many, reserved_cus has to say", strategy);
  }
}

// The cells of a line under its heads; what says nothing is empty.
Arguments pair_of(const std::vector<std::string>& head, const std::vector<std::string>& cells) {
  Arguments pair;
  for (const Words& columns : {needed, accepted}) {
    for (const std::string_view column : columns) {
      const auto at = static_cast<std::size_t>(std::ranges::find(head, column) - head.begin());
      const std::string cell = at < head.size() ? cells[at] : "";
      pair.add(std::string(column), cell == "-" || (column == "channels" && cell == "0") ? "" : cell);
    }
  }
  return pair;
}

}  // namespace

std::vector<Arguments> read_pairs(const std::string& text, const std::string& name, int gpus) {
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
      for (const std::string_view column : needed) {
        if (std::ranges::find(head, column) != head.end()) continue;
        throw UserError("{}:{}: no column {}: {} are needed, {} are accepted", name, number, column,
                        fmt::join(needed, ", "), fmt::join(accepted, ", "));
      }
      continue;
    }
    if (cells.size() != head.size()) {
      throw UserError("{}:{}: {} cells under {} columns", name, number, cells.size(), head.size());
    }
    try {
      pairs.push_back(pair_of(head, cells));
      check(pairs.back(), gpus);
    } catch (const UserError& fault) {
      throw UserError("{}:{}: {}", name, number, fault.what());
    }
  }
  if (pairs.empty()) throw UserError("{}: no pair in it", name);
  return pairs;
}

}  // namespace c3sim::measure
