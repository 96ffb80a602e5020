// Measures with kernels of device/kernels.cu what it costs to start a kernel and to learn of its end, which of two
// kernels gets a CU that becomes free, streams through memory and caches, and the latency of loads beside streams.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "calibrate/measure/plan.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

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

}  // namespace

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
  return {lab.replay(many, {0}, [&](const Operation& replayed) {
    return what == "graph_call" ? time_of_call(lab, 1, replayed.launch) : row_of(lab.time({replayed}, {0}), count);
  })};
}

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace

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

}  // namespace c3sim::measure
