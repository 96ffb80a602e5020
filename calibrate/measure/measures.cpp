// Defines the kinds of measurements and how each is done: copies, kernels of device/kernels.cu, GEMMs and collectives.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <thread>

#include "calibrate/measure/plan.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

// Returns the columns NAME_us, NAME_p10_us, NAME_p90_us and n; times are divided by `count`, the operations of a run.
Row row_of(std::string_view name, const Summary& summary, double count = 1.0) {
  return {{fmt::format("{}_us", name), spelled(summary.median / count)},
          {fmt::format("{}_p10_us", name), spelled(summary.low / count)},
          {fmt::format("{}_p90_us", name), spelled(summary.high / count)},
          {"n", std::to_string(summary.count)}};
}

// Returns the same columns by the host's clock, and event_us.
Row row_of(const Timing& timing, double count = 1.0, std::string_view name = "time") {
  Row row = row_of(name, timing.wall, count);
  row["event_us"] = spelled(timing.all.median / count);
  return row;
}

// Returns the columns of power and clock, and samples.
Row row_of(const BoardMean& mean, const std::string& power = "power_W", const std::string& clock = "clock_MHz") {
  return {{power, fmt::format("{:.1f}", mean.state.power)},
          {clock, fmt::format("{:.0f}", mean.state.clock)},
          {"samples", std::to_string(mean.samples)}};
}

constexpr int first_lane = 200;  // first lane of copies that run at once
constexpr double link_seconds = 2.0;

using Columns = std::map<std::string, double>;

// Returns the number of a GPU such as "gpu3", or -1 for "host".
int device_of(const std::string& name) {
  return name == "host" ? -1 : static_cast<int>(parse_count(name.substr(std::min<std::size_t>(3, name.size())), 0, 63));
}

// A Route is one copy; its memory on the host lives as long as the Route.
struct Route {
  Route(Lab& on, int sender, int receiver, std::size_t size) : lab(on), from(sender), to(receiver), bytes(size) {
    lab.each([&](int number) {
      if (number == gpu() && (from < 0 || to < 0)) host = Memory(lab.gpu(number), bytes, Home::host);
      if (number == from) source = lab.source(number, bytes);
      if (number == to) destination = lab.destination(number, bytes);
    });
    if (from < 0) source = host.at();
    if (to < 0) destination = host.at();
  }

  int gpu() const { return from < 0 ? to : from; }  // the GPU that issues the copy: the sender if it is one
  void launch(Stream stream) const { lab.gpu(gpu()).copy(destination, source, bytes, stream); }

  Lab& lab;
  int from, to;
  std::size_t bytes;
  Memory host;
  char* source = nullptr;
  char* destination = nullptr;
};

Route route_of(Lab& lab, const Arguments& arguments) {
  return {lab, device_of(arguments.text("from")), device_of(arguments.text("to")), arguments.bytes()};
}

// Returns the peers, or none, to which a GPU sends at once. Without a pattern GPU 0 sends to `peers` of them.
std::vector<int> peers_of(const Arguments& arguments, int gpu, int gpus) {
  const std::string& pattern = arguments.text("pattern");
  if (pattern == "both_ways") return gpu < 2 ? std::vector{1 - gpu} : std::vector<int>{};
  if (pattern == "ring") return {(gpu + 1) % gpus};
  std::vector<int> peers;
  const int last = pattern == "all" ? gpus - 1 : arguments.count("peers");
  for (int step = 1; step <= last; ++step) peers.push_back((gpu + step) % gpus);
  return peers;
}

// Returns the medians of figures that are measured on a GPU's thread, by column.
Row medians(Lab& lab, int gpu, const std::function<Columns()>& measured) {
  Row row{{"n", std::to_string(lab.protocol().counted)}};
  for (const auto& [column, summary] : lab.sample(gpu, measured)) row[column] = spelled(summary.median);
  return row;
}

Rows measure_copy(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  const int copies = std::max(1, arguments.count("copies"));
  const auto launch = [&](int, Stream stream) {
    for (int i = 0; i < copies; ++i) route.launch(stream);
  };
  return {row_of(lab.time({{.launch = launch, .lane = first_lane}}, {route.gpu()}))};
}

