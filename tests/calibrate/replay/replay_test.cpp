// Tests traces that are played again.
#include "calibrate/replay/replay.h"

#include <cmath>

#include "calibrate/replay/occupancy.h"
#include "calibrate/replay/replay_report.h"
#include "sim/config/measurement_text.h"
#include "study/play/platform_file.h"
#include "tests/calibrate/readers/kineto_trace.h"
#include "tests/config_folders.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

study::Testbed testbed_of(const std::string& name, const std::vector<std::string>& assignments = {}) {
  return study::Testbed(study::read_platform(study::find_platform(name, "test", folders), assignments, folders).spec);
}

class Replay : public testing::Test {
 protected:
  study::Testbed testbed_ = testbed_of("mi300x");
  Contention contention_{testbed_, {}};
};

sim::Time end_of(const std::vector<study::Stay>& played) {
  sim::Time end = sim::Time::min();
  for (const study::Stay& one : played) end = std::max(end, one.end);
  return end;
}

sim::Time beside(sim::Time one, sim::Time other) { return one > other ? one - other : other - one; }

// Times may be off by this much after a double has multiplied and divided them a few times.
constexpr sim::Time rounding = nanoseconds(1);

// A GEMM precedes a collective on another stream, and a second GEMM waits for the event after the collective.
Trace chain() {
  Trace trace;
  trace.call("hipLaunchKernel", 0, 1, 1).kernel("gemm", 0, 10, 100, 1);
  trace.call("hipLaunchKernel", 2, 1, 2).all_gather(4, 113, 1000, 2, 1 << 24);
  trace.call("hipLaunchKernel", 4, 1, 3).kernel("gemm", 0, 1117, 100, 3);
  return trace;
}

// The GPU stands still for 3 and 4 us, and for the collective: 1207 us from the first begin to the last end.
TEST_F(Replay, KeepsAnUnchangedRunAsItWas) {
  const Profile profile = chain().read();
  const Dependencies dependencies = dependencies_of(profile);
  EXPECT_EQ(dependencies.by_time, 2u);
  const Met met = play_unchanged(profile, contention_);
  EXPECT_EQ(met.measured, microseconds(1207));
  EXPECT_LE(beside(met.replayed, met.measured), rounding);
}

// Forty thousand kernels of a millisecond run at once, half of them on one stream, half on one each, with a collective:
// all are slowed down alike, so that each takes what it took. Pair by pair this would take minutes.
TEST_F(Replay, OfThousandsOfKernelsAtOnceTakesNoLonger) {
  Trace trace;
  trace.all_gather(1, 0, 2000, 0, 1 << 24);
  constexpr int kernels = 20'000;
  for (int i = 0; i < kernels; ++i) trace.kernel("gemm", 2, 100, 1000);
  for (int i = 0; i < kernels; ++i) trace.kernel("fill", 3 + i, 100, 1000);
  const Profile profile = trace.read();
  const Met met = play_unchanged(profile, contention_);
  EXPECT_EQ(met.measured, microseconds(2000));
  EXPECT_LE(beside(met.replayed, met.measured), rounding);
}

// For three million kernels the nodes, what each waits for (twice a bound), and the pieces take about 430 MB.
TEST_F(Replay, KeepsLittleOfEachKernel) {
  EXPECT_LE(sizeof(Node), 24u);
  EXPECT_LE(sizeof(After), 16u);
  EXPECT_LE(sizeof(Piece), 48u);
  EXPECT_LE(sizeof(Stretch), 24u);
}

