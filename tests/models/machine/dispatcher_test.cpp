#include "models/machine/dispatcher.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/check.h"

namespace c3sim::models {
namespace {

using sim::operator""_us;

constexpr sim::Time tick{1};
constexpr int xcds = 2;
constexpr int cus_per_xcd = 4;
// Of LDS on a CU; divisible by one to sixteen workgroups.
constexpr int parts_of_a_cu = 720'720;

DispatchSpec oldest_first() { return {DispatchPolicy::oldest_first, sim::Time(0), 1_us}; }
DispatchSpec rotation(sim::Time quantum) { return {DispatchPolicy::rotation, quantum, 1_us}; }
DispatchSpec in_turn(int shader_engines) { return {DispatchPolicy::oldest_first, sim::Time(0), 1_us, shader_engines}; }

// What a workgroup needs of which so many fit a CU.
CuResources one_of(int workgroups) { return {parts_of_a_cu / workgroups, 0, 0}; }

KernelSpec kernel(std::string name, int workgroups) {
  KernelSpec spec;
  spec.workgroup = one_of(1);
  spec.name = std::move(name);
  spec.workgroups = workgroups;
  return spec;
}

// Kernels on a GPU of 2 x 4 CUs, each of whose workgroups runs for a fixed time, and a record of what ran where and
// when.
class Gpu2x4 {
 public:
  struct Start {
    std::string kernel;
    sim::Time at;  // of the first instruction
    Cohort cohort;
  };

  explicit Gpu2x4(DispatchSpec spec) : dispatcher_(simulator_, spec, xcds, cus_per_xcd, one_of(1), "gpu0") {}

  void launch(sim::Time at, KernelSpec spec, sim::Time duration) {
    const std::string name = spec.name;
    simulator_.spawn(name, run_kernel(*this, at, std::move(spec), duration));
  }
  void run() { simulator_.run(); }