Rows measure_copy_phases(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  const int gpu = route.gpu();
  Gpu& own = lab.gpu(gpu);
  return {medians(lab, gpu, [&]() -> Columns {
    const Stream stream = lab.stream(gpu, first_lane);
    const Event before = lab.event(gpu, 1), after = lab.event(gpu, 2);
    own.record(before, stream);
    const double begin = host_microseconds();
    route.launch(stream);
    const double called = host_microseconds();
    own.record(after, stream);
    lab.await(gpu, after);
    const double end = host_microseconds();
    return {{"call_us", called - begin}, {"device_us", own.microseconds(before, after)}, {"seen_us", end - begin}};
  })};
}

Rows measure_engine(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  const int engine = arguments.count("engine");
  Gpu& own = lab.gpu(route.gpu());
  return {medians(lab, route.gpu(), [&]() -> Columns {
    const EngineCopy copy = own.copy_on_engine(engine, lab.gpu(route.to), route.destination, route.source, route.bytes);
    return {{"time_us", copy.start + copy.data + copy.seen},
            {"start_us", copy.start},
            {"data_us", copy.data},
            {"seen_us", copy.seen}};
  })};
}

Rows measure_links(Lab& lab, const Arguments& arguments) {
  const std::size_t bytes = arguments.bytes();
  const std::size_t everywhere = bytes * static_cast<std::size_t>(lab.gpus());
  lab.reserve(bytes, everywhere);
  std::vector<std::vector<int>> peers;
  for (int gpu = 0; gpu < lab.gpus(); ++gpu) peers.push_back(peers_of(arguments, gpu, lab.gpus()));
  const auto launch = [&](int gpu, Stream stream) {
    const std::vector<int>& own = peers[static_cast<std::size_t>(gpu)];
    lab.at_once(gpu, stream, first_lane + 1, static_cast<int>(own.size()), [&](int i, Stream lane) {
      char* const to = lab.destination(own[static_cast<std::size_t>(i)], everywhere);
      lab.gpu(gpu).copy(to + bytes * static_cast<std::size_t>(gpu), lab.source(gpu, bytes), bytes, lane);
    });
  };
  const std::vector<int> on = arguments.text("pattern").empty() ? std::vector{0} : std::vector<int>{};
  return {row_of(lab.time({{.launch = launch, .lane = first_lane}}, on))};
}

Rows measure_link_power(Lab& lab, const Arguments& arguments) {
  const std::size_t bytes = static_cast<std::size_t>(arguments.number("copy_bytes"));
  const std::string& phase = arguments.text("phase");
  Sustained sustained;
  if (phase == "rest") {
    sustained = sustain_rest(lab);
  } else {
    const Route there(lab, 0, phase == "local" ? 0 : 1, bytes), back(lab, 1, 0, bytes);
    const Operation copy{.launch = [&](int gpu, Stream stream) { (gpu == 0 ? there : back).launch(stream); },
                         .lane = first_lane};
    sustained = sustain(lab, copy, link_seconds, phase == "both_ways" ? std::vector{0, 1} : std::vector{0});
  }
  const double rate = phase == "rest" ? 0.0 : static_cast<double>(bytes) / sustained.time * 1e-3;
  Row row{{"rate_GBps", fmt::format("{:.2f}", rate)}};
  row.merge(row_of(sustained.boards[0], "power0_W", "clock0_MHz"));
  row.merge(row_of(sustained.boards[1], "power1_W", "clock1_MHz"));
  return {row};
}

void launch_empty(Lab& lab, int gpu, Stream stream) { lab.launch(gpu, "empty", {1, 64}, stream); }

// Returns the time that the host's thread takes for one of `count` consecutive calls, on GPU 0.
Row time_of_call(Lab& lab, int count, const std::function<void(int gpu, Stream stream)>& call) {
  const auto once = [&]() -> std::map<std::string, double> {
    const Stream stream = lab.stream(0, 0);
    const double begin = host_microseconds();
    for (int i = 0; i < count; ++i) call(0, stream);
    const double end = host_microseconds();
    lab.finish(0, stream);
    return {{"time", (end - begin) / count}};
  };
  return row_of("time", lab.sample(0, once).at("time"));
}

// Launches kernels on two streams by turns; each waits for the kernel before it.
void alternate(Lab& lab, int gpu, Stream stream, int count) {
  const std::array streams{stream, lab.stream(gpu, 1)};
  const std::array events{lab.event(gpu, 1), lab.event(gpu, 2)};
  for (int i = 0; i < count; ++i) {
    const std::size_t own = static_cast<std::size_t>(i % 2);
    if (i > 0) lab.gpu(gpu).wait(streams[own], events[1 - own]);
    launch_empty(lab, gpu, streams[own]);
    lab.gpu(gpu).record(events[own], streams[own]);
  }
  lab.gpu(gpu).wait(stream, events[static_cast<std::size_t>((count - 1) % 2)]);
}

