// Streams through memory and caches, and the latency of loads beside them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>

#include "calibrate/measure/kind.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr std::size_t word = 16;  // bytes of a load

// As device/kernels.cu has them.
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

// On GPU 0's thread: one chase, beside as many workgroups as there are CUs left if there is a load.
Outcome chase(Lab& lab, const char* chain, Load load, int workgroups, int threads) {
  Gpu& gpu = lab.gpu(0);
  const Stream stream = lab.stream(0, 0);
  const Memory outcome = Memory::on(gpu, sizeof(Outcome)), seen = Memory::on(gpu, sizeof(Outcome), Home::host);
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
  // Arrays that lie in the same level of the hierarchy as the chain.
  const std::size_t array = beside == "none" ? word : std::max<std::size_t>(2 * bytes, std::size_t{8} << 20);
  Outcome outcome{};
  lab.on(0, [&] {
    Gpu& gpu = lab.gpu(0);
    const Memory chain = Memory::on(gpu, bytes);
    const int bits = static_cast<int>(std::bit_width(bytes / (spacing * sizeof(std::uint32_t)))) - 1;
    const Stream stream = lab.stream(0, 0);
    lab.launch(0, "make_chain", {4 * gpu.device().cus, 256}, stream, chain.at(), bits, spacing);
    const Load load{lab.source(0, array), beside == "copy" ? lab.destination(0, array) : nullptr, array / word,
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