  const std::vector<Start>& starts() const { return starts_; }
  sim::Time end(const std::string& kernel) const { return ends_.at(kernel); }
  sim::Time first_start(const std::string& kernel) const {
    return std::find_if(starts_.begin(), starts_.end(), [&](const Start& s) { return s.kernel == kernel; })->at;
  }
  std::vector<Cohort::Placement> placements(const std::string& kernel) const {
    std::vector<Cohort::Placement> all;
    for (const Start& start : starts_) {
      if (start.kernel != kernel) continue;
      const std::vector<Cohort::Placement> some = start.cohort.placements();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  int most_parts_held() const { return most_parts_held_; }  // of any one CU, at any time

 private:
  static sim::Task<> run_kernel(Gpu2x4& gpu, sim::Time at, KernelSpec spec, sim::Time duration) {
    co_await gpu.simulator_.delay(at);
    const std::string name = spec.name;
    const int parts = static_cast<int>(spec.workgroup.lds);
    CohortBody body = [&gpu, name, parts, duration](const Cohort& cohort) {
      return run_cohort(gpu, name, parts, duration, cohort);
    };
    co_await gpu.dispatcher_.run(std::move(spec), std::move(body));
    gpu.ends_[name] = gpu.simulator_.now();
  }
  static sim::Task<> run_cohort(Gpu2x4& gpu, std::string name, int parts, sim::Time duration, Cohort cohort) {
    gpu.starts_.push_back({name, gpu.simulator_.now(), cohort});
    gpu.hold(cohort, parts);
    co_await gpu.simulator_.delay(duration);
    gpu.hold(cohort, -parts);
  }
  void hold(const Cohort& cohort, int parts) {
    for (const Cohort::Placement& placement : cohort.placements()) {
      int& held = held_[{placement.xcd, placement.cu}];
      held += parts;
      most_parts_held_ = std::max(most_parts_held_, held);
    }
  }

  sim::Simulator simulator_;
  Dispatcher dispatcher_;
  std::vector<Start> starts_;
  std::map<std::string, sim::Time> ends_;
  std::map<std::pair<int, int>, int> held_;  // parts of each CU
  int most_parts_held_ = 0;
};

// Placed at once, first instruction after the launch, retired after the body, and nothing else.
TEST(Dispatcher, OneWorkgroupTakesItsLaunchAndItsWork) {
  Gpu2x4 gpu(oldest_first());
  gpu.launch(3_us, kernel("a", 1), 10_us);
  gpu.run();
  EXPECT_EQ(gpu.first_start("a"), 4_us);
  EXPECT_EQ(gpu.end("a"), 14_us);
}

TEST(Dispatcher, WorkgroupsAreDealtToXcdsInTurn) {
  Gpu2x4 gpu(oldest_first());
  gpu.launch(0_us, kernel("a", 5), 10_us);
  gpu.run();
  ASSERT_EQ(gpu.starts().size(), 1u) << "what starts together on CUs of its own is one cohort";
  const Cohort& cohort = gpu.starts().front().cohort;
  for (const Cohort::Placement& placement : cohort.placements()) EXPECT_EQ(placement.xcd, placement.workgroup % xcds);
  EXPECT_EQ(cohort.per_xcd, (std::vector<int>{3, 2}));
  EXPECT_DOUBLE_EQ(cohort.busiest_share(), 0.6);
}

TEST(Dispatcher, WorkgroupsSpreadOverCusBeforeTheyShareOne) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec a = kernel("a", 8);
  a.workgroup = one_of(4);
  gpu.launch(0_us, a, 10_us);
  gpu.run();
  EXPECT_EQ(gpu.most_parts_held(), parts_of_a_cu / 4);
}

// Eight CUs: eight workgroups are one wave of 1 + 10 us, nine are two.
TEST(Dispatcher, WavesQuantise) {
  for (const auto& [workgroups, waves] : {std::pair{8, 1}, {9, 2}, {16, 2}, {17, 3}}) {
    Gpu2x4 gpu(oldest_first());
    gpu.launch(0_us, kernel("a", workgroups), 10_us);
    gpu.run();
    EXPECT_EQ(gpu.end("a"), waves * 11_us) << workgroups;
  }
}

// Workgroups 0, 2 and 4 on one XCD, 1 and 3 on the other, one CU each: the first XCD needs three waves.
TEST(Dispatcher, AnXcdDoesNotTakeOverWorkOfAnother) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec a = kernel("a", 5);
  a.stream.mask = {0, 1};
  gpu.launch(0_us, a, 10_us);
  gpu.run();
  EXPECT_EQ(gpu.end("a"), 33_us);
}

// CUs 1 and 2 of two XCDs: eight workgroups take two waves.
TEST(Dispatcher, AMaskIsRespected) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec a = kernel("a", 8);
  a.stream.mask = {1, 3};
  gpu.launch(0_us, a, 10_us);
  gpu.run();
  std::set<std::pair<int, int>> cus;
  for (const Cohort::Placement& placement : gpu.placements("a")) cus.insert({placement.xcd, placement.cu});
  EXPECT_EQ(cus, (std::set<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 1}, {1, 2}}));
  EXPECT_EQ(gpu.end("a"), 22_us);
}

TEST(Dispatcher, KernelsWithDisjointMasksDoNotMeet) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec a = kernel("a", 8);
  a.stream.mask = {0, 2};
  KernelSpec b = kernel("b", 8);
  b.stream.mask = {2, 4};
  gpu.launch(0_us, a, 10_us);
  gpu.launch(0_us, b, 20_us);
  gpu.run();
  EXPECT_EQ(gpu.end("a"), 22_us);
  EXPECT_EQ(gpu.end("b"), 42_us);
}

TEST(Dispatcher, AMaskWithoutCusOfThisGpuIsOurMistake) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec a = kernel("a", 1);
  a.stream.mask = {3, 5};
  gpu.launch(0_us, a, 10_us);
  EXPECT_THROW(gpu.run(), sim::InternalError);
}

TEST(Dispatcher, TwoWorkgroupsShareACuWhereEachNeedsHalf) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec a = kernel("a", 16);
  a.workgroup = one_of(2);
  gpu.launch(0_us, a, 10_us);
  gpu.run();
  EXPECT_EQ(gpu.end("a"), 11_us);
  EXPECT_EQ(gpu.most_parts_held(), parts_of_a_cu);
}

