// Tables of pairs to measure.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/plan.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr std::array<std::string_view, 7> strategies{"c3_base", "c3_sp",     "c3_rp", "c3_sp_rp",
                                                     "conccl",  "conccl_rp", "serial"};
constexpr std::array<std::string_view, 4> variants{"pcpy", "bcst", "swap", "b2b"};
constexpr std::array<std::string_view, 4> needed{"gemm", "collective", "bytes", "strategy"};
constexpr std::array<std::string_view, 4> accepted{"channels", "reserved_cus", "variant", "prelaunch"};
constexpr std::int64_t largest_array = std::int64_t{1} << 37;
constexpr std::int64_t most_channels = 64;
constexpr std::int64_t most_cus = 4096;

template <std::size_t count>
void require_one_of(const std::array<std::string_view, count>& words, const std::string& text, std::string_view what) {
  if (std::ranges::find(words, text) != words.end()) return;
  throw UserError("'{}' is no {}: {} are accepted", text, what, fmt::join(words, ", "));
}

// What of a pair is of copies, and what strategies keep CUs for.
void check_choices(const Arguments& pair) {
  const std::string& strategy = pair.text("strategy");
  const bool by_copies = strategy.starts_with("conccl");
  const std::string& variant = pair.text("variant");
  if (!variant.empty()) require_one_of(variants, variant, "variant");
  const std::string& prelaunch = pair.text("prelaunch");
  if (!prelaunch.empty()) require_one_of(std::array<std::string_view, 2>{"yes", "no"}, prelaunch, "prelaunch");
  if (!by_copies && (!variant.empty() || prelaunch == "yes")) {
    throw UserError("{} has no copies: variant and prelaunch are of conccl and conccl_rp", strategy);
  }
  if (!pair.text("channels").empty()) parse_count(pair.text("channels"), 1, most_channels);
  const std::string& reserved = pair.text("reserved_cus");
  if (!reserved.empty()) parse_count(reserved, 0, most_cus);
  if (strategy.ends_with("_rp") && reserved.empty()) {
    throw UserError("{} keeps CUs from the GEMM: how many, reserved_cus has to say", strategy);
  }
}

// UserError where the cells are no pair.
void check(const Arguments& pair, int gpus) {
  parse_shape(pair.text("gemm"));
  parse_collective(pair.text("collective"));
  require_one_of(strategies, pair.text("strategy"), "strategy");
  const std::int64_t unit = std::int64_t{2} * gpus;  // numbers of two bytes, as many for each GPU
  if (parse_count(pair.text("bytes"), unit, largest_array) % unit != 0) {
    throw UserError("bytes {} are no multiple of {}", pair.text("bytes"), unit);
  }
  check_choices(pair);
}

// The cells of a line under its heads; what says nothing is empty.
Arguments pair_of(const std::vector<std::string>& head, const std::vector<std::string>& cells) {
  Arguments pair;
  const auto cell_of = [&](std::string_view column) -> std::string {
    const auto at = std::ranges::find(head, column) - head.begin();
    if (at == static_cast<std::ptrdiff_t>(head.size())) return {};
    const std::string& cell = cells[static_cast<std::size_t>(at)];
    return cell == "-" || (column == "channels" && cell == "0") ? std::string() : cell;
  };
  for (const std::string_view column : needed) pair.add(std::string(column), cell_of(column));
  for (const std::string_view column : accepted) pair.add(std::string(column), cell_of(column));
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
    Arguments pair = pair_of(head, cells);
    try {
      check(pair, gpus);
    } catch (const UserError& fault) {
      throw UserError("{}:{}: {}", name, number, fault.what());
    }
    pairs.push_back(std::move(pair));
  }
  if (pairs.empty()) throw UserError("{}: no pair in it", name);
  return pairs;
}

}  // namespace c3sim::measure