// Kernels of two kinds take turns: nobody sees sixty thousand bars of a millionth of the whole each.
TEST_F(Replay, DrawsNoMoreBarsThanCanBeSeen) {
  Trace trace;
  constexpr int kernels = 60'000;
  for (int i = 0; i < kernels; ++i) trace.kernel(i % 2 == 0 ? "gemm" : "fill", 0, i, 1);
  const study::Results results = replay_results(trace.read(), contention_, contention_);
  const auto* const timeline = std::get_if<study::TimelineChart>(&results.charts.at(0));
  ASSERT_NE(timeline, nullptr);
  for (const study::TimelineRow& row : timeline->rows) {
    EXPECT_LE(row.bars.size(), 20'001u);
    EXPECT_GE(row.bars.size(), 10'000u);
    EXPECT_NEAR(row.bars.back().end, kernels, 1.0);
  }
}

// The GEMMs and how promptly they begin remain: 100 + 3 + 0 + 4 + 100.
TEST_F(Replay, TakesCommunicationOutOfAChain) {
  const Profile profile = chain().read();
  const auto run = take_apart(profile, dependencies_of(profile), contention_);
  const auto played = play(run, contention_, {.communication = true});
  EXPECT_LE(beside(end_of(played), profile.begin() + microseconds(207)), rounding);
}

// There are two parts of 50 us each: the second half of the first GEMM hides the collective's first half, or the other
// way round, and so do the second GEMM's first half and the collective's second.
TEST_F(Replay, SplitsACollectiveAndWhatComputesAroundIt) {
  const Profile profile = chain().read();
  const auto whole = take_apart(profile, dependencies_of(profile), contention_);
  const auto halves = split(whole, 2);
  const auto moving = [](const Piece& piece) { return piece.kind == PieceKind::moving; };
  EXPECT_EQ(std::ranges::count_if(halves.pieces, moving), 2);
  EXPECT_EQ(halves.pieces.size(), whole.pieces.size() + 3);
  EXPECT_EQ(2.0 * halves.collectives.at(1).bytes, whole.collectives.at(0).bytes);
  const auto without = [&](const auto& run) { return end_of(play(run, contention_, {.waits = true})); };
  EXPECT_LT(without(halves), without(whole));
  // The GEMMs still take 200 us and never run twice at once.
  EXPECT_LE(profile.begin() + microseconds(200), without(split(whole, 64)));
  EXPECT_EQ(split(whole, 1).pieces.size(), whole.pieces.size());
}

// The model moves 32 MiB in less than a millisecond: the rest of the time is waiting, and is gone without waits.
TEST_F(Replay, TellsWaitingFromMovingData) {
  const Profile profile = chain().read();
  const auto run = take_apart(profile, dependencies_of(profile), contention_);
  ASSERT_EQ(run.collectives.size(), 1u);
  const sim::Time alone = *contention_.tenant(run.collectives[0]).alone;
  ASSERT_LT(alone, sim::Time(microseconds(1000)));
  EXPECT_LE(beside(run.unexplained, microseconds(1000) - alone), rounding);
  const auto played = play(run, contention_, {.waits = true});
  EXPECT_LE(beside(end_of(played), profile.begin() + microseconds(207) + alone), rounding);
}

// A collective that always moves data runs beside all of a GEMM: alone the GEMM would take its traced time over the
// model's slowdown, and it takes that time in a run without communication.
TEST_F(Replay, TakesOutOfComputeWhatOverlapCostIt) {
  Trace trace;
  trace.call("hipLaunchKernel", 0, 1, 1).all_gather(4, 10, 400, 1, 1L << 28);
  trace.call("hipLaunchKernel", 2, 1, 2).kernel("gemm", 0, 10, 400, 2);
  const Profile profile = trace.read();
  const auto run = take_apart(profile, dependencies_of(profile), contention_);
  const Tenant& tenant = contention_.tenant(run.collectives.at(0));
  ASSERT_GT(*tenant.alone, sim::Time(microseconds(400)));  // half a GB over links of 50 GB/s
  ASSERT_GT(tenant.slows[0], 1.0);
  EXPECT_GT(run.beyond, sim::Time(0));
  const auto played = play(run, contention_, {.communication = true});
  const auto alone = sim::Time(static_cast<std::int64_t>(4e8 / tenant.slows[0]));
  EXPECT_LE(beside(end_of(played), profile.begin() + alone), rounding);
}

// The host waits for the GPU and then launches, 20 us after it knows: shorter work moves what it launches forward.
TEST_F(Replay, MovesWhatAHostLaunchesBehindSynchronisation) {
  Trace trace;
  trace.call("hipLaunchKernel", 0, 1, 1).all_gather(4, 10, 900, 1, 1 << 24);
  trace.call("hipDeviceSynchronize", 5, 910, 2);  // returns at 915, 5 us after the end
  trace.call("hipLaunchKernel", 935, 1, 3).kernel("gemm", 0, 942, 50, 3);
  const Profile profile = trace.read();
  const auto run = take_apart(profile, dependencies_of(profile), contention_);
  // The host knows of it after 5 us and takes 20, the kernel begins after 7 and takes 50.
  const auto played = play(run, contention_, {.communication = true});
  EXPECT_LE(beside(end_of(played), profile.begin() + microseconds(82)), rounding);
}

// One process drives two GPUs: it waits for GPU 0, whose kernel ends at 60, while that of GPU 1 has ended at 40, and
// later, for nothing, for GPU 1, on which it launched last.
TEST(Dependencies, OfADevicesSynchronisationAreThoseOfThatDevice) {
  Trace trace;
  trace.call("hipLaunchKernel", 0, 1, 1).kernel("gemm", 0, 10, 50, 1);
  trace.call("hipLaunchKernel", 2, 1, 2).kernel("gemm", 0, 12, 28, 2, "", 1);
  trace.call("hipDeviceSynchronize", 5, 58, 3);
  trace.call("hipLaunchKernel", 70, 1, 4).kernel("gemm", 0, 80, 10, 4, "", 1);
  trace.call("hipDeviceSynchronize", 100, 1, 5);
  const Profile profile = trace.read();
  const Dependencies dependencies = dependencies_of(profile);
  std::vector<std::vector<std::int64_t>> devices;  // of the work that each return waits for
  for (std::size_t i = 1; i < dependencies.nodes.size(); ++i) {
    if (dependencies.nodes[i].work) continue;
    std::vector<std::int64_t>& own = devices.emplace_back();
    for (const After& after : dependencies.after[i]) {
      const Place work = dependencies.nodes[after.node].work;
      if (work) own.push_back(profile.streams[profile.work[*work].stream].device);
    }
  }
  EXPECT_THAT(devices, ElementsAre(testing::Each(0), testing::Each(1)));
}

// Each kernel runs for 100 ms and begins a microsecond after the previous one: 101,999 us. A kernel beside n others
// costs no more than n.
TEST_F(Replay, PlaysThousandsOfKernelsThatOverlap) {
  Trace trace;
  for (int i = 0; i < 2000; ++i) trace.call("hipLaunchKernel", i, 0.5, i + 1).kernel("gemm", i, 10 + i, 100'000, i + 1);
  const Met met = play_unchanged(trace.read(), contention_);
  EXPECT_EQ(met.measured, microseconds(101'999));
  EXPECT_LE(beside(met.replayed, met.measured), rounding);
}

// Two collectives of 64 GPUs run on a node of 8.
TEST_F(Replay, CountsCollectivesThatTheMachineCannotHave) {
  Trace trace;
  for (const int begin : {10, 60}) {
    trace.kernel("ncclDevKernel_AllGather", 4, begin, 40, 0,
                 R"(,"Collective name":"_allgather_base","In msg nelems":64,"Out msg nelems":4096,)"
                 R"("Group size":64,"dtype":"BFloat16")");
  }
  const Profile profile = trace.read();
  const auto run = take_apart(profile, dependencies_of(profile), contention_);
  EXPECT_TRUE(run.collectives.empty());
  ASSERT_EQ(run.not_simulated.size(), 1u);
  EXPECT_EQ(run.not_simulated.begin()->first, "64 GPUs cannot take part: 2 to 8 are accepted");
  EXPECT_EQ(run.not_simulated.begin()->second.events, 2u);
  EXPECT_EQ(run.not_simulated.begin()->second.time, microseconds(80));
  const study::Results results = replay_results(profile, contention_, contention_);
  EXPECT_EQ(results.warnings.at(0),
            "none of its collectives are simulated: 80.0 us of 80.0 us keep their traced time, whatever is asked for; "
            "the notes say "
            "why");
  EXPECT_EQ(results.notes.back(),
            "2 events, 80.0 us: work on a GPU whose launch is not in the trace: it keeps its time.");
}

// The event was recorded after the first kernel of stream 4: the GEMM waits for that kernel, though the second one,
// which it does not wait for, ended just before it began.
TEST(Dependencies, FollowEventsThatTheTraceTells) {
  Trace trace;
  trace.call("cudaLaunchKernel", 0, 1, 1).kernel("copy", 4, 10, 100, 1);
  trace.call("cudaEventRecord", 2, 1, 2);
  trace.call("cudaLaunchKernel", 4, 1, 3).kernel("copy", 4, 111, 3, 3);
  trace.call("cudaStreamWaitEvent", 6, 1, 4);
  trace.other(R"({"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","ts":6,"dur":1,"args":{"device":0,"stream":7,)"
              R"("correlation":4,"wait_on_stream":4,"wait_on_cuda_event_record_corr_id":2}})");
  trace.call("cudaLaunchKernel", 8, 1, 5).kernel("gemm", 7, 115, 50, 5);
  const Profile profile = trace.read();
  EXPECT_EQ(profile.unnamed_waits, 0u);
  const Dependencies dependencies = dependencies_of(profile);
  EXPECT_EQ(dependencies.by_time, 0u);
  const std::span<const After> gemm = dependencies.after[dependencies.nodes.size() - 1];
  ASSERT_EQ(gemm.size(), 2u);  // its launch, and the event
  EXPECT_EQ(dependencies.nodes[gemm[1].node].work, Place(0));
  EXPECT_EQ(gemm[1].lag, sim::Time(microseconds(5)));
}

Profile shipped(const std::string& file) {
  const std::string path = std::string(C3SIM_SOURCE_DIR "/validate/reference/") + file;
  return read_kineto(sim::read_measurement_text(path), path);
}

// The issue asks for 3 % of the traced time, from the first kernel to the last.
void expect_within(const std::string& file, const std::string& platform, const std::vector<std::string>& assignments) {
  study::Testbed testbed = testbed_of(platform, assignments);
  Contention contention(testbed, {});
  const Met met = play_unchanged(shipped(file), contention);
  EXPECT_LE(std::abs(sim::to_seconds(met.replayed) / sim::to_seconds(met.measured) - 1.0), 0.03) << file;
}

TEST_F(Replay, FullMeetsShippedTracesWithinThreePercent) {
  const std::string h200 = "h200_workloads/traces/";
  for (const char* const name : {"bert_large_adam_bert_large_1gpu_32x128_128_bf16",
                                 "fsdp_llama8b_2gpu_1x2048_2048_bf16", "local_llama8b_1gpu_1x2048_2048_bf16",
                                 "tp_decode_llama8b_2gpu_8x1_1024_bf16", "tp_prefill_llama8b_2gpu_1x2048_2048_bf16"}) {
    expect_within(h200 + name + ".json.gz", "h200", {"gpus=2"});
  }
  expect_within("traces/mi300x_8gpu_resnet_ddp_rank0.json.gz", "mi300x", {});
}

// Only the moments when the collectives were asked for come from the trace; their times are simulated.
TEST_F(Replay, MeetsAShardedStepWithSimulatedCollectivesAloneWithinThreePercent) {
  study::Testbed testbed = testbed_of("h200", {"gpus=2"});
  Contention contention(testbed, {});
  const Profile profile = shipped("h200_workloads/traces/fsdp_llama8b_2gpu_1x2048_2048_bf16.json.gz");
  const auto run = take_apart(profile, dependencies_of(profile), contention);
  const sim::Time simulated = end_of(play(run, contention, {.waits = true})) - profile.begin();
  const sim::Time traced = profile.end() - profile.begin();
  EXPECT_LE(std::abs(sim::to_seconds(simulated) / sim::to_seconds(traced) - 1.0), 0.03);
}

}  // namespace
}  // namespace c3sim::calibrate