Rows measure_launch(Lab& lab, const Arguments& arguments) {
  const std::string& what = arguments.text("what");
  const int count = arguments.count("count");
  const auto empty = [&](int gpu, Stream stream) { launch_empty(lab, gpu, stream); };
  const Operation many{.launch = [&](int gpu, Stream stream) {
    for (int i = 0; i < count; ++i) launch_empty(lab, gpu, stream);
  }};
  if (what == "empty_kernel") return {row_of(lab.time({{.launch = empty}}))};
  if (what == "kernels_back_to_back") return {row_of(lab.time({many}, {0}), count)};
  if (what == "launch_call") return {time_of_call(lab, count, empty)};
  if (what == "event_call") {
    return {time_of_call(lab, count, [&](int gpu, Stream stream) { lab.gpu(gpu).record(lab.event(gpu, 0), stream); })};
  }
  if (what == "synchronize_call") {  // with nothing to wait for
    return {time_of_call(lab, count, [&](int gpu, Stream stream) { lab.finish(gpu, stream); })};
  }
  if (what == "stream_after_stream") {
    const auto by_turns = [&](int gpu, Stream stream) { alternate(lab, gpu, stream, count); };
    return {row_of(lab.time({{.launch = by_turns}}, {0}), count)};
  }
  Row row;
  lab.replay(many, {0}, [&](const Operation& replayed) {
    row = what == "graph_call" ? time_of_call(lab, 1, replayed.launch) : row_of(lab.time({replayed}, {0}), count);
  });
  return {row};
}

struct Stay {  // laid out as in device/kernels.cu
  std::uint64_t begin, end, cu;
};
using Stays = std::vector<Stay>;

// Runs two kernels at once and returns what their workgroups wrote down.
std::pair<Stays, Stays> run_two(Lab& lab, int first, int second, Grid grid, std::uint64_t ticks) {
  Gpu& gpu = lab.gpu(0);
  const auto bytes = [](int workgroups) { return sizeof(Stay) * static_cast<std::size_t>(workgroups); };
  const Memory log(gpu, bytes(first + second)), seen(gpu, bytes(first + second), Home::host);
  const Stream one = lab.stream(0, 0), other = lab.stream(0, 1);
  lab.finish(0, other);
  grid.workgroups = first;
  lab.launch(0, "stay", grid, one, log.at(), ticks);
  grid.workgroups = second;
  lab.launch(0, "stay", grid, other, log.at(bytes(first)), ticks);
  lab.finish(0, other);
  gpu.copy(seen.at(), log.at(), bytes(first + second), one);
  lab.finish(0, one);
  const auto* const all = reinterpret_cast<const Stay*>(seen.at());
  return {{all, all + first}, {all + first, all + first + second}};
}

std::uint64_t latest_begin(const Stays& stays) { return std::ranges::max(stays, {}, &Stay::begin).begin; }

Rows measure_dispatch(Lab& lab, const Arguments& arguments) {
  const Device& device = lab.gpu(0).device();
  const Grid grid{.threads = arguments.count("threads"),
                  .local_memory = static_cast<std::size_t>(arguments.number("local_memory"))};
  const double microsecond = device.ticks_per_second * 1e-6;
  const auto ticks = static_cast<std::uint64_t>(arguments.count("stay_us") * microsecond);
  Stays first, second;
  lab.on(0, [&] {
    run_two(lab, device.cus, device.cus, grid, ticks);  // raises the clock and loads the kernel
    std::tie(first, second) = run_two(lab, arguments.count("first"), arguments.count("second"), grid, ticks);
  });
  Row row;
  const std::uint64_t start = std::ranges::min(first, {}, &Stay::begin).begin;
  for (const auto& [name, stays] : {std::pair("first", &first), std::pair("second", &second)}) {
    const auto tell = [&, name = name](const char* what, std::uint64_t time) {
      row[fmt::format("{}_{}_us", name, what)] =
          spelled(time < start ? 0.0 : static_cast<double>(time - start) / microsecond);
    };
    tell("begin", std::ranges::min(*stays, {}, &Stay::begin).begin);
    tell("end", std::ranges::max(*stays, {}, &Stay::end).end);
  }
  // A place becomes free when a workgroup ends; any workgroup that begins later took one.
  const std::uint64_t first_free = std::ranges::min(first, {}, &Stay::end).end;
  const std::uint64_t one_waits = std::min(latest_begin(first), latest_begin(second));
  const auto begun = [](const Stays& own, std::uint64_t from, std::uint64_t until) {
    return std::ranges::count_if(own, [&](const Stay& stay) { return stay.begin >= from && stay.begin < until; });
  };
  const auto to_second = begun(second, first_free, one_waits);
  row["places"] = std::to_string(begun(first, 0, first_free) + begun(second, 0, first_free));
  row["freed"] = std::to_string(begun(first, first_free, one_waits) + to_second);
  row["to_second"] = std::to_string(to_second);
  return {row};
}

