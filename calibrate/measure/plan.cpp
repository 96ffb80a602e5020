#include "calibrate/measure/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "calibrate/measure/words.h"

namespace c3sim::measure {

const std::string& Arguments::text(std::string_view column) const {
  static const std::string nothing;
  const auto found = std::ranges::find(cells, column, &std::pair<std::string, std::string>::first);
  return found == cells.end() ? nothing : found->second;
}

std::int64_t Arguments::number(std::string_view column) const {
  const std::string& cell = text(column);
  return cell.empty() ? 0 : parse_count(cell, 0, std::numeric_limits<std::int64_t>::max());
}

std::string Arguments::spelled() const {
  std::string all;
  for (const auto& [column, cell] : cells) all += fmt::format("{}{}={}", all.empty() ? "" : " ", column, cell);
  return all;
}

namespace {

constexpr std::int64_t largest_array = std::int64_t{1} << 37;  // bytes
// These rates of a GPU serve only to estimate how long a plan takes.
constexpr double bytes_per_second = 1e11, flops_per_second = 5e14;
constexpr std::int64_t most_gpus = 64;
constexpr double preparation = 0.05;  // s per item: memory, first launches

// These shapes take the place of {gemms} in plan.txt.
constexpr const char* gemms =
    "8192x8192x8192,4096x4096x4096,18432x8192x16384,8192x57344x8192,4096x4096x16384,8192x28672x8192,2048x8192x8192,"
    "12288x12288x12288|16384x8192x16384,16384x16384x8192,7168x8192x8192,2304x8192x16384,8192x16384x4096,1024x1024x8192,"
    "106496x8192x16384,16384x106496x8192";

class Planner {
 public:
  Planner(const Wish& wish, const Machine& machine, const Protocol& protocol)
      : wish_(wish), machine_(machine), protocol_(protocol) {}

  std::vector<Item> plan() {
    for (const auto& [key, columns] : entries_of(plan_text())) {
      const std::vector<std::string> words = split(key, ' ');  // "copies", or "copies of 2" GPUs at least
      const std::string& kind = words.front();
      if (words.size() > 1 && machine_.gpus < parse_count(words.back(), 1, most_gpus)) continue;
      if (kind == "engines") {
        plan_engines();
      } else if (kind == "pairs" && !wish_.pairs.empty()) {
        for (const Arguments& pair : wish_.pairs) add(kind, pair);
      } else {
        add_all(kind, filled_in(columns));
      }
    }
    return std::move(items_);
  }

 private:
  // Fills in the braces of a line of plan.txt.
  std::string filled_in(const std::string& columns) const {
    std::vector<std::string> few = asked_or(gemms);  // at most three, of no more than 20 ms each
    if (wish_.quick && !few.empty()) few.resize(1);
    std::erase_if(few, [](const std::string& shape) { return of(parse_shape(shape)) > 20e-3; });
    few.resize(std::min<std::size_t>(few.size(), 3));
    std::vector<std::string> gathered = values_of("1G,64M,256M,1M,16M,64K|4M,256K,4G");
    std::erase_if(gathered, [this](const std::string& bytes) {
      return std::stoull(number_of(bytes)) * 3 >= machine_.device.memory;
    });
    std::vector<int> peers;
    for (int peer = 1; peer < machine_.gpus; ++peer) peers.push_back(peer);
    return fmt::format(fmt::runtime(columns), fmt::arg("gemms", gemms), fmt::arg("short_gemms", fmt::join(few, ",")),
                       fmt::arg("gathered", fmt::join(gathered, ",")), fmt::arg("peers", fmt::join(peers, ",")),
                       fmt::arg("copied", "1M,64M,4K,256M,64K|16M,4M,256K,16K,1G"),
                       fmt::arg("probed", asked_or("8192x8192x8192").front()),
                       fmt::arg("schedules", fmt::join(dependent_schedules(), ",")),
                       fmt::arg("of_one", machine_.device.local_memory / 2048 * 2048),
                       fmt::arg("of_four", machine_.device.local_memory / 4 / 2048 * 2048 - 2048));
  }

