// Fusing a GEMM with its collective loses and gains nothing except what a trigger costs and what memory can add.
#include "models/collectives/fused_gemm.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "models/collectives/collective.h"
#include "models/kernels/gemm.h"
#include "tests/models/collectives/collective_fixture.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

const std::vector<std::string> with_adders{"gpus=4", "host.threads=per_gpu", "gpu.memory.near_memory=hbm",
                                           "gpu.memory.tracker.entries=100000"};

PlatformSpec four_gpus(const std::vector<std::string>& more = {}) {
  std::vector<std::string> assignments = with_adders;
  assignments.insert(assignments.end(), more.begin(), more.end());
  PlatformSpec platform = mi300x(assignments);
  platform.gpu.memory.metered = true;
  return platform;
}

FusedSpec fused_spec(const std::string& trigger, FusedPath path = FusedPath::direct, std::int64_t pieces = 4) {
  return {.gemm = {4096, 8192, 4096}, .path = path, .trigger = trigger_named(trigger), .pieces = pieces};
}

struct SeenOfFused {
  sim::Time time{0};
  sim::Time gemm{0};
  MovedBytes moved{};
};

FusedSpec all_reduce(FusedSpec spec) {
  spec.kind = CollectiveKind::all_reduce;
  return spec;
}

sim::Task<> prepare_and_run_fused(Node& node, FusedGemm& fused, SeenOfFused& seen) {
  co_await fused.prepare();
  const sim::Time start = node.simulator().now();
  co_await fused.run();
  seen.time = node.simulator().now() - start;
  seen.gemm = fused.gemm_ended() - start;
}

SeenOfFused run_fused(const PlatformSpec& platform, const FusedSpec& spec, Symmetry symmetry = Symmetry::all_alike) {
  EXPECT_EQ(why_impossible(spec, platform), "");
  LoneNode node(platform, symmetry);
  FusedGemm fused(node, spec, {});
  SeenOfFused seen;
  node.simulator().spawn("fused", prepare_and_run_fused(node, fused, seen));
  node.simulator().run();
  seen.moved = node.gpu(0).memory().moved();
  for (const sim::ResourceId port : node.fabric().ports(0)) seen.moved.links += node.network().served(port);
  return seen;
}

sim::Time time_of_gemm_alone(const PlatformSpec& platform, const GemmShape& shape) {
  LoneNode node(platform, Symmetry::all_alike);
  return time_of(node, run_gemm(node, shape));
}

// Each GPU sums what three others send: as many sums for 32-bit products as for 16-bit ones. Where the vector rate
// bounds the sums, halving it therefore costs both the same time.
TEST(FusedGemms, AsManySumsAreAddedUpOfWideElementsAsOfNarrowOnes) {
  const auto time = [](Dtype dtype, const std::string& rate) {
    FusedSpec spec = fused_spec("flag");
    spec.gemm.dtype = dtype;
    return run_fused(four_gpus({"gpu.memory.near_memory=none", "gpu.vector_flops_per_cycle_per_cu=" + rate}), spec)
        .time;
  };
  const auto cost = [&](Dtype dtype) { return sim::to_microseconds(time(dtype, "0.1") - time(dtype, "0.2")); };
  EXPECT_NEAR(cost(Dtype::fp32) / cost(Dtype::bf16), 1.0, 0.02);
}

// Every GPU does the same, so one GPU that stands for all sees what each of them sees. On a ring it would also see
// acknowledgements on the links that it sends over; a reverse share of 0 removes them.
TEST(FusedGemms, OneGpuStandsForAll) {
  for (const FusedPath path : {FusedPath::direct, FusedPath::ring}) {
    const PlatformSpec platform = four_gpus({"fabric.reverse_share=0"});
    const SeenOfFused one = run_fused(platform, fused_spec("tracker", path));
    const SeenOfFused all = run_fused(platform, fused_spec("tracker", path), Symmetry::none);
    EXPECT_NEAR(sim::to_microseconds(one.time), sim::to_microseconds(all.time), 0.01) << to_string(path);
    EXPECT_NEAR(one.moved.updates, all.moved.updates, 1.0) << to_string(path);
    const FusedSpec gathered = all_reduce(fused_spec("tracker", path));
    EXPECT_NEAR(sim::to_microseconds(run_fused(platform, gathered).time),
                sim::to_microseconds(run_fused(platform, gathered, Symmetry::none).time), 0.01)
        << to_string(path);
  }
}

