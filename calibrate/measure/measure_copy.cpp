// Copies between GPUs and to the host: alone, several at once, one behind another, and what they draw.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/measure/kind.h"
#include "calibrate/measure/sustained.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr int first_lane = 200;  // of copies that run at once
constexpr double link_seconds = 2.0;

using Columns = std::map<std::string, double>;

// "gpu3" or "host", which is -1.
int device_of(const std::string& name) {
  return name == "host" ? -1 : static_cast<int>(parse_count(name.substr(std::min<std::size_t>(3, name.size())), 0, 63));
}

// One copy, whose memory lives as long as this.
class Route {
 public:
  Route(Lab& lab, int from, int to, std::size_t bytes)
      : lab_(lab), from_(from), to_(to), bytes_(bytes), host_(needs_host() ? host_memory() : Memory()) {
    lab_.each([&](int gpu) {
      if (gpu == from_) source_ = lab_.source(gpu, bytes_);
      if (gpu == to_) destination_ = lab_.destination(gpu, bytes_);
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
  void launch(Stream stream) const { lab_.gpu(gpu()).copy(destination_, source_, bytes_, stream); }
  Operation operation() const {
    return {.launch = [this](int, Stream stream) { launch(stream); }, .lane = first_lane};
  }

 private:
  bool needs_host() const { return from_ < 0 || to_ < 0; }
  Memory host_memory() {
    Memory memory;
    lab_.on(gpu(), [&] { memory = Memory::on_host(lab_.gpu(gpu()), bytes_); });
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

// Medians of what is measured again and again, after warm-ups, by column.
Row medians(const Protocol& protocol, const std::function<Columns()>& measured) {
  std::map<std::string, std::vector<double>> columns;
  for (int repeat = -protocol.least_warm_ups; repeat < protocol.counted; ++repeat) {
    for (const auto& [column, value] : measured()) {
      if (repeat >= 0) columns[column].push_back(value);
    }
  }
  Row row{{"n", std::to_string(protocol.counted)}};
  for (const auto& [column, values] : columns) row[column] = spelled(summarize(values).median);
  return row;
}

}  // namespace

Rows measure_copy(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  return {row_of(lab.time({route.operation()}, {route.gpu()}))};
}

Rows measure_copy_phases(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  const int gpu = route.gpu();
  Row row;
  lab.on(gpu, [&] {
    Gpu& own = lab.gpu(gpu);
    const Stream stream = lab.stream(gpu, first_lane);
    const Event before = lab.event(gpu, 1), after = lab.event(gpu, 2);
    row = medians(lab.protocol(), [&]() -> Columns {
      own.record(before, stream);
      const double begin = host_microseconds();
      route.launch(stream);
      const double called = host_microseconds();
      own.record(after, stream);
      lab.await(gpu, after);
      const double end = host_microseconds();
      return {{"call_us", called - begin}, {"device_us", own.microseconds(before, after)}, {"seen_us", end - begin}};
    });
  });
  return {row};
}

Rows measure_engine(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  const int engine = static_cast<int>(arguments.number("engine"));
  Row row;
  lab.on(route.gpu(), [&] {
    row = medians(lab.protocol(), [&]() -> Columns {
      const EngineCopy copy =
          lab.gpu(route.gpu())
              .copy_on_engine(engine, lab.gpu(route.receiver()), route.destination(), route.source(), route.bytes());
      return {{"time_us", copy.start + copy.data + copy.seen},
              {"start_us", copy.start},
              {"data_us", copy.data},
              {"seen_us", copy.seen}};
    });
  });
  return {row};
}

Rows measure_copies_in_a_row(Lab& lab, const Arguments& arguments) {
  const Route route = route_of(lab, arguments);
  const std::int64_t copies = arguments.number("copies");
  const auto launch = [&](int, Stream stream) {
    for (std::int64_t i = 0; i < copies; ++i) route.launch(stream);
  };
  return {row_of(lab.time({{.launch = launch, .lane = first_lane}}, {route.gpu()}))};
}

Rows measure_fan_out(Lab& lab, const Arguments& arguments) {
  const std::size_t bytes = arguments.bytes();
  const int peers = static_cast<int>(arguments.number("peers"));
  lab.reserve(bytes, bytes);
  const auto launch = [&](int gpu, Stream stream) {
    lab.at_once(gpu, stream, first_lane + 1, peers, [&](int i, Stream lane) {
      lab.gpu(gpu).copy(lab.destination(i + 1, bytes), lab.source(gpu, bytes), bytes, lane);
    });
  };
  return {row_of(lab.time({{.launch = launch, .lane = first_lane}}, {0}))};
}

Rows measure_links(Lab& lab, const Arguments& arguments) {
  const std::size_t bytes = arguments.bytes();
  const std::size_t everywhere = bytes * static_cast<std::size_t>(lab.gpus());
  const std::string& pattern = arguments.text("pattern");
  lab.reserve(bytes, everywhere);
  const auto launch = [&](int gpu, Stream stream) {
    const std::vector<int> peers = peers_of(pattern, gpu, lab.gpus());
    lab.at_once(gpu, stream, first_lane + 1, static_cast<int>(peers.size()), [&](int i, Stream lane) {
      char* const to = lab.destination(peers[static_cast<std::size_t>(i)], everywhere);
      lab.gpu(gpu).copy(to + bytes * static_cast<std::size_t>(gpu), lab.source(gpu, bytes), bytes, lane);
    });
  };
  return {row_of(lab.time({{.launch = launch, .lane = first_lane}}))};
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
    const std::vector<int> on = phase == "both_ways" ? std::vector{0, 1} : std::vector{0};
    sustained = sustain(lab, copy, lab.brevity() * link_seconds, batch_of(lab, copy, on), {}, on);
  }
  const double rate = phase == "rest" ? 0.0 : static_cast<double>(bytes) / sustained.time * 1e-3;
  Row row{{"rate_GBps", fmt::format("{:.2f}", rate)}};
  for (const int gpu : {0, 1}) {
    const BoardState& state = sustained.boards[static_cast<std::size_t>(gpu)].state;
    row[fmt::format("power{}_W", gpu)] = fmt::format("{:.1f}", state.power);
    row[fmt::format("clock{}_MHz", gpu)] = fmt::format("{:.0f}", state.clock);
  }
  return {row};
}

}  // namespace c3sim::measure