// Sixteen workgroups fill eight CUs with two each. The launch of 1 us is waited for where a wave leaves the CUs empty,
// and hidden where neighbours work on them.
TEST(Dispatcher, WorkgroupsThatFollowAreLaunchedWhileTheirNeighboursWork) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec a = kernel("a", 48);
  a.workgroup = one_of(2);
  gpu.launch(0_us, a, 10_us);
  gpu.run();
  EXPECT_EQ(gpu.end("a"), 1_us + 3 * 10_us);
}

KernelSpec staying_kernel(std::string name, int pieces, Dealing dealing) {
  KernelSpec spec = kernel(std::move(name), pieces);
  spec.dealing = dealing;
  return spec;
}

// "b" holds four of the eight CUs until 12 us; "a" has eight pieces of 20 us.
TEST(Dispatcher, ResidentWorkgroupsKeepToTheCusThatTheyFoundFree) {
  for (const auto& [dealing, end] : {std::pair{Dealing::resident, 43_us}, std::pair{Dealing::stealing, 33_us}}) {
    Gpu2x4 gpu(oldest_first());
    gpu.launch(0_us, kernel("b", 4), 11_us);
    gpu.launch(1_us, staying_kernel("a", 8, dealing), 20_us);
    gpu.run();
    EXPECT_EQ(gpu.end("a"), end);
    EXPECT_EQ(gpu.placements("a").size(), 8u);
  }
}

// After a quantum of 10 us "b" would get the CUs that fall free.
TEST(Dispatcher, ResidentWorkgroupsLeaveTheirCusToNobody) {
  for (const auto& [dealing, start] :
       {std::pair{Dealing::per_xcd, 12_us}, std::pair{Dealing::resident, 23_us}, std::pair{Dealing::stealing, 23_us}}) {
    Gpu2x4 gpu(rotation(10_us));
    gpu.launch(0_us, staying_kernel("a", 16, dealing), 10_us);
    gpu.launch(5_us, kernel("b", 8), 10_us);
    gpu.run();
    EXPECT_EQ(gpu.first_start("b"), start);
  }
}

// Three pieces on two XCDs, of which "b" holds one: each piece is done once, where there is room.
TEST(Dispatcher, PiecesOfAnXcdWithoutRoomAreDoneByTheOthers) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec other = kernel("b", 8);
  gpu.launch(0_us, std::move(other), 100_us);
  gpu.launch(1_us, staying_kernel("a", 3, Dealing::resident), 10_us);
  gpu.run();
  EXPECT_EQ(gpu.end("a"), 112_us);
  EXPECT_EQ(gpu.placements("a").size(), 3u);
}

TEST(Dispatcher, KernelsShareACuAsFarAsEveryResourceAllows) {
  EXPECT_EQ(workgroups_that_fit({64, 512, 32}, {24, 256, 4}), 2) << "two by registers, two by LDS, eight by waves";
  EXPECT_EQ(workgroups_that_fit({64, 512, 32}, {24, 128, 4}), 2) << "by LDS";
  EXPECT_EQ(workgroups_that_fit({64, 512, 32}, {8, 64, 16}), 2) << "by waves";
  CuResources room{64, 512, 32};
  room += -CuResources{24, 256, 4};
  EXPECT_EQ(workgroups_that_fit(room, {32, 128, 4}), 1) << "of 40 left of LDS";
  EXPECT_EQ(workgroups_that_fit(room, {41, 128, 4}), 0);
  room += {24, 256, 4};
  EXPECT_EQ(room, (CuResources{64, 512, 32}));
}

// Only those alike run alike: of two on a CU one is ahead of the other.
TEST(Dispatcher, WorkgroupsOfOneCuAreInDifferentCohorts) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec a = kernel("a", 16);
  a.workgroup = one_of(2);
  gpu.launch(0_us, a, 10_us);
  gpu.run();
  ASSERT_EQ(gpu.starts().size(), 2u);
  for (const Gpu2x4::Start& start : gpu.starts()) {
    std::set<std::pair<int, int>> cus;
    for (const Cohort::Placement& placement : start.cohort.placements()) cus.insert({placement.xcd, placement.cu});
    EXPECT_EQ(cus.size(), 8u);
  }
}

