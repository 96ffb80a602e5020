// What it costs to start work and to learn that it is done.
#include "calibrate/measure/kind.h"

namespace c3sim::measure {

namespace {

void launch_empty(Lab& lab, int gpu, Stream stream) { lab.launch(gpu, "empty", {1, 64}, stream); }

// Time of the host's thread in one of `count` calls that follow each other, on GPU 0.
Row time_of_call(Lab& lab, int count, const std::function<void(int gpu, Stream stream)>& call) {
  std::vector<double> times;
  lab.on(0, [&] {
    const Stream stream = lab.stream(0, 0);
    for (int repeat = -lab.protocol().least_warm_ups; repeat < lab.protocol().counted; ++repeat) {
      const double begin = host_microseconds();
      for (int i = 0; i < count; ++i) call(0, stream);
      const double end = host_microseconds();
      lab.finish(0, stream);
      if (repeat >= 0) times.push_back((end - begin) / count);
    }
  });
  return row_of("time", summarize(times));
}

// By events around all that `launch` enqueues on GPU 0; of one of `count`.
Row time_of_work(Lab& lab, int count, const std::vector<int>& on,
                 const std::function<void(int gpu, Stream stream)>& launch) {
  return row_of(lab.time({{.launch = launch}}, on), count);
}

Row time_of_graph(Lab& lab, int count, bool call) {
  Graph graph{};
  lab.on(0, [&] {
    const Stream stream = lab.stream(0, 0);
    launch_empty(lab, 0, stream);  // loads the kernel, which no capture may do
    lab.finish(0, stream);
    graph = lab.gpu(0).capture(stream, [&] {
      for (int i = 0; i < count; ++i) launch_empty(lab, 0, stream);
    });
  });
  const auto launch = [&](int gpu, Stream stream) { lab.gpu(gpu).launch(graph, stream); };
  Row row = call ? time_of_call(lab, 1, launch) : time_of_work(lab, count, {0}, launch);
  lab.on(0, [&] { lab.gpu(0).release(graph); });
  return row;
}

// Two streams that wait for each other by turns, a kernel each time.
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
  const auto many = [&](int gpu, Stream stream) {
    for (int i = 0; i < count; ++i) launch_empty(lab, gpu, stream);
  };
  if (what == "empty_kernel") return {time_of_work(lab, 1, {}, empty)};
  if (what == "launch_call") return {time_of_call(lab, count, empty)};
  if (what == "kernels_back_to_back") return {time_of_work(lab, count, {0}, many)};
  if (what == "event_call") {
    return {time_of_call(lab, count, [&](int gpu, Stream stream) { lab.gpu(gpu).record(lab.event(gpu, 0), stream); })};
  }
  if (what == "synchronize_call") {  // with nothing to wait for
    return {time_of_call(lab, count, [&](int gpu, Stream stream) { lab.finish(gpu, stream); })};
  }
  if (what == "stream_after_stream") {
    return {time_of_work(lab, count, {0}, [&](int gpu, Stream stream) { alternate(lab, gpu, stream, count); })};
  }
  return {time_of_graph(lab, count, what == "graph_call")};
}

}  // namespace c3sim::measure