// Load and Outcome are laid out as in device/kernels.cu.
struct Load {
  const void* from;
  void* to;
  std::uint64_t words;
  std::uint64_t pause;
};
struct Outcome {
  std::uint64_t chase_ticks;
  std::uint64_t streamed_bytes;
  std::uint64_t stream_ticks;
  std::uint32_t stop;
};

constexpr std::uint32_t spacing = 64;  // words of 4 bytes between the pointers of a chain
constexpr std::uint32_t warm_up = 4000;
constexpr std::uint32_t hops = 16000;

// Runs one chase, on GPU 0's thread; all workgroups but the first run the load beside it.
Outcome chase(Lab& lab, const char* chain, Load load, int workgroups, int threads) {
  Gpu& gpu = lab.gpu(0);
  const Stream stream = lab.stream(0, 0);
  const Memory outcome(gpu, sizeof(Outcome)), seen(gpu, sizeof(Outcome), Home::host);
  gpu.fill(outcome.at(), 0, sizeof(Outcome), stream);
  lab.launch(0, "chase_under_load", {workgroups, threads}, stream, chain, warm_up, hops, load, outcome.at());
  gpu.copy(seen.at(), outcome.at(), sizeof(Outcome), stream);
  lab.finish(0, stream);
  return *reinterpret_cast<const Outcome*>(seen.at());
}

Rows measure_stream(Lab& lab, const Arguments& arguments) {
  const int reads = arguments.count("read"), written = arguments.count("written"), passes = arguments.count("passes");
  const Timing timing = lab.time({lab.streaming(arguments.bytes(), reads, written, passes)});
  Row row = row_of(timing, passes);
  const double of_one = timing.all.median / passes;
  row["GBps"] = fmt::format("{:.1f}", static_cast<double>(arguments.bytes()) / of_one * 1e-3);
  return {row};
}

Rows measure_load(Lab& lab, const Arguments& arguments) {
  const std::size_t bytes = arguments.bytes();
  const std::string& beside = arguments.text("beside");
  const int threads = std::max(1, arguments.count("threads"));
  // The arrays lie in the same level of the memory hierarchy as the chain.
  const std::size_t array = beside == "none" ? bytes_of_word : std::max<std::size_t>(2 * bytes, std::size_t{8} << 20);
  Outcome outcome{};
  lab.on(0, [&] {
    Gpu& gpu = lab.gpu(0);
    const Memory chain(gpu, bytes);
    const int bits = static_cast<int>(std::bit_width(bytes / (spacing * sizeof(std::uint32_t)))) - 1;
    const Stream stream = lab.stream(0, 0);
    lab.launch(0, "make_chain", {4 * gpu.device().cus, 256}, stream, chain.at(), bits, spacing);
    const Load load{lab.source(0, array), beside == "copy" ? lab.destination(0, array) : nullptr, array / bytes_of_word,
                    static_cast<std::uint64_t>(arguments.number("pause_cycles"))};
    outcome = chase(lab, chain.at(), load, beside == "none" ? 1 : gpu.device().cus, threads);
  });
  const double ticks = lab.gpu(0).device().ticks_per_second;
  const double stream_seconds = static_cast<double>(outcome.stream_ticks) / ticks;
  Row row;
  row["latency_ns"] = spelled(static_cast<double>(outcome.chase_ticks) / hops / ticks * 1e9);
  row["streamed_GBps"] =
      spelled(stream_seconds > 0.0 ? static_cast<double>(outcome.streamed_bytes) / stream_seconds * 1e-9 : 0.0);
  row["reads"] = beside == "copy" ? "0.5" : "1";
  return {row};
}