TEST(Dispatcher, AKernelFillsTheHalvesThatAnotherLeaves) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec a = kernel("a", 8);
  a.workgroup = one_of(2);
  KernelSpec b = a;
  b.name = "b";
  gpu.launch(0_us, a, 10_us);
  gpu.launch(5_us, b, 10_us);
  gpu.launch(5_us, kernel("whole", 8), 10_us);
  gpu.run();
  EXPECT_EQ(gpu.first_start("b"), 6_us);
  // b holds its halves until 5 + 1 + 10 us, longer than a.
  EXPECT_EQ(gpu.first_start("whole"), 17_us);
}

// What retires makes room at that instant: the first wave ends at 11 us, b's first instruction is the launch later.
TEST(Dispatcher, RetirementFreesCusForTheNextKernelAtOnce) {
  Gpu2x4 gpu(oldest_first());
  gpu.launch(0_us, kernel("a", 8), 10_us);
  gpu.launch(2_us, kernel("b", 8), 10_us);
  gpu.run();
  EXPECT_EQ(gpu.first_start("b"), 12_us);
}

// a has three waves, ending at 11, 22 and 33 us.
TEST(Dispatcher, OldestFirstStarvesALaterKernelWhileTheOlderHasPendingWorkgroups) {
  Gpu2x4 gpu(oldest_first());
  gpu.launch(0_us, kernel("a", 24), 10_us);
  gpu.launch(5_us, kernel("b", 2), 10_us);
  gpu.run();
  EXPECT_EQ(gpu.first_start("b"), 34_us);
}

// The last wave of a has one workgroup on each XCD: six CUs are left for b.
TEST(Dispatcher, ALaterKernelGetsWhatTheLastWaveLeaves) {
  Gpu2x4 gpu(oldest_first());
  gpu.launch(0_us, kernel("a", 18), 10_us);
  gpu.launch(5_us, kernel("b", 6), 10_us);
  gpu.run();
  EXPECT_EQ(gpu.first_start("b"), 23_us);
  EXPECT_EQ(gpu.end("b"), gpu.end("a"));
}

// a has held its turn since 0 when its first wave retires at 11 us.
TEST(Dispatcher, RotationPassesTheTurnOnAfterAQuantum) {
  Gpu2x4 gpu(rotation(11_us));
  gpu.launch(0_us, kernel("a", 32), 10_us);
  gpu.launch(5_us, kernel("b", 8), 10_us);
  gpu.run();
  EXPECT_EQ(gpu.first_start("b"), 12_us);
}

TEST(Dispatcher, RotationKeepsTheTurnUntilTheLastTickOfTheQuantum) {
  Gpu2x4 gpu(rotation(11_us + tick));
  gpu.launch(0_us, kernel("a", 32), 10_us);
  gpu.launch(5_us, kernel("b", 8), 10_us);
  gpu.run();
  EXPECT_EQ(gpu.first_start("b"), 23_us);
}

// CUs 0 and 2 belong to one shader engine, 1 and 3 to the other. A workgroup of another kernel sits on CU 0 of each
// XCD. Of the three that come to an XCD the first takes CU 2, the second CU 1. The third is due where there is no room,
// and CU 3 stays idle until CU 2 falls free.
TEST(Dispatcher, AWorkgroupThatIsDueWhereThereIsNoRoomWaits) {
  for (const auto& [engines, end] : std::map<int, sim::Time>{{1, 12_us}, {2, 23_us}}) {
    Gpu2x4 gpu(in_turn(engines));
    gpu.launch(0_us, kernel("sits", 2), 100_us);
    gpu.launch(1_us, kernel("dealt", 6), 10_us);
    gpu.run();
    EXPECT_EQ(gpu.end("dealt"), end) << engines << " shader engines";
  }
}

