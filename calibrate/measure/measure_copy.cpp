// Measures copies between GPUs and to the host: alone, several at once, one after another, and their power.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/measure/plan.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

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

}  // namespace

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

}  // namespace c3sim::measure
