// Copies between GPUs and to the host: alone, several at once, one behind another, and what they draw.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/measure/board_watch.h"
#include "calibrate/measure/gpu_error.h"
#include "calibrate/measure/kind.h"
#include "calibrate/measure/sustained.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr int first_lane = 200;  // of copies that run at once
constexpr double link_seconds = 2.0;

// "gpu3" or "host", which is -1.
int device_of(const std::string& name) {
  return name == "host" ? -1 : static_cast<int>(parse_count(name.substr(std::min<std::size_t>(3, name.size())), 0, 63));
}

// One copy, whose memory lives as long as this.
class Route {
 public:
  Route(Lab& lab, int from, int to, std::size_t bytes)
      : lab_(lab), from_(from), to_(to), bytes_(bytes), host_(needs_host() ? host_memory() : Memory()) {
    lab_.bench.each([&](int gpu) {
      if (gpu == from_) source_ = lab_.operations.source(gpu, bytes_);
      if (gpu == to_) destination_ = lab_.operations.destination(gpu, bytes_);
    });
    if (from_ < 0) source_ = host_.at();
    if (to_ < 0) destination_ = host_.at();
  }

  // The GPU that asks for it: the one that sends, where one does.
  int gpu() const { return from_ < 0 ? to_ : from_; }
  int receiver() const { return to_; }
  void* destination() const { return destination_; }
  const void* source() const { return source_; }
  std::size_t bytes() const { return bytes_; }
  void launch(Stream stream) const { lab_.bench.gpu(gpu()).copy(destination_, source_, bytes_, stream); }
  Operation operation() const {
    return {.launch = [this](int, Stream stream) { launch(stream); }, .lane = first_lane};
  }

 private:
  bool needs_host() const { return from_ < 0 || to_ < 0; }
  Memory host_memory() {
    Memory memory;
    lab_.bench.on(gpu(), [&] { memory = Memory::on_host(lab_.bench.gpu(gpu()), bytes_); });
    return memory;
  }

  Lab& lab_;
  int from_, to_;
  std::size_t bytes_;
  Memory host_;
  char* source_ = nullptr;
  char* destination_ = nullptr;
};

Route route_of(Lab& lab, const Arguments& arguments) {
  return {lab, device_of(arguments.text("from")), device_of(arguments.text("to")), arguments.bytes()};
}

// Every GPU sends to these peers, or none, at once: a lane for each.
std::vector<int> peers_of(const std::string& pattern, int gpu, int gpus) {
  if (pattern == "both_ways") return gpu < 2 ? std::vector{1 - gpu} : std::vector<int>{};
  if (pattern == "ring") return {(gpu + 1) % gpus};
  std::vector<int> peers;  // "all"
  for (int step = 1; step < gpus; ++step) peers.push_back((gpu + step) % gpus);
  return peers;
}

// Forks to a lane for each of `copies` and joins them again.
void at_once(Lab& lab, int gpu, Stream stream, int copies, const std::function<void(int, Stream)>& copy) {
  constexpr int fork = 50;
  lab.bench.gpu(gpu).record(lab.bench.event(gpu, fork), stream);
  for (int i = 0; i < copies; ++i) {
    const Stream lane = lab.bench.stream(gpu, first_lane + 1 + i);
    const Event joined = lab.bench.event(gpu, fork + 1 + i);
    lab.bench.gpu(gpu).wait(lane, lab.bench.event(gpu, fork));
    copy(i, lane);
    lab.bench.gpu(gpu).record(joined, lane);
    lab.bench.gpu(gpu).wait(stream, joined);
  }
}

}  // namespace

Rows measure_copy(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  Row row;
  put(row, lab.bench.time({route.operation()}, {route.gpu()}));
  return {row};
}

Rows measure_copy_phases(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  const int gpu = route.gpu();
  std::vector<double> call, device, seen;
  lab.bench.on(gpu, [&] {
    Gpu& own = lab.bench.gpu(gpu);
    const Stream stream = lab.bench.stream(gpu, first_lane);
    const Event before = lab.bench.event(gpu, 1), after = lab.bench.event(gpu, 2);
    const Protocol& protocol = lab.bench.protocol();
    for (int repeat = -protocol.least_warm_ups; repeat < protocol.counted; ++repeat) {
      own.record(before, stream);
      const double begin = host_microseconds();
      route.launch(stream);
      const double called = host_microseconds();
      own.record(after, stream);
      lab.bench.await(gpu, after);
      const double end = host_microseconds();
      if (repeat < 0) continue;
      call.push_back(called - begin);
      device.push_back(own.microseconds(before, after));
      seen.push_back(end - begin);
    }
  });
  Row row;
  row["call_us"] = spelled(summarize(call).median);
  row["device_us"] = spelled(summarize(device).median);
  row["seen_us"] = spelled(summarize(seen).median);
  row["n"] = std::to_string(call.size());
  return {row};
}