// The same with 14 workgroups for each XCD: the shader engine with one CU left takes seven of them one after the other,
// where three CUs would take five rounds.
TEST(Dispatcher, TheFullestShaderEngineDecidesHowLongAKernelTakes) {
  for (const auto& [engines, rounds] : std::map<int, int>{{1, 5}, {2, 7}}) {
    Gpu2x4 gpu(in_turn(engines));
    gpu.launch(0_us, kernel("sits", 2), 1000_us);
    gpu.launch(1_us, kernel("dealt", 28), 10_us);
    gpu.run();
    EXPECT_EQ(gpu.end("dealt"), 1_us + rounds * 11_us) << engines << " shader engines";
  }
}

// Turns follow the numbers of CUs, so nothing is held up where all are free, even if shader engines differ by a CU.
TEST(Dispatcher, AFreeGpuTakesAWorkgroupForEachCuWhateverItsShaderEngines) {
  for (const int engines : {1, 2, 3, 4}) {
    Gpu2x4 gpu(in_turn(engines));
    gpu.launch(0_us, kernel("a", 24), 10_us);
    gpu.run();
    EXPECT_EQ(gpu.end("a"), 33_us) << engines << " shader engines";
  }
}

// Workgroups that stay take their next piece on the CU where they are, out of turn: three pieces a CU are three times
// a piece. Those for which there was no room at the start have nothing to do.
TEST(Dispatcher, WorkgroupsThatStayTakeNoTurn) {
  Gpu2x4 gpu(in_turn(2));
  gpu.launch(0_us, kernel("sits", 2), 1000_us);
  KernelSpec stays = kernel("stays", 12);
  stays.dealing = Dealing::resident;
  gpu.launch(1_us, stays, 10_us);
  gpu.run();
  EXPECT_EQ(gpu.end("stays"), 1_us + 3 * 11_us);
  for (const Cohort::Placement& placement : gpu.placements("stays"))
    EXPECT_TRUE(placement.cu == 1 || placement.cu == 2);
}

// With a quantum of one wave two kernels alternate: a at 0, b at 11, a at 22, b at 33 us.
TEST(Dispatcher, RotationComesRoundToTheFirstQueue) {
  Gpu2x4 gpu(rotation(11_us));
  gpu.launch(0_us, kernel("a", 16), 10_us);
  gpu.launch(5_us, kernel("b", 16), 10_us);
  gpu.run();
  EXPECT_EQ(gpu.end("a"), 33_us);
  EXPECT_EQ(gpu.end("b"), 44_us);
}

TEST(Dispatcher, AQueueThatIsAloneKeepsItsTurn) {
  Gpu2x4 gpu(rotation(1_us));
  gpu.launch(0_us, kernel("a", 32), 10_us);
  gpu.run();
  EXPECT_EQ(gpu.end("a"), 44_us);
}

TEST(Dispatcher, AHigherPriorityGoesFirstAtTheNextRetirement) {
  for (const DispatchSpec& spec : {oldest_first(), rotation(1000_us)}) {
    Gpu2x4 gpu(spec);
    KernelSpec urgent = kernel("urgent", 8);
    urgent.stream.priority = 1;
    gpu.launch(0_us, kernel("a", 24), 10_us);
    gpu.launch(4_us, kernel("b", 8), 10_us);
    gpu.launch(5_us, urgent, 10_us);
    gpu.run();
    EXPECT_EQ(gpu.first_start("urgent"), 12_us) << "running workgroups are not preempted";
    EXPECT_EQ(gpu.end("a"), 44_us);
    EXPECT_EQ(gpu.first_start("b"), 45_us);
  }
}

// The turn is of a kernel that needs whole CUs while only halves are free: these go to the others.
TEST(Dispatcher, WhatTheTurnHolderCannotUseGoesByPriority) {
  Gpu2x4 gpu(oldest_first());
  KernelSpec half = kernel("half", 8);
  half.workgroup = one_of(2);
  KernelSpec whole = kernel("whole", 8);
  whole.stream.priority = 2;
  KernelSpec low = half;
  low.name = "low";
  KernelSpec middle = half;
  middle.name = "middle";
  middle.stream.priority = 1;
  gpu.launch(0_us, half, 10_us);
  gpu.launch(2_us, whole, 10_us);
  gpu.launch(2_us, low, 10_us);
  gpu.launch(2_us, middle, 10_us);
  gpu.run();
  EXPECT_EQ(gpu.first_start("middle"), 3_us);
  // half leaves its halves at 11 us, when whole CUs are not free.
  EXPECT_EQ(gpu.first_start("low"), 12_us);
  // middle ends at 13, low at 22 us.
  EXPECT_EQ(gpu.first_start("whole"), 23_us);
}

