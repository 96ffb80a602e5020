#include "calibrate/measure/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr std::size_t gib = std::size_t{1} << 30;

// What a GPU may do, to tell how long a plan takes: no more than that depends on it.
constexpr double bytes_per_second = 1e11, flops_per_second = 5e14;
constexpr double preparation = 0.05;  // s of an item: memory, first launches

class Planner {
 public:
  Planner(const Wish& wish, const Machine& machine, const Protocol& protocol)
      : wish_(wish), machine_(machine), protocol_(protocol) {}

  std::vector<Item> plan() {
    plan_launches();
    plan_gemms();
    if (machine_.gpus > 1) plan_collectives();
    plan_copies();
    plan_memory();
    plan_governor();
    if (machine_.gpus > 1) plan_pairs();
    plan_probes();
    if (machine_.gpus > 1) plan_dependent();
    plan_more_copies();
    plan_dispatch();
    plan_power();
    if (machine_.gpus > 1) plan_graphs();
    return std::move(items_);
  }

 private:
  void add(std::string_view kind, const Arguments& arguments) {
    const bool wanted = wish_.only.empty() || std::ranges::find(wish_.only, kind) != wish_.only.end();
    Item item{kind_of(kind), arguments};
    if (!wanted || !known_.insert(item.name()).second) return;
    item.seconds = seconds_of(kind, arguments);
    items_.push_back(std::move(item));
  }
  // Of "from=gpu0 bytes=1M,64M|4K" all that its columns combine to, the last one's values following each other: what
  // stands behind a bar is not in the quick plan, and K, M and G are 2^10, 2^20 and 2^30.
  void add_all(std::string_view kind, const std::string& columns, const Arguments& begun = {}) {
    if (columns.empty()) return add(kind, begun);
    const std::size_t end = std::min(columns.find(' '), columns.size());
    const std::vector<std::string> column = split(columns.substr(0, end), '=');
    for (const std::string& value : values_of(column[1])) {
      Arguments more = begun;
      more.add(column[0], value);
      add_all(kind, columns.substr(std::min(end + 1, columns.size())), more);
    }
  }
  std::vector<std::string> values_of(std::string text) const {
    const std::size_t bar = text.find('|');
    if (bar != std::string::npos) text = wish_.quick ? text.substr(0, bar) : text.replace(bar, 1, ",");
    std::vector<std::string> values = split(text, ',');
    for (std::string& value : values) {
      const std::size_t power = value.empty() ? 0 : std::string_view("KMG").find(value.back()) + 1;
      if (power == 0) continue;
      value.pop_back();
      value = std::to_string(parse_count(value, 0, 1024) << 10 * power);
    }
    return values;
  }
  // The quick plan has the first so many.
  template <class T>
  std::vector<T> some(std::vector<T> all, std::size_t quick) const {
    if (wish_.quick && all.size() > quick) all.resize(quick);
    return all;
  }
  // Shapes that were asked for, or these.
  std::vector<std::string> asked_or(const char* shapes) const {
    if (wish_.shapes.empty()) return values_of(shapes);
    std::vector<std::string> asked;
    for (const GemmShape shape : wish_.shapes) asked.push_back(to_string(shape));
    return asked;
  }