// An earlier trigger delays the end by no more than its own cost: a notice for each of at most 32 pieces in a row.
RC_GTEST_PROP(FusedGemms, ATrackerIsNoSlowerThanTheKernelsEndButForItsNotices, ()) {
  const auto path = *rc::gen::element(FusedPath::direct, FusedPath::ring);
  FusedSpec spec = fused_spec("tracker", path, std::int64_t{1} << *rc::gen::inRange(0, 4));
  spec.gemm = {1024L * *rc::gen::inRange(1, 5), 4096L * *rc::gen::inRange(1, 3), 512L * *rc::gen::inRange(1, 9)};
  spec.stores = *rc::gen::inRange(0, 2) == 1;
  FusedSpec at_end = spec;
  at_end.trigger = trigger_named("kernel_end");
  static const PlatformSpec platform = four_gpus();
  const sim::Time cost = 32 * platform.gpu.memory.tracker.latency;
  RC_ASSERT(run_fused(platform, spec).time <= run_fused(platform, at_end).time + cost);
}

// Each of 4 GPUs sends 3 shards of S/4 of an array of S bytes, and their receivers add them.
RC_GTEST_PROP(FusedGemms, EachGpuAddsWhatTheOthersSendIt, ()) {
  FusedSpec spec = fused_spec("tracker", FusedPath::direct, std::int64_t{1} << *rc::gen::inRange(0, 5));
  spec.gemm.m = 512L * *rc::gen::inRange(2, 9);
  const double array = 2.0 * static_cast<double>(spec.gemm.m * spec.gemm.n);
  static const PlatformSpec platform = four_gpus();
  RC_ASSERT(std::abs(run_fused(platform, spec).moved.updates / (0.75 * array) - 1.0) < 1e-6);
}

// If the memory adds, no partial sums are stored and read again.
RC_GTEST_PROP(FusedGemms, AddingNearMemoryMovesNoMoreBytes, ()) {
  FusedSpec spec = fused_spec(*rc::gen::element("flag", "tracker", "kernel_end"), FusedPath::direct,
                              std::int64_t{1} << *rc::gen::inRange(0, 4));
  spec.gemm = {1024L * *rc::gen::inRange(1, 5), 4096L * *rc::gen::inRange(1, 3), 512L * *rc::gen::inRange(1, 9)};
  spec.stores = *rc::gen::inRange(0, 2) == 1;
  static const PlatformSpec adders = four_gpus();
  static const PlatformSpec none = four_gpus({"gpu.memory.near_memory=none"});
  const MovedBytes with = run_fused(adders, spec).moved;
  const MovedBytes without = run_fused(none, spec).moved;
  RC_ASSERT(with.hbm_reads <= without.hbm_reads);
  RC_ASSERT(with.hbm_writes <= without.hbm_writes * (1.0 + 1e-9));
}

// If pieces take no time to travel, what remains is the GEMM and what follows the last of its two waves: two fifths of
// the pieces are read, set up and noticed, which takes about 30 us.
TEST(FusedGemms, WithInfiniteLinksTakeAsLongAsTheGemm) {
  const PlatformSpec platform = four_gpus({"fabric.link_rate=100000 GB/s", "gpu.sdma.payload_rate=100000 GB/s",
                                           "gpu.memory.update_rate=100", "gpu.sdma.bytes_in_flight=1 GiB"});
  const FusedSpec spec = fused_spec("tracker", FusedPath::direct, 16);
  const double alone = sim::to_microseconds(time_of_gemm_alone(platform, spec.gemm));
  EXPECT_NEAR(sim::to_microseconds(run_fused(platform, spec).time), alone, 40.0);
  EXPECT_NEAR(sim::to_microseconds(run_fused(platform, all_reduce(spec)).time), alone, 2 * 40.0);
}

// A product with k = 1 takes no time compared with sending 3 shards of 64 MiB over links of 1 GB/s.
TEST(FusedGemms, OfNoWorkTakeAsLongAsTheExchange) {
  FusedSpec spec = fused_spec("tracker");
  spec.gemm = {16384, 8192, 1};
  const PlatformSpec platform = four_gpus({"fabric.link_rate=1 GB/s", "fabric.reverse_share=0"});
  const double link_us = 16384.0 * 2048.0 * 2.0 / 1e9 * 1e6;
  EXPECT_NEAR(sim::to_microseconds(run_fused(platform, spec).time), link_us, 0.02 * link_us);
  // An all-reduce sends twice as much over each link; its ring sends three such shards and three sums over one link.
  spec = all_reduce(spec);
  EXPECT_NEAR(sim::to_microseconds(run_fused(platform, spec).time), 2 * link_us, 0.02 * 2 * link_us);
  spec.path = FusedPath::ring;
  EXPECT_NEAR(sim::to_microseconds(run_fused(platform, spec).time), 6 * link_us, 0.02 * 6 * link_us);
}

