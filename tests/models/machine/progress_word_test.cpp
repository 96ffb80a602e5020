// These tests cover kernels that report their progress, and engines and kernels that wait for that progress.
#include "models/machine/progress_word.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "models/kernels/elementwise.h"
#include "models/kernels/gemm.h"
#include "models/sdma/sdma_complex.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_us;

// On 8 CUs, 16 tiles of 128x128 take two waves.
const GemmShape two_waves{512, 512, 1000};
constexpr double first_wave_us = 4.0 + dispatch_us + tile_us;
constexpr double second_wave_us = first_wave_us + dispatch_us + tile_us;

double microseconds_of(sim::Time time) { return sim::to_microseconds(time); }

TEST(KernelProgress, IsToldWaveByWaveOnEveryGpu) {
  sim::Simulator simulator;
  const PlatformSpec platform = round_platform();
  Node node(simulator, platform);
  std::vector<std::pair<double, int>> seen;  // of GPU 2
  Stream stream;
  stream.progress = [&](const KernelProgress& progress) {
    EXPECT_EQ(progress.all, 16);
    if (progress.gpu == 2) seen.emplace_back(microseconds_of(simulator.now()), progress.done);
  };
  time_of(simulator, run_gemm(node, two_waves, stream));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_NEAR(seen[0].first, first_wave_us, 0.2);
  EXPECT_EQ(seen[0].second, 8);
  EXPECT_NEAR(seen[1].first, second_wave_us, 0.2);
  EXPECT_EQ(seen[1].second, 16);
}

sim::Task<> queue_behind_poll(Node& node, MemoryWord& word, std::int64_t workgroups, TransferTimes& times) {
  SdmaComplex& engines = *node.copy_engines().front();
  SubmittingThread& thread = engines.submitter(node.host());
  SdmaQueue& queue = engines.engine(0).queue(0);
  TransferCommand transfer;
  transfer.source = {0, 0, sim::Bytes(0.0), sim::Bytes(1e5)};
  transfer.destinations = {{1, 0, sim::Bytes(0.0), sim::Bytes(1e5)}};
  transfer.times = &times;
  std::vector<SdmaCommand> commands;
  commands.emplace_back(PollCommand{&word, {Comparison::at_least, workgroups}});
  commands.emplace_back(transfer);
  co_await queue.submit(thread, std::move(commands), engines.doorbell_latency());
}

// A POLL for the workgroups of the first wave precedes a queued copy. The copy leaves during the second wave without
// the host: 3 us for the store plus the time of the engine's poll.
TEST(KernelProgress, OfAGemmReleasesAQueuedCopy) {
  sim::Simulator simulator;
  PlatformSpec platform = round_platform();
  platform.gpu.sdma = mi300x().gpu.sdma;
  platform.gpu.sdma.gpus = platform.gpus;
  Node node(simulator, platform);
  MemoryWord word(simulator, "workgroups done", 0);
  TransferTimes times;
  Stream stream;
  stream.progress = counted_in(word, 0, 3_us);
  simulator.spawn("submission", queue_behind_poll(node, word, 8, times));
  time_of(simulator, run_gemm(node, two_waves, stream));
  EXPECT_EQ(word.value(), 16);
  EXPECT_GE(microseconds_of(times.fetched), first_wave_us + 3.0);
  EXPECT_LE(microseconds_of(times.fetched), first_wave_us + 3.0 + 5.0);
  EXPECT_LT(microseconds_of(times.finished), second_wave_us);
}

// A stream has one CU of each XCD and a GEMM the other three. The stream's workgroups poll from the start until all six
// tiles of the GEMM are done. The poll takes 2 us, reading 1 MB at 800 GB/s of HBM 1.25 us, and the host's notice 2 us.
TEST(KernelProgress, OfAGemmIsPolledByAnotherKernelOnItsCus) {
  sim::Simulator simulator;
  const PlatformSpec platform = round_platform();
  Node node(simulator, platform);
  MemoryWord word(simulator, "workgroups done", 0);
  Stream gemm{{0, 3}};
  gemm.progress = counted_in(word, 0, sim::Time(0));
  Stream stream{{3, 4}};
  stream.polled = {&word, {Comparison::at_least, 6}, 2_us};
  simulator.spawn("gemm", run_gemm(node, {384, 256, 1000}, gemm));
  const ElementwiseSpec reading{sim::Bytes(1e6), sim::Bytes(0.0), sim::Flops(0.0)};
  sim::Time end{0};
  simulator.spawn("stream", note_end(simulator, run_elementwise(node, reading, stream, {0}), end));
  simulator.run();
  EXPECT_NEAR(microseconds_of(end), first_wave_us + 2.0 + 1.25 + 2.0, 1e-3);
}

}  // namespace
}  // namespace c3sim::models
