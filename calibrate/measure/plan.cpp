#include "calibrate/measure/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibrate/measure/gpu_error.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

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
    if (machine_.gpus > 1) plan_dependent();
    plan_more_copies();
    plan_dispatch();
    plan_power();
    if (machine_.gpus > 1) plan_graphs();
    return std::move(items_);
  }

 private:
  bool wanted(std::string_view kind) const {
    return wish_.only.empty() || std::ranges::find(wish_.only, kind) != wish_.only.end();
  }
  void add(std::string_view kind, Arguments arguments, double seconds) {
    if (!wanted(kind) || !known_.insert(fmt::format("{} {}", kind, arguments.spelled())).second) return;
    items_.push_back({kind_of(kind), std::move(arguments), seconds});
  }
  // The quick plan has the first so many.
  template <class T>
  std::vector<T> some(std::vector<T> all, std::size_t quick) const {
    if (wish_.quick && all.size() > quick) all.resize(quick);
    return all;
  }
  double runs(double seconds, bool hot = false) const {
    const double warm_up = hot ? protocol_.hot_warm_up.count() : protocol_.warm_up.count();
    return preparation + std::max(warm_up, protocol_.least_warm_ups * seconds) + protocol_.counted * seconds;
  }
  static double of(GemmShape shape) {
    return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k) /
           flops_per_second;
  }
  static double of(std::size_t bytes) { return 20e-6 + static_cast<double>(bytes) / bytes_per_second; }
  static std::string spelled(std::size_t bytes) { return std::to_string(bytes); }

  std::vector<GemmShape> shapes() const {
    if (!wish_.shapes.empty()) return wish_.shapes;
    return some<GemmShape>({{8192, 8192, 8192},
                            {4096, 4096, 4096},
                            {18432, 8192, 16384},
                            {8192, 57344, 8192},
                            {4096, 4096, 16384},
                            {8192, 28672, 8192},
                            {2048, 8192, 8192},
                            {12288, 12288, 12288},
                            {16384, 8192, 16384},
                            {16384, 16384, 8192},
                            {7168, 8192, 8192},
                            {2304, 8192, 16384},
                            {8192, 16384, 4096},
                            {1024, 1024, 8192},
                            {106496, 8192, 16384},
                            {16384, 106496, 8192}},
                           8);
  }

  void plan_launches() {
    for (const auto& [what, count] : std::initializer_list<std::pair<const char*, int>>{{"empty_kernel", 1},
                                                                                        {"launch_call", 100},
                                                                                        {"kernels_back_to_back", 100},
                                                                                        {"event_call", 100},
                                                                                        {"synchronize_call", 100},
                                                                                        {"stream_after_stream", 100},
                                                                                        {"graph_call", 1},
                                                                                        {"graph_replay", 1},
                                                                                        {"graph_call", 100},
                                                                                        {"graph_replay", 100}}) {
      add("launches", {{"what", what}, {"count", std::to_string(count)}}, runs(1e-3));
    }
  }

  void plan_gemms() {
    for (const GemmShape shape : shapes()) {
      add("gemms", {{"gemm", to_string(shape)}, {"cus", std::to_string(machine_.cus)}}, runs(of(shape), true));
    }
    int shapes_by_cus = 0;
    for (const GemmShape shape : some(shapes(), 1)) {
      if (of(shape) > 20e-3) continue;
      for (const int eighths : some<int>({4, 7, 2, 6, 5, 3, 1}, 3)) {
        const int cus = machine_.cus * eighths / 8 / 2 * 2;  // even: kernels work on pairs of CUs
        if (cus < 1) continue;
        add("gemms", {{"gemm", to_string(shape)}, {"cus", std::to_string(cus)}}, runs(of(shape) * 8 / eighths, true));
      }
      if (++shapes_by_cus == 3) break;
    }
  }

  void add_collective(const char* collective, std::size_t bytes, bool by_copies, int channels, bool graph) {
    add("collectives",
        {{"collective", collective},
         {"bytes", spelled(bytes)},
         {"backend", by_copies ? "sdma" : "rccl"},
         {"variant", by_copies ? "pcpy" : ""},
         {"channels", channels > 0 ? std::to_string(channels) : ""},
         {"host_threads", by_copies ? "per_gpu" : ""},
         {"graph", graph ? "yes" : ""}},
        runs(of(bytes) * (channels > 0 ? 1.0 + 16.0 / channels : 1.0)));
  }

  void plan_collectives() {
    const std::vector<std::size_t> sizes =
        some<std::size_t>({gib, 64 * mib, 256 * mib, mib, 16 * mib, 64 * kib, 4 * mib, 256 * kib, 4 * gib}, 6);
    for (const char* collective : {"all_gather", "all_to_all", "all_reduce", "reduce_scatter", "broadcast"}) {
      for (const std::size_t bytes : sizes) {
        if (bytes * 3 < machine_.memory) add_collective(collective, bytes, false, 0, false);
      }
    }
    for (const char* collective : {"all_gather", "all_to_all", "broadcast"}) {
      for (const std::size_t bytes : sizes) {
        if (bytes * 3 < machine_.memory) add_collective(collective, bytes, true, 0, false);
      }
    }
    for (const int channels : some<int>({8, 16, 4, 32, 2, 1}, 3)) {
      for (const char* collective : {"all_gather", "all_reduce", "all_to_all"}) {
        for (const std::size_t bytes : some<std::size_t>({512 * mib, 64 * mib, 4 * mib}, 1)) {
          add_collective(collective, bytes, false, channels, false);
        }
      }
    }
  }

  // Last, since libraries handle them with least care.
  void plan_graphs() {
    for (const std::size_t bytes : some<std::size_t>({mib, 64 * mib}, 1)) {
      for (const bool by_copies : {false, true}) add_collective("all_gather", bytes, by_copies, 0, true);
    }
  }

  Arguments route(const char* from, const char* to, std::size_t bytes) const {
    return {{"from", from}, {"to", to}, {"bytes", spelled(bytes)}};
  }

  std::vector<std::size_t> copy_sizes() const {
    return some<std::size_t>({mib, 64 * mib, 4 * kib, 256 * mib, 64 * kib, 16 * mib, 4 * mib, 256 * kib, 16 * kib, gib},
                             5);
  }

  void plan_copies() {
    for (const std::size_t bytes : copy_sizes()) {
      if (machine_.gpus > 1) add("copies", route("gpu0", "gpu1", bytes), runs(of(bytes)));
    }
    for (int gpu = 0; gpu < machine_.gpus; ++gpu) {  // every other link at two sizes
      for (int peer = 0; peer < machine_.gpus; ++peer) {
        if (gpu == peer || (gpu == 0 && peer == 1) || (wish_.quick && gpu > 0)) continue;
        for (const std::size_t bytes : {64 * mib, mib}) {
          add("copies", route(fmt::format("gpu{}", gpu).c_str(), fmt::format("gpu{}", peer).c_str(), bytes),
              runs(of(bytes)));
        }
      }
    }
    for (const std::size_t bytes : some<std::size_t>({64 * mib, mib, 64 * kib, gib}, 2)) {
      add("copies", route("host", "gpu0", bytes), runs(of(4 * bytes)));
      add("copies", route("gpu0", "host", bytes), runs(of(4 * bytes)));
      add("copies", route("gpu0", "gpu0", bytes), runs(of(bytes)));
    }
    for (int peers = 1; peers < machine_.gpus; ++peers) {
      for (const std::size_t bytes : some<std::size_t>({64 * mib, mib, 256 * mib, 64 * kib}, 2)) {
        add("fan_outs", {{"peers", std::to_string(peers)}, {"bytes", spelled(bytes)}},
            runs(of(bytes * static_cast<std::size_t>(peers))));
      }
    }
  }

  void plan_memory() {
    for (const auto& [reads, written] : some<std::pair<int, int>>({{2, 1}, {1, 0}, {1, 1}, {0, 1}}, 2)) {
      for (const std::size_t bytes : some<std::size_t>({12 * gib, 3 * gib, 768 * mib, 192 * mib, 48 * mib}, 2)) {
        add_stream(reads, written, bytes, 1);
      }
    }
    // Over and over what fits a cache.
    for (const std::size_t bytes :
         some<std::size_t>({3 * mib, 12 * mib, 24 * mib, 48 * mib, 96 * mib, 192 * mib, 384 * mib}, 3)) {
      add_stream(1, 0, bytes, static_cast<int>(std::clamp<std::size_t>(gib / bytes, 2, 64)));
    }
    for (const std::size_t bytes :
         some<std::size_t>({2 * gib, 4 * mib, 256 * kib, 64 * mib, 16 * mib, 256 * mib, 64 * kib, mib}, 3)) {
      add_load(bytes, "none", 1, 0);
    }
    for (const char* beside : {"read", "copy"}) {
      for (const int pause : some<int>({0, 400, 1600, 6400, 100, 200, 800, 3200, 12800}, 4)) {
        add_load(2 * gib, beside, 512, pause);
        if (!wish_.quick) add_load(4 * mib, beside, 512, pause);
      }
    }
  }
  void add_stream(int reads, int written, std::size_t bytes, int passes) {
    add("streams",
        {{"read", std::to_string(reads)},
         {"written", std::to_string(written)},
         {"bytes", spelled(bytes)},
         {"passes", std::to_string(passes)}},
        runs(of(bytes) * passes / 10.0));
  }
  void add_load(std::size_t bytes, const char* beside, int threads, int pause) {
    add("loads",
        {{"bytes", spelled(bytes)},
         {"beside", beside},
         {"threads", std::to_string(threads)},
         {"pause_cycles", std::to_string(pause)}},
        preparation + 0.1);
  }

  void plan_governor() {
    const std::vector<GemmShape> hot =
        some<GemmShape>({{18432, 8192, 16384}, {12288, 12288, 12288}, {8192, 8192, 8192}, {8192, 57344, 8192}}, 2);
    add("steady", {{"gemm", "-"}, {"beside", "rest"}}, 2.0);
    for (const GemmShape shape : hot) add("steady", {{"gemm", to_string(shape)}, {"beside", "-"}}, 4.0);
    for (const GemmShape shape : some(hot, 1)) {
      add("series", {{"label", "from rest"}, {"gemm", to_string(shape)}}, 3.0);
    }
    for (const int pause : some<int>({3, 0, 14, 1, 7}, 3)) {
      add("duty_cycles", {{"gemm", to_string(hot.front())}, {"pause_ms", std::to_string(pause)}}, 3.0);
    }
    add("phases", {{"phase", "idle"}}, 2.0);
    add("phases", {{"phase", "triad"}}, 3.0);
    if (machine_.gpus < 2) return;
    for (const std::size_t bytes : some<std::size_t>({gib, mib, 64 * mib}, 1)) {
      for (const char* prefix : {"nccl_ag_", "ce_ag_"}) {
        add("phases", {{"phase", prefix + spelled(bytes)}}, 3.0);
      }
    }
  }

  void add_pair(Arguments pair) {
    const double alone = of(pair.shape()), beside = of(pair.bytes());
    add("pairs", std::move(pair), runs(alone, true) + runs(beside) + runs(alone + beside, true));
  }

  void plan_pairs() {
    if (!wish_.pairs.empty()) {
      for (const Arguments& pair : wish_.pairs) add_pair(pair);
      return;
    }
    for (const GemmShape shape : wish_.shapes.empty() ? some<GemmShape>({{8192, 8192, 8192},
                                                                         {16384, 8192, 16384},
                                                                         {8192, 28672, 8192},
                                                                         {4096, 4096, 16384},
                                                                         {12288, 12288, 12288},
                                                                         {8192, 57344, 8192}},
                                                                        2)
                                                      : wish_.shapes) {
      for (const char* collective : {"all_gather", "all_to_all", "all_reduce"}) {
        for (const std::size_t bytes : some<std::size_t>({gib, 256 * mib}, 1)) {
          for (const char* strategy : {"c3_base", "c3_sp", "conccl", "serial"}) {
            if (strategy == std::string_view("conccl") && collective == std::string_view("all_reduce")) continue;
            add_pair({{"gemm", to_string(shape)},
                      {"collective", collective},
                      {"bytes", spelled(bytes)},
                      {"strategy", strategy},
                      {"channels", ""}});
          }
        }
      }
    }
  }

  void plan_dependent() {
    for (const GemmShape shape :
         wish_.shapes.empty() ? some<GemmShape>({{7168, 8192, 8192}, {2304, 8192, 16384}, {2048, 65536, 8192}}, 1)
                              : wish_.shapes) {
      if (!can_be_cut(shape, machine_.gpus)) continue;
      const double gathered = of(2 * static_cast<std::size_t>(shape.n) * static_cast<std::size_t>(shape.k));
      for (const std::string& schedule : dependent_schedules()) {
        add("dependent", {{"gemm", to_string(shape)}, {"schedule", schedule}}, runs(of(shape) + gathered, true));
      }
    }
  }

  void plan_more_copies() {
    for (const std::size_t bytes : copy_sizes()) {
      if (machine_.gpus > 1) add("copy_phases", route("gpu0", "gpu1", bytes), runs(of(bytes)));
    }
    plan_engines();
    if (machine_.gpus < 2) return;
    for (const std::size_t bytes : some<std::size_t>({mib, 64 * kib, 16 * mib}, 2)) {
      for (const int copies : some<int>({2, 8, 32}, 2)) {
        Arguments arguments{
            {"from", "gpu0"}, {"to", "gpu1"}, {"bytes", spelled(bytes)}, {"copies", std::to_string(copies)}};
        add("back_to_back", std::move(arguments), runs(of(bytes) * copies));
      }
    }
    for (const char* pattern : {"both_ways", "ring", "all"}) {
      for (const std::size_t bytes : some<std::size_t>({64 * mib, mib, 256 * mib}, 1)) {
        add("links", {{"pattern", pattern}, {"bytes", spelled(bytes)}}, runs(of(bytes)));
      }
    }
  }

  void plan_engines() {
    for (std::size_t peer = 0; peer < machine_.peers.size(); ++peer) {
      const std::vector<int>& engines = machine_.peers[peer];
      for (std::size_t i = 0; i < engines.size(); ++i) {
        if (peer > 1 && i > 0) continue;  // every engine to one peer, to others the preferred one
        for (const std::size_t bytes : some<std::size_t>({64 * mib, mib, 64 * kib, 4 * kib}, 2)) {
          add("engines",
              {{"from", "gpu0"},
               {"to", fmt::format("gpu{}", peer)},
               {"bytes", spelled(bytes)},
               {"engine", std::to_string(engines[i])},
               {"preferred", i == 0 ? "yes" : "no"}},
              runs(of(bytes)));
        }
      }
    }
  }

  // One workgroup fills a CU by its local memory, or four by theirs.
  void plan_dispatch() {
    for (const std::size_t per_cu : some<std::size_t>({1, 4}, 1)) {
      for (const auto& [first, second] : some<std::pair<int, int>>({{4, 4}, {4, 1}, {1, 4}}, 2)) {
        const std::size_t local_memory = machine_.local_memory / per_cu / 2048 * 2048 - (per_cu > 1 ? 2048 : 0);
        const int room = machine_.cus * static_cast<int>(per_cu);
        add("dispatch",
            {{"threads", "256"},
             {"local_memory", std::to_string(local_memory)},
             {"first", std::to_string(first * room)},
             {"second", std::to_string(second * room)},
             {"stay_us", "50"}},
            preparation);
      }
    }
  }

  void plan_power() {
    if (machine_.gpus > 1) {
      const auto add_phase = [&](const char* phase, std::size_t bytes) {
        add("link_power", {{"phase", phase}, {"copy_bytes", spelled(bytes)}}, 3.5);
      };
      add_phase("rest", 0);
      for (const std::size_t bytes : some<std::size_t>({64 * mib, mib, 64 * kib, 16 * kib}, 1)) {
        for (const char* phase : {"one_way", "both_ways"}) add_phase(phase, bytes);
      }
      add_phase("local", 64 * mib);
    }
    for (const int eighths : some<int>({2, 8, 1, 4}, 1)) {
      for (const char* operands : {"normal", "zero"}) {
        add("matrix_power",
            {{"gemm", "8192x8192x16384"},
             {"cus", std::to_string(std::max(1, machine_.cus * eighths / 8 / 2 * 2))},
             {"operands", operands}},
            4.0);
      }
    }
  }

  const Wish& wish_;
  const Machine& machine_;
  const Protocol& protocol_;
  std::vector<Item> items_;
  std::set<std::string> known_;  // none is measured twice
};

}  // namespace

std::vector<Item> make_plan(const Wish& wish, const Machine& machine, const Protocol& protocol) {
  std::vector<Item> items = Planner(wish, machine, protocol).plan();
  // Where all that was asked for are pairs of a file, they alone are measured.
  if (!wish.pairs.empty() && wish.only.empty()) {
    std::erase_if(items, [](const Item& item) { return item.kind->name != "pairs"; });
  }
  return items;
}

}  // namespace c3sim::measure