// Besides what pieces in flight cost the GEMM, a flag costs it one fence for each wave of its workgroups.
TEST(FusedGemms, PayAFenceAWaveForFlags) {
  const PlatformSpec platform = four_gpus();
  const FusedSpec spec = fused_spec("flag");
  const GemmPlan plan = plan_gemm(platform.gpu, spec.gemm);
  const double slots = platform.gpu.slots(platform.gpu.cus(), plan.kernel.workgroup);
  const double waves = std::ceil(static_cast<double>(plan.pieces()) / slots);
  const double more =
      sim::to_microseconds(run_fused(platform, spec).gemm - run_fused(platform, fused_spec("tracker")).gemm);
  EXPECT_NEAR(more, waves * sim::to_microseconds(platform.shots.fence_latency), 0.3 * more);
}

// A tracker with fewer entries than tiles being stored at once tracks none of the tiles before the kernel ends.
TEST(FusedGemms, ATrackerOfTooFewEntriesIsAsLateAsTheKernelsEnd) {
  const FusedSpec spec = fused_spec("tracker");
  const PlatformSpec wide = four_gpus();
  const PlatformSpec narrow = four_gpus({"gpu.memory.tracker.entries=1"});
  const sim::Time at_end = run_fused(wide, fused_spec("kernel_end")).time;
  EXPECT_LT(run_fused(wide, spec).time, 0.95 * at_end);
  EXPECT_NEAR(sim::to_microseconds(run_fused(narrow, spec).time), sim::to_microseconds(at_end), 5.0);
}

// If tiles wait for a free entry and there are entries for half of the tiles stored at once, half of the tiles count in
// time: the first pieces travel early, though later than with an entry per tile, where no tile waits.
TEST(FusedGemms, TilesThatWaitForAnEntryComeBetween) {
  const FusedSpec spec = fused_spec("tracker");
  const PlatformSpec wide = four_gpus();
  const std::int64_t at_once = stored_at_once(plan_gemm(wide.gpu, spec.gemm), wide.gpu, wide.gpu.cus());
  ASSERT_GT(at_once, 3);
  const std::string half = "gpu.memory.tracker.entries=" + std::to_string(at_once / 2);
  const std::string next_free = "gpu.memory.tracker.full=next_free";
  EXPECT_EQ(run_fused(four_gpus({next_free}), spec).time, run_fused(wide, spec).time);
  const sim::Time waiting = run_fused(four_gpus({half, next_free}), spec).time;
  EXPECT_GT(waiting, run_fused(wide, spec).time);
  EXPECT_LT(waiting, 0.98 * run_fused(four_gpus({half}), spec).time);
}

// For any number of entries, a tile that waits for one counts at the end of the kernel at the latest.
RC_GTEST_PROP(FusedGemms, FullTilesThatWaitForAnEntryAreNoLaterThanTheKernelsEnd, ()) {
  const auto path = *rc::gen::element(FusedPath::direct, FusedPath::ring);
  const PlatformSpec platform = four_gpus(
      {"gpu.memory.tracker.entries=" + std::to_string(*rc::gen::inRange(1, 400)), "gpu.memory.tracker.full=next_free"});
  const sim::Time cost = 32 * platform.gpu.memory.tracker.latency;
  RC_ASSERT(run_fused(platform, fused_spec("tracker", path)).time <=
            run_fused(platform, fused_spec("kernel_end", path)).time + cost);
}

// The second half of an all-reduce carries as many bytes as the first half and adds none.
TEST(FusedGemms, AnAllReduceMovesTwiceTheBytesOfAReduceScatter) {
  const PlatformSpec platform = four_gpus();
  for (const FusedPath path : {FusedPath::direct, FusedPath::ring}) {
    const MovedBytes half = run_fused(platform, fused_spec("tracker", path)).moved;
    const MovedBytes whole = run_fused(platform, all_reduce(fused_spec("tracker", path))).moved;
    EXPECT_NEAR(whole.links / half.links, 2.0, 1e-6) << to_string(path);
    EXPECT_NEAR(whole.updates / half.updates, 1.0, 1e-6) << to_string(path);
  }
}