constexpr double steady_seconds = 2.5;
constexpr double duty_seconds = 1.5;
constexpr double phase_seconds = 1.5;

// Returns the number of CUs that is asked for, or nothing if that is all.
std::optional<int> cus_of(Lab& lab, const Arguments& arguments) {
  const int cus = arguments.count("cus");
  if (cus == 0 || cus == lab.gpu(0).device().cus) return {};
  return cus;
}

Rows measure_gemm(Lab& lab, const Arguments& arguments) {
  return {row_of(lab.time({lab.gemm(arguments.shape(), cus_of(lab, arguments))}))};
}

// Runs a GEMM for seconds, back to back or with a pause after each, or leaves the GPUs idle.
Rows measure_steady(Lab& lab, const Arguments& arguments) {
  if (arguments.text("gemm") == "-") return {row_of(sustain_rest(lab).all)};
  const GemmShape shape = arguments.shape();
  const Operands operands = arguments.text("operands") == "zero" ? Operands::zero : Operands::normal;
  std::optional<std::chrono::duration<double, std::milli>> pause;
  if (!arguments.text("pause_ms").empty()) pause.emplace(arguments.count("pause_ms"));
  const Sustained sustained =
      sustain(lab, lab.gemm(shape, cus_of(lab, arguments), operands), pause ? duty_seconds : steady_seconds, {}, pause);
  Row row = row_of(sustained.all);
  row["period_us"] = spelled(sustained.period);
  row["gemm_us"] = spelled(sustained.time);
  row["rate_TFLOPs"] = fmt::format("{:.1f}", shape.operations() / sustained.time * 1e-6);
  return {row};
}

Rows measure_series(Lab& lab, const Arguments& arguments) {
  constexpr double long_enough = 0.6e6;  // us: for the governor to settle
  constexpr double most = 100.0;
  const Operation gemm = lab.gemm(arguments.shape());
  const double once = lab.time({gemm}).all.median;
  const int count = static_cast<int>(std::clamp(lab.protocol().brevity * long_enough / std::max(once, 1.0), 2.0, most));
  std::this_thread::sleep_for(2 * lab.protocol().rest);
  lab.each([&](int number) {
    Gpu& gpu = lab.gpu(number);
    const Stream stream = lab.stream(number, gemm.lane);
    for (int i = 0; i < count; ++i) lab.event(number, i);  // made before timing begins
    lab.event(number, count);
    gpu.record(lab.event(number, 0), stream);
    for (int i = 0; i < count; ++i) {
      gemm.launch(number, stream);
      gpu.record(lab.event(number, i + 1), stream);
    }
    lab.finish(number, stream);
  });
  Rows rows;
  lab.on(0, [&] {
    Gpu& gpu = lab.gpu(0);
    for (int i = 0; i < count; ++i) {
      const double end = gpu.microseconds(lab.event(0, 0), lab.event(0, i + 1));
      const double duration = gpu.microseconds(lab.event(0, i), lab.event(0, i + 1));
      rows.push_back(
          {{"index", std::to_string(i)}, {"end_ms", spelled(end * 1e-3)}, {"duration_us", spelled(duration)}});
    }
  });
  return rows;
}

// Throws GpuError for what is beyond copies on streams: packets of another kind, and commands that wait in queues.
void require_copies(const Arguments& arguments) {
  const std::string& variant = arguments.text("variant");
  if (variant == "bcst" || variant == "swap") {
    throw GpuError(GpuError::Kind::unsupported,
                   "no runtime lets programs queue the packets of variant {}: pcpy and b2b can be measured", variant);
  }
  if (arguments.text("prelaunch") == "yes") {
    throw GpuError(GpuError::Kind::unsupported,
                   "commands of engines that are queued beforehand (prelaunch yes) cannot be measured");
  }
}

Operation operation_of(Lab& lab, const Arguments& arguments, bool by_copies) {
  const Collective kind = parse_collective(arguments.text("collective"));
  if (by_copies) {
    require_copies(arguments);
    return lab.copies(kind, arguments.bytes(), arguments.text("variant") == "b2b");
  }
  return lab.collective(kind, arguments.bytes(), arguments.count("channels"));
}