  void add(std::string_view kind, const Arguments& arguments) {
    const bool wanted = wish_.only.empty() || std::ranges::find(wish_.only, kind) != wish_.only.end();
    Item item{kind_of(kind), arguments};
    if (!wanted || !planned_.insert(item.name()).second) return;
    item.seconds = seconds_of(kind, arguments);
    items_.push_back(std::move(item));
  }
  void add_all(std::string_view kind, const std::string& columns, const Arguments& begun = {}) {
    if (columns.empty()) {
      if (is_possible(kind, begun)) add(kind, begun);
      return;
    }
    const std::size_t star = columns.find('*'), begin = star == std::string::npos ? 0 : star + 1;
    const std::size_t end = std::min(columns.find(';', begin), columns.size());
    const std::size_t equals = columns.find('=', begin);
    std::string name = columns.substr(begin, equals - begin);
    std::string values = columns.substr(equals + 1, end - equals - 1);
    if (name.ends_with('?')) {
      name.pop_back();
      values = fmt::format("{}", fmt::join(asked_or(values), ","));
    }
    for (const std::string& value : values_of(values, begun)) {
      if (star != std::string::npos) {
        add_all(kind, fmt::format("{}{}={}{}", columns.substr(0, star), name, value, columns.substr(end)), begun);
        continue;
      }
      Arguments more = begun;
      for (const std::string& part : split(fmt::format("{}={}", name, value), '&')) {
        const std::size_t middle = part.find('=');
        more.cells.emplace_back(part.substr(0, middle), number_of(part.substr(middle + 1)));
      }
      add_all(kind, columns.substr(std::min(end + 2, columns.size())), more);
    }
  }
  bool is_possible(std::string_view kind, const Arguments& one) const {
    if (kind == "gemms" || kind == "matrix_power") return !one.text("gemm").empty() && one.number("cus") > 0;
    if (kind == "pairs") return one.text("collective") != "all_reduce" || one.text("strategy") != "conccl";
    return kind != "dependent" || can_be_cut(one.shape(), machine_.gpus);
  }
  std::vector<std::string> values_of(std::string text, const Arguments& begun = {}) const {
    const std::size_t bar = text.find('|');
    if (bar != std::string::npos) text = wish_.quick ? text.substr(0, bar) : text.replace(bar, 1, ",");
    std::vector<std::string> values;
    for (const std::string& value : split(text, ',')) {
      if (value != "every" && value != "other") {
        values.push_back(value);
        continue;
      }
      for (int gpu = 0; gpu < machine_.gpus; ++gpu) {
        std::string name = fmt::format("gpu{}", gpu);
        if (value == "every" || name != begun.text("from")) values.push_back(std::move(name));
      }
    }
    return values;
  }
  std::string number_of(const std::string& value) const {
    if (value.ends_with("cus")) return std::to_string(std::stoi(value) * machine_.device.cus);
    if (value.ends_with("/8")) return std::to_string(machine_.device.cus * std::stoi(value) / 8 / 2 * 2);
    const bool has_unit = !value.empty() && std::string_view("KMG").find(value.back()) != std::string_view::npos;
    return has_unit ? std::to_string(parse_bytes(value + "iB", 0, largest_array)) : value;
  }
  // Returns the shapes that the user asked for, or else `shapes`.
  std::vector<std::string> asked_or(const std::string& shapes) const {
    if (wish_.shapes.empty()) return values_of(shapes);
    std::vector<std::string> asked;
    for (const GemmShape shape : wish_.shapes) asked.push_back(to_string(shape));
    return asked;
  }
  void plan_engines() {
    for (std::size_t peer = 0; peer < machine_.peers.size(); ++peer) {
      std::string preferred = "yes";
      for (const int engine : machine_.peers[peer]) {
        add_all("engines", fmt::format("from=gpu0; to=gpu{}; bytes=64M,1M|64K,4K; engine={}; preferred={}", peer,
                                       engine, std::exchange(preferred, "no")));
        if (peer > 1) break;
      }
    }
  }