struct RandomKernel {
  int workgroups;
  int per_cu;
  int mask_begin;
  int mask_width;  // 0: no mask
  int priority;
  int arrival_us;
  int duration_us;
};

std::vector<RandomKernel> random_kernels() {
  const auto one = rc::gen::construct<RandomKernel>(
      rc::gen::inRange(1, 60), rc::gen::inRange(1, 5), rc::gen::inRange(0, 4), rc::gen::inRange(0, 4),
      rc::gen::inRange(0, 3), rc::gen::inRange(0, 40), rc::gen::inRange(0, 20));
  return *rc::gen::resize(8, rc::gen::nonEmpty(rc::gen::container<std::vector<RandomKernel>>(one)));
}

RC_GTEST_PROP(DispatcherConservation, EveryWorkgroupRunsOnceWhereItMayAndNoCuIsOverfull, ()) {
  const std::vector<RandomKernel> kernels = random_kernels();
  Gpu2x4 gpu(*rc::gen::element(oldest_first(), rotation(7_us), in_turn(2), in_turn(3)));
  std::vector<KernelSpec> specs;
  for (const RandomKernel& random : kernels) {
    KernelSpec spec = kernel("k" + std::to_string(specs.size()), random.workgroups);
    spec.workgroup = one_of(random.per_cu);
    if (random.mask_width > 0) {
      spec.stream.mask = {random.mask_begin, std::min(cus_per_xcd, random.mask_begin + random.mask_width)};
    }
    spec.stream.priority = random.priority;
    specs.push_back(spec);
    gpu.launch(random.arrival_us * 1_us, spec, random.duration_us * 1_us);
  }
  gpu.run();
  for (const KernelSpec& spec : specs) {
    std::vector<int> ran;
    for (const Cohort::Placement& placement : gpu.placements(spec.name)) {
      ran.push_back(placement.workgroup);
      const CuMask& mask = spec.stream.mask;
      RC_ASSERT(mask.all() || (placement.cu >= mask.begin && placement.cu < mask.end));
      RC_ASSERT(placement.xcd == placement.workgroup % xcds);
    }
    std::sort(ran.begin(), ran.end());
    std::vector<int> all;
    for (int workgroup = 0; workgroup < spec.workgroups; ++workgroup) all.push_back(workgroup);
    RC_ASSERT(ran == all);
  }
  RC_ASSERT(gpu.most_parts_held() <= parts_of_a_cu);
}

// No faster than its slots allow, and, as the only kernel, no slower: the XCD with most workgroups takes as many waves
// as these fill its slots. Each waits for its launch where a workgroup has a CU for itself, else the first one does.
RC_GTEST_PROP(DispatcherBandwidth, AKernelAloneTakesTheWavesOfItsBusiestXcd, ()) {
  const int workgroups = *rc::gen::inRange(1, 200);
  const int per_cu = *rc::gen::inRange(1, 17);
  Gpu2x4 gpu(*rc::gen::element(oldest_first(), rotation(1_us), in_turn(2), in_turn(3), in_turn(4)));
  KernelSpec spec = kernel("a", workgroups);
  spec.workgroup = one_of(per_cu);
  gpu.launch(0_us, spec, 10_us);
  gpu.run();
  const int on_busiest = (workgroups + xcds - 1) / xcds;
  const int slots = cus_per_xcd * per_cu;
  const int waves = (on_busiest + slots - 1) / slots;
  RC_ASSERT(gpu.end("a") == waves * 10_us + (per_cu == 1 ? waves : 1) * 1_us);
}

}  // namespace
}  // namespace c3sim::models