// Each piece is gathered as soon as it is summed. This takes no longer than gathering all pieces after the last sum,
// plus a notice for each of at most 32 pieces.
RC_GTEST_PROP(FusedGemms, AnAllReduceIsNoSlowerThanAReduceScatterAndAGather, ()) {
  FusedSpec spec =
      fused_spec(*rc::gen::element("flag", "tracker"), FusedPath::direct, std::int64_t{1} << *rc::gen::inRange(0, 4));
  spec.gemm = {1024L * *rc::gen::inRange(1, 5), 4096L * *rc::gen::inRange(1, 3), 512L * *rc::gen::inRange(1, 9)};
  spec.stores = *rc::gen::inRange(0, 2) == 1;
  static const PlatformSpec platform = four_gpus();
  CollectiveSpec gather = collective_of(spec, platform.gpus);
  gather.kind = CollectiveKind::all_gather;
  gather.backend = Backend::sdma;
  const sim::Time apart = run_fused(platform, spec).time + time_on(platform, gather);
  const Trigger trigger = policy_of(spec.trigger).on(platform);
  RC_ASSERT(run_fused(platform, all_reduce(spec)).time <= apart + 32 * trigger.notice);
}

// Gathered pieces feed the GEMM one by one, so both take less time than the GEMM after the gather.
TEST(FusedGemms, BeginWithThePiecesThatAreThere) {
  FusedSpec spec = fused_spec("flag");
  spec.kind = CollectiveKind::all_gather;
  FusedSpec at_end = spec;
  at_end.trigger = trigger_named("kernel_end");
  const PlatformSpec platform = four_gpus();
  for (const FusedPath path : {FusedPath::direct, FusedPath::ring}) {
    spec.path = at_end.path = path;
    EXPECT_LT(run_fused(platform, spec).time, 0.98 * run_fused(platform, at_end).time) << to_string(path);
  }
}

// Stream-K has more workgroups than tiles, and other kernels have tiles that any XCD takes. All of them wait for
// arriving pieces, and the GEMM, by far the longer part, ends little later than alone.
TEST(FusedGemms, GatherForKernelsThatShareOutTheirLastTiles) {
  FusedSpec spec = fused_spec("flag", FusedPath::direct, 8);
  spec.kind = CollectiveKind::all_gather;
  spec.gemm = {2048, 53248, 16384};
  for (const char* const library : {"rocblas", "work_stealing", "persistent", "stream_k"}) {
    const PlatformSpec platform = mi300x({std::string("gpu.gemm.library=") + library});
    const sim::Time alone = time_of_gemm_alone(platform, spec.gemm);
    EXPECT_LT(run_fused(platform, spec).time, 1.25 * alone) << library;
  }
}

// A fused GEMM on two of four GPUs takes as long as on a node of two: the other GPUs take no part in it.
TEST(FusedGemms, OfSomeGpusTakeAsLongAsOnANodeOfThese) {
  FusedSpec spec = fused_spec("tracker");
  const sim::Time alone = run_fused(four_gpus({"gpus=2"}), spec).time;
  spec.gpus = 2;
  EXPECT_NEAR(sim::to_microseconds(run_fused(four_gpus(), spec, Symmetry::none).time), sim::to_microseconds(alone),
              1e-3 * sim::to_microseconds(alone));
}

// The GEMM has as many pieces as divide it, up to eight; it uses a ring if a GPU has one switch port and memory adds.
TEST(FusedGemms, AreCutByTheirTracker) {
  const PlatformSpec mesh = four_gpus();
  const FusedSpec large = by_tracker({4096, 8192, 4096}, 4, mesh);
  EXPECT_EQ(large.pieces, 8);
  EXPECT_EQ(large.path, FusedPath::direct);
  EXPECT_EQ(by_tracker({4096, 8, 4096}, 4, mesh).pieces, 2);
  PlatformSpec port = mesh;
  port.fabric.topology = Topology::fabric_switch;
  EXPECT_EQ(by_tracker({4096, 8192, 4096}, 4, port).path, FusedPath::ring);
  port.gpu.memory.near_memory = NearMemory::none;
  EXPECT_EQ(by_tracker({4096, 8192, 4096}, 4, port).path, FusedPath::direct);
}

// The samples in tests/data/samples hold the other impossible combinations.
TEST(FusedGemms, AreOfGpusThatThePlatformHas) {
  FusedSpec spec = fused_spec("flag");
  spec.gpus = 5;
  EXPECT_EQ(why_impossible(spec, four_gpus()), "pieces travel between GPUs: 2 to 4 are accepted, not 5");
}

}  // namespace
}  // namespace c3sim::models