// Keeps `reserved_cus` CUs from the GEMM, which gets the first ones: by its stream's mask or its own kernel. A
// collective by kernels gets the others, where streams have masks.
void reserve(Lab& lab, const Arguments& arguments, Operation& gemm, Operation& collective, bool by_copies) {
  const int reserved = arguments.count("reserved_cus");
  const int all = lab.gpu(0).device().cus;
  if (reserved == 0) return;
  if (reserved >= all) {
    throw GpuError(GpuError::Kind::unsupported, "{} CUs cannot be kept from a GEMM of {}", reserved, all);
  }
  gemm = lab.gemm(arguments.shape(), all - reserved);
  if (by_copies) return;
  collective.cus = reserved;
  collective.first_cu = all - reserved;
}

// Times both operations: at once or, if they are in one lane, one after the other.
Timing time_pair(Lab& lab, const Operation& gemm, const Operation& collective, bool gemm_first) {
  return lab.time(gemm_first ? std::vector{gemm, collective} : std::vector{collective, gemm});
}

// Adds columns of what each operation took by events, such as gemm_alone_us.
void tell_each(Row& row, const Timing& timing, bool gemm_first, const std::string& what = "") {
  row["gemm" + what + "_us"] = spelled(timing.each[gemm_first ? 0 : 1].median);
  row["collective" + what + "_us"] = spelled(timing.each[gemm_first ? 1 : 0].median);
}

Rows measure_collective(Lab& lab, const Arguments& arguments) {
  const Operation operation = operation_of(lab, arguments, arguments.text("backend") == "sdma");
  Row row;
  const auto time = [&](const Operation& one) { row = row_of(lab.time({one})); };
  arguments.text("graph") == "yes" ? lab.replay(operation, {}, time) : time(operation);
  return {row};
}

Rows measure_pair(Lab& lab, const Arguments& arguments) {
  const std::string& strategy = arguments.text("strategy");
  const bool by_copies = strategy.starts_with("conccl");
  Operation collective = operation_of(lab, arguments, by_copies);  // first: it may throw
  Operation gemm = lab.gemm(arguments.shape());
  const double gemm_alone = lab.time({gemm}).wall.median;
  const double collective_alone = lab.time({collective}).wall.median;
  const bool gemm_first = strategy == "c3_base" || strategy == "c3_rp" || strategy == "serial";
  if (strategy.ends_with("_rp")) reserve(lab, arguments, gemm, collective, by_copies);
  if (strategy == "serial") collective.lane = gemm.lane;
  const Timing timing = time_pair(lab, gemm, collective, gemm_first);
  Row row = row_of(timing, 1.0, "makespan");
  tell_each(row, timing, gemm_first);
  row["isolated_gemm_us"] = spelled(gemm_alone);
  row["collective_alone_us"] = spelled(collective_alone);
  return {row};
}

// Times both operations at once, and each of them in a loop of both one after the other, whose mean power and so clocks
// are the same except for what the operations do to each other.
Row probe_of_pair(Lab& lab, const Arguments& arguments) {
  Operation collective = operation_of(lab, arguments, false);  // first: it may throw
  const Operation gemm = lab.gemm(arguments.shape());
  const bool gemm_first = arguments.text("first") == "gemm";
  const Timing both = time_pair(lab, gemm, collective, gemm_first);
  collective.lane = gemm.lane;
  Row row = row_of(both, 1.0, "wall");
  tell_each(row, both, gemm_first);
  tell_each(row, time_pair(lab, gemm, collective, gemm_first), gemm_first, "_alone");
  return row;
}

constexpr std::array<std::string_view, 4> hogs{"stay", "fma", "cache", "memory"};  // in the order of Hog

// Times a GEMM, or a collective, that is launched after a hog has taken all its places.
Row probe_beside_hog(Lab& lab, const Arguments& arguments) {
  constexpr double later_us = 50.0;
  constexpr double longest = 20.0;  // times what the operation takes alone
  const bool is_gemm = !arguments.text("gemm").empty();
  const Operation operation = is_gemm ? lab.gemm(arguments.shape()) : operation_of(lab, arguments, false);
  const Operation pause = lab.pause(operation.lane, later_us);
  const double alone = lab.time({pause, operation}).each[1].median;
  const auto what = static_cast<Hog>(std::ranges::find(hogs, arguments.text("hog")) - hogs.begin());
  const Operation hog = lab.hog(what, arguments.count("hog_workgroups"), longest * alone + 1e4);
  const Timing beside = lab.time({hog, pause, operation, lab.stop_hogs(operation.lane)});
  Row row = row_of(beside, 1.0, "wall");
  const std::string name = is_gemm ? "gemm" : "collective";
  row[name + "_us"] = spelled(beside.each[2].median);
  row[name + "_alone_us"] = spelled(alone);
  return row;
}