  static double of(GemmShape shape) { return shape.operations() / flops_per_second; }
  static double of(double bytes) { return 20e-6 + bytes / bytes_per_second; }
  double runs(double seconds, bool hot = false) const {
    const double warm_up = hot ? protocol_.hot_warm_up.count() : protocol_.warm_up.count();
    return preparation + std::max(warm_up, protocol_.least_warm_ups * seconds) + protocol_.counted * seconds;
  }
  // Returns the estimated duration of an item.
  double seconds_of(std::string_view kind, const Arguments& one) const {
    const auto number = [&](const char* column) { return static_cast<double>(one.number(column)); };
    const double bytes = number("bytes"), channels = number("channels");
    const double gathered = of(bytes) * (channels > 0 ? 1.0 + 16.0 / channels : 1.0);
    const bool has_gemm = one.text("gemm").find('x') != std::string::npos;
    const double gemm = has_gemm ? of(one.shape()) : 0.0;
    if (kind == "launches") return runs(1e-3);
    if (kind == "gemms") return runs(gemm * 8 / std::ceil(8 * number("cus") / machine_.device.cus), true);
    if (kind == "collectives") return runs(gathered);
    if (kind == "copies") {
      const bool host = one.text("from") == "host" || one.text("to") == "host";
      return runs(of(host ? 4.0 * bytes : bytes));
    }
    if (kind == "fan_outs") return runs(of(number("peers") * bytes));
    if (kind == "streams") return runs(of(bytes) * number("passes") / 10.0);
    if (kind == "back_to_back") return runs(of(bytes) * number("copies"));
    if (kind == "copy_phases" || kind == "engines" || kind == "links") return runs(of(bytes));
    if (kind == "loads") return preparation + 0.1;
    if (kind == "dispatch") return preparation;
    if (kind == "pairs") return runs(gemm, true) + runs(of(bytes)) + runs(gemm + of(bytes), true);
    if (kind == "probes") return 2.0 * runs(gemm + gathered, has_gemm);
    if (kind == "dependent") {
      return runs(gemm + of(static_cast<double>(2 * one.shape().n * one.shape().k)), true);
    }
    if (one.text("beside") == "rest" || one.text("phase") == "idle") return 2.0;
    return kind == "steady" || kind == "matrix_power" ? 4.0 : kind == "link_power" ? 3.5 : 3.0;
  }

  const Wish& wish_;
  const Machine& machine_;
  const Protocol& protocol_;
  std::vector<Item> items_;
  std::set<std::string> planned_;  // names of items: none is measured twice
};

}  // namespace

std::string Item::name() const { return fmt::format("{} {}", kind->name, arguments.spelled()); }

std::vector<Item> make_plan(const Wish& wish, const Machine& machine, const Protocol& protocol) {
  std::vector<Item> items = Planner(wish, machine, protocol).plan();
  // If only pairs of a file were asked for, they alone are measured.
  if (!wish.pairs.empty() && wish.only.empty()) {
    std::erase_if(items, [](const Item& item) { return item.kind->name != "pairs"; });
  }
  return items;
}

namespace {

using Words = std::vector<std::string_view>;

const Words needed{"gemm", "collective", "bytes", "strategy"};
const Words accepted{"channels", "reserved_cus", "variant", "prelaunch"};
const Words strategies{"c3_base", "c3_sp", "c3_rp", "c3_sp_rp", "conccl", "conccl_rp", "serial"};
constexpr std::int64_t most_channels = 64;
constexpr std::int64_t most_cus = 4096;

void require_one_of(const Words& words, const Arguments& pair, const char* column) {
  if (std::ranges::find(words, pair.text(column)) != words.end()) return;
  throw UserError("'{}' is no {}: {} are accepted", pair.text(column), column, fmt::join(words, ", "));
}

// Throws UserError where the cells are no pair.
void check(const Arguments& pair) {
  parse_shape(pair.text("gemm"));
  parse_collective(pair.text("collective"));
  require_one_of(strategies, pair, "strategy");
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

// Returns the bytes of a pair as a number. Throws UserError unless each GPU gets as many numbers of two bytes.
std::string bytes_of(const std::string& text, int gpus) {
  const std::int64_t unit = std::int64_t{2} * gpus;
  const std::int64_t bytes = parse_bytes(text, unit, largest_array);
  if (bytes % unit != 0) throw UserError("bytes {} are no multiple of {}", text, unit);
  return std::to_string(bytes);
}

// Returns the cells of a line by column; "-" and a `channels` of 0 become empty.
Arguments pair_of(const std::vector<std::string>& head, const std::vector<std::string>& cells, int gpus) {
  Arguments pair;
  for (const Words& columns : {needed, accepted}) {
    for (const std::string_view column : columns) {
      const auto at = static_cast<std::size_t>(std::ranges::find(head, column) - head.begin());
      const std::string cell = at < head.size() ? cells[at] : "";
      const bool is_empty = cell == "-" || (column == "channels" && cell == "0");
      pair.cells.emplace_back(column, is_empty ? "" : column == "bytes" ? bytes_of(cell, gpus) : cell);
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
      pairs.push_back(pair_of(head, cells, gpus));
      check(pairs.back());
    } catch (const UserError& fault) {
      throw UserError("{}:{}: {}", name, number, fault.what());
    }
  }
  if (pairs.empty()) throw UserError("{}: no pair in it", name);
  return pairs;
}

}  // namespace c3sim::measure