  static double of(GemmShape shape) {
    return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k) /
           flops_per_second;
  }
  static double of(double bytes) { return 20e-6 + bytes / bytes_per_second; }
  double runs(double seconds, bool hot = false) const {
    const double warm_up = hot ? protocol_.hot_warm_up.count() : protocol_.warm_up.count();
    return preparation + std::max(warm_up, protocol_.least_warm_ups * seconds) + protocol_.counted * seconds;
  }
  // That an item may take, roughly.
  double seconds_of(std::string_view kind, const Arguments& one) const {
    const auto number = [&](const char* column) { return static_cast<double>(one.number(column)); };
    const double bytes = number("bytes");
    if (kind == "launches") return runs(1e-3);
    if (kind == "gemms") return runs(of(one.shape()) * 8 / std::ceil(8 * number("cus") / machine_.cus), true);
    if (kind == "collectives") {
      const double channels = number("channels");
      return runs(of(bytes) * (channels > 0 ? 1.0 + 16.0 / channels : 1.0));
    }
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
    if (kind == "pairs") {
      const double alone = of(one.shape()), beside = of(bytes);
      return runs(alone, true) + runs(beside) + runs(alone + beside, true);
    }
    if (kind == "probes") {
      const bool has_gemm = !one.text("gemm").empty();
      const double channels = number("channels");
      const double both = (has_gemm ? of(one.shape()) : 0.0) + of(bytes) * (channels > 0 ? 1.0 + 16.0 / channels : 1.0);
      return 2.0 * runs(both, has_gemm);
    }
    if (kind == "dependent") {
      const GemmShape shape = one.shape();
      return runs(of(shape) + of(static_cast<double>(2 * shape.n * shape.k)), true);
    }
    if (one.text("beside") == "rest" || one.text("phase") == "idle") return 2.0;
    return kind == "steady" || kind == "matrix_power" ? 4.0 : kind == "link_power" ? 3.5 : 3.0;
  }

  void plan_launches() {
    add_all("launches", "what=empty_kernel count=1");
    add_all("launches",
            "what=launch_call,kernels_back_to_back,event_call,synchronize_call,stream_after_stream count=100");
    for (const int count : {1, 100}) add_all("launches", fmt::format("what=graph_call,graph_replay count={}", count));
  }

  void plan_gemms() {
    const std::vector<std::string> shapes = asked_or(
        "8192x8192x8192,4096x4096x4096,18432x8192x16384,8192x57344x8192,4096x4096x16384,8192x28672x8192,2048x8192x8192,"
        "12288x12288x12288|16384x8192x16384,16384x16384x8192,7168x8192x8192,2304x8192x16384,8192x16384x4096,"
        "1024x1024x8192,106496x8192x16384,16384x106496x8192");
    add_all("gemms", fmt::format("gemm={} cus={}", fmt::join(shapes, ","), machine_.cus));
    int shapes_by_cus = 0;
    for (const std::string& shape : some(shapes, 1)) {
      if (of(parse_shape(shape)) > 20e-3) continue;
      for (const int eighths : some<int>({4, 7, 2, 6, 5, 3, 1}, 3)) {
        if (cus_of(eighths) > 0) add_all("gemms", fmt::format("gemm={} cus={}", shape, cus_of(eighths)));
      }
      if (++shapes_by_cus == 3) break;
    }
  }
  int cus_of(int eighths) const { return machine_.cus * eighths / 8 / 2 * 2; }  // even: kernels work on pairs of CUs

  void add_collectives(std::string_view collectives, std::string_view bytes, std::string_view how, const char* graph) {
    add_all("collectives", fmt::format("collective={} bytes={} {} graph={}", collectives, bytes, how, graph));
  }
  static constexpr std::string_view by_kernels = "backend=rccl variant= channels= host_threads=";
  static constexpr std::string_view by_copies = "backend=sdma variant=pcpy channels= host_threads=per_gpu";

  void plan_collectives() {
    std::vector<std::string> fitting = values_of("1G,64M,256M,1M,16M,64K|4M,256K,4G");
    std::erase_if(fitting, [this](const std::string& bytes) { return std::stoull(bytes) * 3 >= machine_.memory; });
    const std::string bytes = fmt::format("{}", fmt::join(fitting, ","));
    add_collectives("all_gather,all_to_all,all_reduce,reduce_scatter,broadcast", bytes, by_kernels, "");
    add_collectives("all_gather,all_to_all,broadcast", bytes, by_copies, "");
    for (const int channels : some<int>({8, 16, 4, 32, 2, 1}, 3)) {
      add_collectives("all_gather,all_reduce,all_to_all", "512M|64M,4M",
                      fmt::format("backend=rccl variant= channels={} host_threads=", channels), "");
    }
  }

  // Last, since libraries handle them with least care.
  void plan_graphs() {
    for (const std::string& bytes : values_of("1M|64M")) {
      for (const std::string_view how : {by_kernels, by_copies}) add_collectives("all_gather", bytes, how, "yes");
    }
  }

  static constexpr std::string_view copy_sizes = "1M,64M,4K,256M,64K|16M,4M,256K,16K,1G";

  void plan_copies() {
    if (machine_.gpus > 1) add_all("copies", fmt::format("from=gpu0 to=gpu1 bytes={}", copy_sizes));
    for (int gpu = 0; gpu < machine_.gpus; ++gpu) {  // every other link at two sizes
      for (int peer = 0; peer < machine_.gpus; ++peer) {
        if (gpu == peer || (gpu == 0 && peer == 1) || (wish_.quick && gpu > 0)) continue;
        add_all("copies", fmt::format("from=gpu{} to=gpu{} bytes=64M,1M", gpu, peer));
      }
    }
    for (const std::string& bytes : values_of("64M,1M|64K,1G")) {
      for (const char* route : {"from=host to=gpu0", "from=gpu0 to=host", "from=gpu0 to=gpu0"}) {
        add_all("copies", fmt::format("{} bytes={}", route, bytes));
      }
    }
    for (int peers = 1; peers < machine_.gpus; ++peers) {
      add_all("fan_outs", fmt::format("peers={} bytes=64M,1M|256M,64K", peers));
    }
  }

  void plan_memory() {
    for (const char* arrays :
         some<const char*>({"read=2 written=1", "read=1 written=0", "read=1 written=1", "read=0 written=1"}, 2)) {
      add_all("streams", fmt::format("{} bytes=12G,3G|768M,192M,48M passes=1", arrays));
    }
    for (const std::string& bytes : values_of("3M,12M,24M|48M,96M,192M,384M")) {  // over and over what fits a cache
      add_all("streams", fmt::format("read=1 written=0 bytes={} passes={}", bytes,
                                     std::clamp<std::size_t>(gib / std::stoull(bytes), 2, 64)));
    }
    add_all("loads", "bytes=2G,4M,256K|64M,16M,256M,64K,1M beside=none threads=1 pause_cycles=0");
    for (const char* beside : {"read", "copy"}) {
      for (const std::string& pause : values_of("0,400,1600,6400|100,200,800,3200,12800")) {
        add_all("loads", fmt::format("bytes=2G|4M beside={} threads=512 pause_cycles={}", beside, pause));
      }
    }
  }

  void plan_governor() {
    const std::vector<std::string> hot = values_of("18432x8192x16384,12288x12288x12288|8192x8192x8192,8192x57344x8192");
    add_all("steady", "gemm=- beside=rest");
    add_all("steady", fmt::format("gemm={} beside=-", fmt::join(hot, ",")));
    for (const std::string& gemm : some(hot, 1)) add("series", {{"label", "from rest"}, {"gemm", gemm}});
    add_all("duty_cycles", fmt::format("gemm={} pause_ms=3,0,14|1,7", hot.front()));
    add_all("phases", "phase=idle,triad");
    if (machine_.gpus < 2) return;
    for (const std::string& bytes : values_of("1G|1M,64M")) {
      add_all("phases", fmt::format("phase=nccl_ag_{0},ce_ag_{0}", bytes));
    }
  }

  void plan_pairs() {
    for (const Arguments& pair : wish_.pairs) add("pairs", pair);
    if (!wish_.pairs.empty()) return;
    for (const std::string& shape : asked_or(
             "8192x8192x8192,16384x8192x16384|8192x28672x8192,4096x4096x16384,12288x12288x12288,8192x57344x8192")) {
      for (const std::string_view collective : {"all_gather", "all_to_all", "all_reduce"}) {
        const std::string_view copies = collective == "all_reduce" ? "" : "conccl,";
        add_all("pairs", fmt::format("gemm={} collective={} bytes=1G|256M strategy=c3_base,c3_sp,{}serial channels=",
                                     shape, collective, copies));
      }
    }
  }

  // What the mechanisms by which work slows other work down are fitted to: about half a minute, of any node.
  void plan_probes() {
    const std::string gemm = asked_or("8192x8192x8192").front();
    constexpr std::string_view collective = "collective=all_reduce bytes=512M";
    if (machine_.gpus > 1) {
      add_all("probes", fmt::format("gemm={} {} channels=,4,16|2,8,32 first=collective,gemm hog= hog_workgroups=", gemm,
                                    collective));
    }
    for (const int eighths : some<int>({2, 1}, 1)) {
      add_all("probes", fmt::format("gemm={} collective= bytes= channels= first=hog hog=fma,memory|stay,cache "
                                    "hog_workgroups={}",
                                    gemm, cus_of(eighths)));
    }
    if (machine_.gpus < 2) return;
    add_all("probes", fmt::format("gemm= {} channels=4|2 first=hog hog=fma,memory|stay,cache hog_workgroups={}",
                                  collective, cus_of(6)));
  }

  void plan_dependent() {
    for (const std::string& text : asked_or("7168x8192x8192|2304x8192x16384,2048x65536x8192")) {
      if (!can_be_cut(parse_shape(text), machine_.gpus)) continue;
      add_all("dependent", fmt::format("gemm={} schedule={}", text, fmt::join(dependent_schedules(), ",")));
    }
  }

  void plan_more_copies() {
    if (machine_.gpus > 1) add_all("copy_phases", fmt::format("from=gpu0 to=gpu1 bytes={}", copy_sizes));
    for (std::size_t peer = 0; peer < machine_.peers.size(); ++peer) {
      std::string preferred = "yes";
      for (const int engine : machine_.peers[peer]) {
        add_all("engines", fmt::format("from=gpu0 to=gpu{} bytes=64M,1M|64K,4K engine={} preferred={}", peer, engine,
                                       std::exchange(preferred, "no")));
        if (peer > 1) break;  // every engine to one peer, to others the preferred one
      }
    }
    if (machine_.gpus < 2) return;
    add_all("back_to_back", "from=gpu0 to=gpu1 bytes=1M,64K|16M copies=2,8|32");
    add_all("links", "pattern=both_ways,ring,all bytes=64M|1M,256M");
  }

  // One workgroup fills a CU by its local memory, or four by theirs.
  void plan_dispatch() {
    for (const std::size_t per_cu : some<std::size_t>({1, 4}, 1)) {
      for (const auto& [first, second] : some<std::pair<int, int>>({{4, 4}, {4, 1}, {1, 4}}, 2)) {
        const std::size_t local_memory = machine_.local_memory / per_cu / 2048 * 2048 - (per_cu > 1 ? 2048 : 0);
        const int room = machine_.cus * static_cast<int>(per_cu);
        add_all("dispatch", fmt::format("threads=256 local_memory={} first={} second={} stay_us=50", local_memory,
                                        first * room, second * room));
      }
    }
  }

  void plan_power() {
    if (machine_.gpus > 1) {
      add_all("link_power", "phase=rest copy_bytes=0");
      for (const std::string& bytes : values_of("64M|1M,64K,16K")) {
        add_all("link_power", "phase=one_way,both_ways copy_bytes=" + bytes);
      }
      add_all("link_power", "phase=local copy_bytes=64M");
    }
    for (const int eighths : some<int>({2, 8, 1, 4}, 1)) {
      add_all("matrix_power",
              fmt::format("gemm=8192x8192x16384 cus={} operands=normal,zero", std::max(1, cus_of(eighths))));
    }
  }

  const Wish& wish_;
  const Machine& machine_;
  const Protocol& protocol_;
  std::vector<Item> items_;
  std::set<std::string> known_;  // none is measured twice
};

}  // namespace

std::string Item::name() const { return fmt::format("{} {}", kind->name, arguments.spelled()); }

std::vector<Item> make_plan(const Wish& wish, const Machine& machine, const Protocol& protocol) {
  std::vector<Item> items = Planner(wish, machine, protocol).plan();
  // Where all that was asked for are pairs of a file, they alone are measured.
  if (!wish.pairs.empty() && wish.only.empty()) {
    std::erase_if(items, [](const Item& item) { return item.kind->name != "pairs"; });
  }
  return items;
}

}  // namespace c3sim::measure