Rows measure_probe(Lab& lab, const Arguments& arguments) {
  Row row = arguments.text("hog").empty() ? probe_of_pair(lab, arguments) : probe_beside_hog(lab, arguments);
  row["role"] = "probe";  // a fit may read it, although it is concurrent
  return {row};
}

Rows measure_phase(Lab& lab, const Arguments& arguments) {
  constexpr std::string_view by_kernels = "nccl_ag_", by_copies = "ce_ag_";
  const std::string& phase = arguments.text("phase");
  const auto bytes_after = [&](std::string_view prefix) {
    return static_cast<std::size_t>(parse_count(phase.substr(prefix.size()), 1, std::int64_t{1} << 40));
  };
  const auto operation = [&] {
    if (phase.starts_with(by_kernels)) return lab.collective(Collective::all_gather, bytes_after(by_kernels));
    if (phase.starts_with(by_copies)) return lab.copies(Collective::all_gather, bytes_after(by_copies));
    return lab.streaming(std::size_t{12} << 30, 2, 1);
  };
  const Sustained sustained = phase == "idle" ? sustain_rest(lab) : sustain(lab, operation(), phase_seconds);
  return {row_of(sustained.all, "mean_power_W", "mean_sm_clock_MHz")};
}

// The schedules of a GEMM and the all-gather that feeds it have the names and the dependencies of c3sim's
// (study/program/dependent.h): the columns of B (tokens) lie on the GPUs in equal shards, and every GPU needs all.

constexpr int pieces_of_a_shard = 8;
constexpr int library_lane = 300;  // the lanes of peers follow
constexpr int fork_event = 2000;   // the events of copies and collectives follow

enum class Grain { serial, shard, finer };

struct Form {
  std::string_view name;
  Grain grain = Grain::serial;
  bool by_library = false;       // by the library's all-gather; else every GPU pulls from its peers
  bool own_shard_apart = false;  // the own shard is multiplied first
};

constexpr std::array forms{Form{"serial_rccl", Grain::serial, true},
                           Form{"serial_sdma"},
                           Form{"shard_overlap", Grain::shard},
                           Form{"finer_uniform_fused_1d", Grain::finer},
                           Form{"finer_hetero_fused_1d", Grain::finer, false, true},
                           Form{"rccl_finer_uniform_fused_1d", Grain::finer, true},
                           Form{"rccl_finer_hetero_fused_1d", Grain::finer, true, true}};

// A DependentSchedule is steps of arriving tokens and the GEMM that needs them, made ready once, enqueued in each run.
struct DependentSchedule {
  Lab& lab;
  const Form& form;
  GemmShape shape;
  int gpus = lab.gpus();
  int steps = form.grain == Grain::serial ? 1 : form.grain == Grain::finer ? pieces_of_a_shard : gpus - 1;
  std::int64_t shard = shape.n / gpus;                                                   // in tokens
  std::int64_t tokens = form.grain == Grain::finer ? shard / pieces_of_a_shard : shard;  // of each shard, in a step
  std::size_t token = bytes_of_bfloat16 * static_cast<std::size_t>(shape.k);             // bytes of a token
  std::size_t bytes = token * static_cast<std::size_t>(shape.n);                         // of all tokens together
  bool has_own = form.grain == Grain::shard || form.own_shard_apart;                     // a GEMM for the own shard
  std::optional<Operation> own_gemm = has_own ? std::optional(lab.gemm({shape.m, shard, shape.k})) : std::nullopt;
  int shards = form.grain == Grain::shard ? 1 : form.own_shard_apart ? gpus - 1 : gpus;  // shards in a step
  Operation gemm = lab.gemm({shape.m, tokens* shards, shape.k});
  std::optional<Operation> collective =
      form.by_library ? std::optional(lab.collective(Collective::all_gather, bytes / static_cast<std::size_t>(steps)))
                      : std::nullopt;