Rows measure_engine(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  const int engine = static_cast<int>(arguments.number("engine"));
  std::vector<double> start, data, seen, all;
  lab.bench.on(route.gpu(), [&] {
    Gpu& gpu = lab.bench.gpu(route.gpu());
    const Protocol& protocol = lab.bench.protocol();
    for (int repeat = -protocol.least_warm_ups; repeat < protocol.counted; ++repeat) {
      const EngineCopy copy = gpu.copy_on_engine(engine, lab.bench.gpu(route.receiver()), route.destination(),
                                                 route.source(), route.bytes());
      if (repeat < 0) continue;
      start.push_back(copy.start);
      data.push_back(copy.data);
      seen.push_back(copy.seen);
      all.push_back(copy.start + copy.data + copy.seen);
    }
  });
  Row row;
  row["time_us"] = spelled(summarize(all).median);
  row["start_us"] = spelled(summarize(start).median);
  row["data_us"] = spelled(summarize(data).median);
  row["seen_us"] = spelled(summarize(seen).median);
  row["n"] = std::to_string(all.size());
  return {row};
}

Rows measure_copies_in_a_row(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  const std::int64_t copies = arguments.number("copies");
  const auto launch = [&](int, Stream stream) {
    for (std::int64_t i = 0; i < copies; ++i) route.launch(stream);
  };
  Row row;
  put(row, lab.bench.time({{.launch = launch, .lane = first_lane}}, {route.gpu()}));
  return {row};
}

Rows measure_fan_out(Lab& lab, const Arguments& arguments) {
  const std::size_t bytes = arguments.bytes();
  const int peers = static_cast<int>(arguments.number("peers"));
  lab.bench.each([&](int gpu) {
    lab.operations.source(gpu, bytes);
    lab.operations.destination(gpu, bytes);
  });
  const auto launch = [&](int gpu, Stream stream) {
    at_once(lab, gpu, stream, peers, [&](int i, Stream lane) {
      lab.bench.gpu(gpu).copy(lab.operations.destination(i + 1, bytes), lab.operations.source(gpu, bytes), bytes, lane);
    });
  };
  Row row;
  put(row, lab.bench.time({{.launch = launch, .lane = first_lane}}, {0}));
  return {row};
}

Rows measure_links(Lab& lab, const Arguments& arguments) {
  const std::size_t bytes = arguments.bytes();
  const std::size_t gpus = static_cast<std::size_t>(lab.bench.gpus());
  const std::string& pattern = arguments.text("pattern");
  lab.bench.each([&](int gpu) {
    lab.operations.source(gpu, bytes);
    lab.operations.destination(gpu, bytes * gpus);
  });
  const auto launch = [&](int gpu, Stream stream) {
    const std::vector<int> peers = peers_of(pattern, gpu, lab.bench.gpus());
    at_once(lab, gpu, stream, static_cast<int>(peers.size()), [&](int i, Stream lane) {
      char* const to = lab.operations.destination(peers[static_cast<std::size_t>(i)], bytes * gpus);
      lab.bench.gpu(gpu).copy(to + bytes * static_cast<std::size_t>(gpu), lab.operations.source(gpu, bytes), bytes,
                              lane);
    });
  };
  Row row;
  put(row, lab.bench.time({{.launch = launch, .lane = first_lane}}));
  return {row};
}

Rows measure_link_power(Lab& lab, const Arguments& arguments) {
  const std::size_t bytes = static_cast<std::size_t>(arguments.number("copy_bytes"));
  const std::string& phase = arguments.text("phase");
  const BoardWatch watch(lab.bench);
  double half = 0.0, rate = 0.0;
  if (phase == "rest") {
    rest(lab.bench.protocol().rest);
    half = host_microseconds();
    rest(lab.bench.protocol().rest);
  } else {
    const Route there(lab, 0, phase == "local" ? 0 : 1, bytes), back(lab, 1, 0, bytes);
    const Operation copy{.launch = [&](int gpu, Stream stream) { (gpu == 0 ? there : back).launch(stream); },
                         .lane = first_lane};
    const std::vector<int> on = phase == "both_ways" ? std::vector{0, 1} : std::vector{0};
    const Sustained sustained =
        sustain(lab.bench, copy, lab.brevity * link_seconds, batch_of(lab.bench, copy, on), {}, on);
    half = sustained.half;
    rate = static_cast<double>(bytes) / sustained.time * 1e-3;
  }
  Row row;
  row["rate_GBps"] = fmt::format("{:.2f}", rate);
  for (const int gpu : {0, 1}) {
    const BoardWatch::Mean mean = watch.since(half, gpu);
    row[fmt::format("power{}_W", gpu)] = fmt::format("{:.1f}", mean.state.power);
    row[fmt::format("clock{}_MHz", gpu)] = fmt::format("{:.0f}", mean.state.clock);
  }
  return {row};
}

}  // namespace c3sim::measure