  void enqueue(int gpu, Stream compute) const {
    lab.gpu(gpu).record(lab.event(gpu, fork_event), compute);
    for (int lane = 0; lane < gpus; ++lane) {
      lab.gpu(gpu).wait(lab.stream(gpu, library_lane + lane), lab.event(gpu, fork_event));
    }
    if (own_gemm) own_gemm->launch(gpu, compute);
    for (int step = 0; step < steps; ++step) {
      if (form.grain == Grain::shard) {
        pull(gpu, compute, step + 1, 1, 0);  // from one peer after another
      } else {
        gather(gpu, compute, step);
      }
      gemm.launch(gpu, compute);
    }
  }
  // Gathers a step's tokens of every shard for what follows on `compute`.
  void gather(int gpu, Stream compute, int step) const {
    if (!collective) {
      for (int distance = 1; distance < gpus; ++distance) pull(gpu, compute, distance, distance, step);
      return;
    }
    const Stream lane = lab.stream(gpu, library_lane);
    collective->launch(gpu, lane);
    hand_over(gpu, lane, compute, step * gpus);
  }
  void pull(int gpu, Stream compute, int distance, int lane, int step) const {
    const int peer = (gpu + distance) % gpus;
    const std::size_t own = token * static_cast<std::size_t>(step * tokens);
    const std::size_t place = token * static_cast<std::size_t>(shard * peer) + own;
    const Stream stream = lab.stream(gpu, library_lane + lane);
    lab.gpu(gpu).copy(lab.destination(gpu, bytes) + place, lab.source(peer, bytes) + own,
                      token * static_cast<std::size_t>(tokens), stream);
    hand_over(gpu, stream, compute, step * gpus + distance);
  }
  void hand_over(int gpu, Stream from, Stream to, int event) const {
    const Event arrived = lab.event(gpu, fork_event + 1 + event);
    lab.gpu(gpu).record(arrived, from);
    lab.gpu(gpu).wait(to, arrived);
  }
};

Rows measure_dependent(Lab& lab, const Arguments& arguments) {
  const auto form = std::ranges::find(forms, arguments.text("schedule"), &Form::name);
  const GemmShape shape = arguments.shape();
  if (form == forms.end() || !can_be_cut(shape, lab.gpus())) {
    throw GpuError(GpuError::Kind::unsupported, "there is no schedule {} of {} on {} GPUs", arguments.text("schedule"),
                   to_string(shape), lab.gpus());
  }
  const DependentSchedule schedule{lab, *form, shape};
  lab.reserve(schedule.bytes, schedule.bytes);
  const auto launch = [&schedule](int gpu, Stream stream) { schedule.enqueue(gpu, stream); };
  return {row_of(lab.time({{.launch = launch, .hot = true}}))};
}

std::vector<Kind> read_kinds() {
  const std::map<std::string_view, Kind::Measure*> measures{{"launches", measure_launch},
                                                            {"gemms", measure_gemm},
                                                            {"copies", measure_copy},
                                                            {"fan_outs", measure_links},
                                                            {"collectives", measure_collective},
                                                            {"streams", measure_stream},
                                                            {"loads", measure_load},
                                                            {"series", measure_series},
                                                            {"steady", measure_steady},
                                                            {"duty_cycles", measure_steady},
                                                            {"phases", measure_phase},
                                                            {"pairs", measure_pair},
                                                            {"probes", measure_probe},
                                                            {"dependent", measure_dependent},
                                                            {"copy_phases", measure_copy_phases},
                                                            {"engines", measure_engine},
                                                            {"back_to_back", measure_copy},
                                                            {"links", measure_links},
                                                            {"dispatch", measure_dispatch},
                                                            {"link_power", measure_link_power},
                                                            {"matrix_power", measure_steady}};
  std::vector<Kind> kinds;
  std::string usual_times;
  for (const auto& [key, value] : entries_of(kinds_text())) {
    if (key == "times") {
      (kinds.empty() ? usual_times : kinds.back().times) = value;
    } else if (key == "columns") {
      kinds.back().columns = value;
    } else {
      kinds.push_back({key, value, "", usual_times, measures.at(key)});
    }
  }
  return kinds;
}

}  // namespace

std::span<const Kind> kinds() {
  static const std::vector<Kind> all = read_kinds();
  return all;
}

const Kind* kind_of(std::string_view name) {
  const auto found = std::ranges::find(kinds(), name, &Kind::name);
  return found == kinds().end() ? nullptr : &*found;
}

std::vector<std::string> dependent_schedules() {
  std::vector<std::string> names;
  for (const Form& form : forms) names.emplace_back(form.name);
  return names;
}

bool can_be_cut(GemmShape shape, int gpus) { return shape.n % (std::int64_t{gpus} * pieces_of_a_shard) == 0; }

}  // namespace c3sim::measure
