#include "study/program/dependent.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "study/program/operation_graph.h"
#include "study/program/scenario.h"
#include "tests/models/model_fixture.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using models::GemmShape;
using Collective = DependentSchedule::Collective;

models::PlatformSpec node_of(int gpus) {
  models::PlatformSpec platform = models::round_platform();
  platform.gpus = platform.fabric.gpus = gpus;
  return platform;
}

template <class T>
std::vector<std::size_t> places_of(const Schedule& schedule) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < schedule.size(); ++place) {
    if (std::holds_alternative<T>(schedule[place].work)) places.push_back(place);
  }
  return places;
}

// Returns all operations that have ended when this one begins.
std::set<std::size_t> before(const Schedule& schedule, std::size_t place) {
  std::set<std::size_t> earlier;
  std::vector<std::size_t> open = schedule[place].after;
  while (!open.empty()) {
    const std::size_t one = open.back();
    open.pop_back();
    if (!earlier.insert(one).second) continue;
    open.insert(open.end(), schedule[one].after.begin(), schedule[one].after.end());
  }
  return earlier;
}

// Returns by peer the bytes that copies bring to a GPU or take from it; every GPU has the same copies. The entry
// no_peer has the bytes that collectives gather or scatter.
constexpr int no_peer = -1;
std::map<int, double> moved(const Schedule& schedule, const std::set<std::size_t>& of) {
  std::map<int, double> bytes;
  for (const std::size_t place : of) {
    const Work& work = schedule[place].work;
    if (const auto* const copy = std::get_if<models::SdmaCopySpec>(&work)) {
      bytes[copy->pull ? copy->from : copy->to] += copy->bytes.value();
    }
    if (const auto* const spec = std::get_if<models::CollectiveSpec>(&work)) bytes[no_peer] += spec->bytes.value();
  }
  return bytes;
}

DependentSchedule named(std::string_view name) {
  const auto all = sim::choices_of(all_dependent_schedules());
  return std::ranges::find(all, name, &decltype(all)::value_type::first)->second;
}

TEST(DependentSchedules, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const DependentSchedule& schedule : all_dependent_schedules()) {
    EXPECT_TRUE(names.insert(to_string(schedule)).second) << to_string(schedule);
    EXPECT_EQ(named(to_string(schedule)), schedule);
  }
}

TEST(DependentSchedules, GatherKTimesNElementsOfTwoBytes) {
  EXPECT_EQ(gathered_bytes({7168, 8192, 8192}), sim::Bytes(134217728.0)) << "as dependent.csv has it of d1";
}

// Each of 8 GPUs has an eighth of the tokens. The GEMMs are one per piece; one per shard; 8 steps of an eighth of every
// shard; 8 steps and the own shard; one for each of 8 pieces of 7 peers and the own shard, or of all 8 GPUs.
TEST(DependentSchedules, CutTokensOrTheContractionIntoAsManyGemmsAsTheirNamesSay) {
  struct Row {
    std::string name;
    std::size_t gemms;
    GemmShape first;
  };
  const std::vector<Row> rows{{"gemm_8_row_pieces", 8, {512, 128, 256}},
                              {"gemm_64_row_pieces", 64, {512, 16, 256}},
                              {"gemm_8_k_pieces", 8, {512, 1024, 32}},
                              {"serial_rccl", 1, {512, 1024, 256}},
                              {"serial_sdma", 1, {512, 1024, 256}},
                              {"shard_overlap", 8, {512, 128, 256}},
                              {"finer_uniform_fused_1d", 8, {512, 128, 256}},
                              {"finer_hetero_fused_1d", 9, {512, 128, 256}},
                              {"finer_hetero_unfused_1d", 57, {512, 128, 256}},
                              {"finer_uniform_unfused_1d", 64, {512, 16, 256}},
                              {"finer_uniform_fused_2d", 8, {512, 1024, 32}},
                              {"rccl_finer_uniform_fused_1d", 8, {512, 128, 256}},
                              {"scatter_serial_rccl", 1, {512, 1024, 256}},
                              {"scatter_shard_overlap", 8, {512, 128, 256}},
                              {"scatter_finer_uniform_fused_2d", 8, {64, 1024, 256}},  // 1/8 of m, all tokens
                              {"scatter_finer_hetero_fused_2d", 9, {64, 896, 256}},    // 1/8 of m, 7/8 of tokens
                              {"scatter_finer_hetero_unfused_1d", 57, {512, 16, 256}}};
  for (const auto& [name, gemms, first] : rows) {
    const Schedule operations = operations_of(named(name), {512, 1024, 256}, node_of(8));
    const std::vector<std::size_t> places = places_of<GemmShape>(operations);
    EXPECT_EQ(places.size(), gemms) << name;
    EXPECT_EQ(std::get<GemmShape>(operations[places.front()].work), first) << name;
  }
}

TEST(DependentSchedules, ScatterWhatWasMultipliedAndAddItUp) {
  const GemmShape shape{512, 1024, 256};
  const Schedule by_kernels = operations_of(named("scatter_serial_rccl"), shape, node_of(4));
  ASSERT_EQ(by_kernels.size(), 2u);
  const auto& scatter = std::get<models::CollectiveSpec>(by_kernels[1].work);
  EXPECT_EQ(scatter.kind, models::CollectiveKind::reduce_scatter);
  EXPECT_EQ(scatter.bytes, scattered_bytes(shape));
  const Schedule by_engines = operations_of(named("scatter_serial_sdma"), shape, node_of(4));
  ASSERT_EQ(by_engines.size(), 5u);
  // The sum reads its own shard and three others, 256 tokens x 512 elements of 2 bytes each, with three additions each.
  const models::ElementwiseSpec sum{sim::Bytes(4.0 * 256 * 512 * 2), sim::Bytes(1.0 * 256 * 512 * 2),
                                    sim::Flops(3.0 * 256 * 512)};
  EXPECT_EQ(by_engines[4].work, Work(sum));
}

// 1022 tokens are 255.5 for each of 4 GPUs; schedules without shards can still cut whole pieces of them.
TEST(DependentSchedules, NeedEqualShardsWhereTheyCutShards) {
  const GemmShape shape{512, 1022, 256};
  EXPECT_EQ(why_impossible(named("shard_overlap"), shape, node_of(4)),
            "1022 tokens (n) do not lie on 4 GPUs in equal shards: multiples of 4 are accepted");
  for (const DependentSchedule& schedule : all_dependent_schedules()) {
    const bool whole = schedule.collective == Collective::none || to_string(schedule) == "serial_rccl";
    EXPECT_EQ(why_impossible(schedule, shape, node_of(4)).empty(), whole) << to_string(schedule);
    EXPECT_EQ(why_impossible(schedule, shape, node_of(2)), "") << to_string(schedule);
  }
}

// 24 tokens of each of 2 GPUs in 8 pieces are 3 each; 20 are 2, 3, 2, 3 and so on; 3 are a piece of one each.
TEST(DependentSchedules, CutWholeTokens) {
  const auto tokens = [](std::int64_t shard) {
    std::vector<std::int64_t> found;
    const Schedule operations = operations_of(named("finer_uniform_fused_1d"), {64, 2 * shard, 64}, node_of(2));
    for (const std::size_t place : places_of<GemmShape>(operations)) {
      found.push_back(std::get<GemmShape>(operations[place].work).n / 2);
    }
    return found;
  };
  EXPECT_THAT(tokens(24), ElementsAre(3, 3, 3, 3, 3, 3, 3, 3));
  EXPECT_THAT(tokens(20), ElementsAre(2, 3, 2, 3, 2, 3, 2, 3));
  EXPECT_THAT(tokens(3), ElementsAre(1, 1, 1));
}

// The properties hold for every schedule and any shape whose tokens lie on the GPUs in equal shards.
struct Case {
  DependentSchedule schedule;
  GemmShape shape;
  int gpus;
  Schedule operations;
};

Case any_case() {
  const auto all = all_dependent_schedules();
  const DependentSchedule schedule = *rc::gen::elementOf(std::vector(all.begin(), all.end()));
  const int gpus = *rc::gen::element(2, 3, 4, 8);
  const auto extent = [](std::int64_t below) { return *rc::gen::inRange<std::int64_t>(1, below); };
  const GemmShape shape{
      extent(1000),
      gpus * *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 20), rc::gen::inRange<std::int64_t>(1, 5000)),
      *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 20), rc::gen::inRange<std::int64_t>(1, 5000))};
  return {schedule, shape, gpus, operations_of(schedule, shape, node_of(gpus))};
}

double whole_bytes(const Case& one) {
  return (one.schedule.collective == Collective::scatter ? scattered_bytes(one.shape) : gathered_bytes(one.shape))
      .value();
}

RC_GTEST_PROP(DependentSchedulesProperty, MultiplyAllOfItOnce, ()) {
  const Case one = any_case();
  double flops = 0.0;
  for (const std::size_t place : places_of<GemmShape>(one.operations)) {
    const auto& piece = std::get<GemmShape>(one.operations[place].work);
    RC_ASSERT(piece.m > 0 && piece.n > 0 && piece.k > 0);
    flops += piece.flops().value();  // exact, as whole numbers below 2^53
  }
  RC_ASSERT(flops == one.shape.flops().value());
}

RC_GTEST_PROP(DependentSchedulesProperty, MoveEveryShardOnceBetweenEveryTwoGpus, ()) {
  const Case one = any_case();
  RC_PRE(one.schedule.collective != Collective::none);
  std::set<std::size_t> all;
  for (std::size_t place = 0; place < one.operations.size(); ++place) all.insert(place);
  const double whole = whole_bytes(one);
  const auto bytes = moved(one.operations, all);
  if (one.schedule.backend == models::Backend::rccl) {
    RC_ASSERT(bytes == (std::map<int, double>{{no_peer, whole}}));
    return;
  }
  RC_ASSERT(bytes.size() == static_cast<std::size_t>(one.gpus - 1));
  for (const auto& [peer, sum] : bytes) {
    RC_ASSERT(peer > 0);
    RC_ASSERT(sum == whole / one.gpus);
  }
}

RC_GTEST_PROP(DependentSchedulesProperty, MultiplyOnlyWhatHasArrived, ()) {
  const Case one = any_case();
  RC_PRE(one.schedule.collective == Collective::gather);
  const double shard = whole_bytes(one) / one.gpus;
  double multiplied = 0.0;  // bytes of B
  for (const std::size_t place : places_of<GemmShape>(one.operations)) {
    const auto& piece = std::get<GemmShape>(one.operations[place].work);
    multiplied += gathered_bytes({1, piece.n, piece.k}).value();
    double there = shard;  // the own shard and what came; a collective's result has the own part
    for (const auto& [peer, sum] : moved(one.operations, before(one.operations, place))) {
      there += peer == no_peer ? sum * (one.gpus - 1) / one.gpus : sum;
    }
    RC_ASSERT(multiplied <= there + 1e-6 * shard);
  }
}

// A GPU multiplies data before they leave: all bytes of C that go to others or into collectives, over all shards.
RC_GTEST_PROP(DependentSchedulesProperty, ScatterOnlyWhatWasMultiplied, ()) {
  const Case one = any_case();
  RC_PRE(one.schedule.collective == Collective::scatter);
  double left = 0.0;
  for (std::size_t place = 0; place < one.operations.size(); ++place) {
    const Work& work = one.operations[place].work;
    if (std::holds_alternative<GemmShape>(work)) continue;
    if (const auto* const copy = std::get_if<models::SdmaCopySpec>(&work)) left += copy->bytes.value();
    if (const auto* const collective = std::get_if<models::CollectiveSpec>(&work)) left += collective->bytes.value();
    double multiplied = 0.0;
    for (const std::size_t earlier : before(one.operations, place)) {
      const auto* const piece = std::get_if<GemmShape>(&one.operations[earlier].work);
      if (piece != nullptr) multiplied += scattered_bytes(*piece).value();
    }
    if (one.schedule.backend == models::Backend::rccl) RC_ASSERT(left <= multiplied);
    if (const auto* const copy = std::get_if<models::SdmaCopySpec>(&work)) RC_ASSERT(copy->bytes.value() <= multiplied);
    if (std::holds_alternative<models::ElementwiseSpec>(work))
      RC_ASSERT(multiplied == scattered_bytes(one.shape).value());
  }
}

RC_GTEST_PROP(DependentSchedulesProperty, CopyWholeBytesAndRunOneGemmAtATimeAndOneCopyFromEachPeerInOrder, ()) {
  const Case one = any_case();
  std::map<std::string, std::size_t> last;  // the last operation of each stream
  for (std::size_t place = 0; place < one.operations.size(); ++place) {
    const Operation& operation = one.operations[place];
    for (const std::size_t earlier : operation.after) RC_ASSERT(earlier < place);
    const auto earlier = last.find(operation.stream);
    if (earlier != last.end()) RC_ASSERT(std::ranges::count(operation.after, earlier->second) == 1);
    last[operation.stream] = place;
    const auto* const copy = std::get_if<models::SdmaCopySpec>(&operation.work);
    if (copy == nullptr) continue;
    RC_ASSERT(copy->bytes.value() >= 1.0 && copy->bytes.value() == std::floor(copy->bytes.value()));
  }
}

TEST(Pieces, AreOfTheTokensOrTheContractionOfAGemmAndHaveTheirShareOfAKernel) {
  const Work gemm = GemmShape{100, 64, 32};
  EXPECT_EQ(piece_of(gemm, {4, 1, CutAxis::tokens}), Work(GemmShape{100, 16, 32}));
  EXPECT_EQ(piece_of(gemm, {4, 1, CutAxis::contraction}), Work(GemmShape{100, 64, 8}));
  EXPECT_EQ(piece_of(gemm, {1, 0, CutAxis::tokens}), gemm);
  const Work kernel = models::ElementwiseSpec{sim::Bytes(800.0), sim::Bytes(400.0), sim::Flops(80.0)};
  EXPECT_EQ(piece_of(kernel, {4, 0, CutAxis::tokens}),
            Work(models::ElementwiseSpec{sim::Bytes(200.0), sim::Bytes(100.0), sim::Flops(20.0)}));
}

TEST(Pieces, AreRefusedWhereThereIsLessThanOneForEach) {
  EXPECT_THAT(why_uncut(GemmShape{8, 8, 4}, {8, 0, CutAxis::contraction}),
              HasSubstr("8 pieces cannot be had of 4 steps of the contraction (k)"));
  EXPECT_EQ(why_uncut(DelaySpec{}, {1, 0, CutAxis::tokens}), "");
}

// The second third overlaps both halves; a half overlaps the first two thirds, or the last two.
TEST(Pieces, NeedThoseThatTheyOverlap) {
  const Work copy = models::SdmaCopySpec{};
  const auto needed = [&](Piece piece, std::int64_t of) {
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < of; ++i)
      if (needs(piece, {of, i, CutAxis::tokens}, copy)) found.push_back(i);
    return found;
  };
  EXPECT_THAT(needed({3, 1, CutAxis::tokens}, 2), ElementsAre(0, 1));
  EXPECT_THAT(needed({2, 0, CutAxis::tokens}, 3), ElementsAre(0, 1));
  EXPECT_THAT(needed({2, 1, CutAxis::tokens}, 3), ElementsAre(1, 2));
  EXPECT_THAT(needed({1, 0, CutAxis::tokens}, 2), ElementsAre(0, 1));
  EXPECT_THAT(needed({2, 1, CutAxis::contraction}, 2), ElementsAre(0, 1)) << "cut along another axis";
}

RC_GTEST_PROP(PiecesProperty, AreTheWholeAndDifferByOneAtMost, ()) {
  const auto whole = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  const auto count = *rc::gen::inRange<std::int64_t>(1, 1000);
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t piece = piece_of(whole, count, i);
    RC_ASSERT(piece == whole / count || piece == whole / count + 1);
    sum += piece;
  }
  RC_ASSERT(sum == whole);
}

TEST(Operation, IsAKernelWhereItRunsOnComputeUnitsAndElseTheEnginesOrTheHosts) {
  models::CollectiveSpec by_channels;
  by_channels.backend = models::Backend::rccl;
  models::CollectiveSpec by_engines;
  by_engines.backend = models::Backend::sdma;
  for (const Work& work : {Work(GemmShape{256, 256, 256}), Work(models::ElementwiseSpec{}),
                           Work(models::RemoteKernelSpec{}), Work(by_channels)}) {
    EXPECT_TRUE(is_kernel(work)) << to_string(work);
  }
  for (const Work& work : {Work(models::SdmaCopySpec{}), Work(models::SdmaPacketList{}), Work(DelaySpec{}),
                           Work(HostWorkSpec{}), Work(by_engines)}) {
    EXPECT_FALSE(is_kernel(work)) << to_string(work);
  }
  EXPECT_EQ(doer_of(by_channels), Doer::channels);
  EXPECT_EQ(doer_of(by_engines), Doer::engines);
  EXPECT_EQ(doer_of(models::SdmaPacketList{}), Doer::engines);
  EXPECT_EQ(doer_of(DelaySpec{}), Doer::host);
}

TEST(IsChain, AsksForEachToWaitForTheOneBefore) {
  Schedule schedule(3, operation_of(DelaySpec{}));
  EXPECT_FALSE(is_chain(schedule));
  schedule[1].after = {0};
  schedule[2].after = {0};
  EXPECT_FALSE(is_chain(schedule));
  schedule[2].after = {0, 1};
  EXPECT_TRUE(is_chain(schedule));
  EXPECT_TRUE(is_chain({}));
}

TEST(CuPartitions, AreOfAsManyCusOfEachXcdAndLeaveTheGemmACuOfEvery) {
  const models::PlatformSpec platform = models::mi300x();  // 8 XCDs of 38 CUs
  struct Row {
    int cus;
    std::string why;  // a part of the reason; empty if the mask is possible
  };
  for (const Row& row :
       {Row{8, ""}, Row{304, ""}, Row{12, "multiples of 8 from 8 to 304 are accepted"}, Row{0, "0 CUs cannot be used"},
        Row{312, "multiples of 8 from 8 to 304"}, Row{-8, "-8 CUs cannot be used"}}) {
    const std::string why = why_no_mask(platform, row.cus);
    EXPECT_EQ(why.empty(), row.why.empty()) << row.cus;
    EXPECT_THAT(why, HasSubstr(row.why));
  }
  EXPECT_THAT(why_no_reservation(platform, 296), IsEmpty());
  EXPECT_THAT(why_no_reservation(platform, 304), HasSubstr("from 8 to 296"));
}

TEST(CuPartitions, WorthTryingArePowersOfTwo) {
  const models::PlatformSpec platform = models::mi300x();
  EXPECT_THAT(cu_reservations(platform), ElementsAre(8, 16, 32, 64, 128));
  const models::PlatformSpec one_cu = models::mi300x({"gpu.cus_per_xcd=1"});
  EXPECT_THAT(cu_reservations(one_cu), IsEmpty());
}

TEST(CuPartitions, MeetAndDoNotOverlap) {
  const models::PlatformSpec platform = models::mi300x();
  EXPECT_EQ(first_cus(platform, 304), models::CuMask{}) << "all CUs are no mask";
  EXPECT_EQ(first_cus(platform, 240), (models::CuMask{0, 30}));
  const CuPartition partition = reserve(platform, 64);
  EXPECT_EQ(partition.collective, (models::CuMask{0, 8}));
  EXPECT_EQ(partition.gemm, (models::CuMask{8, 38}));
  EXPECT_EQ(partition.reserved, 64);
  const CuPartition none = reserve(platform, 0);
  EXPECT_EQ(none.gemm, models::CuMask{});
  EXPECT_EQ(none.collective, models::CuMask{});
}

}  // namespace
}  // namespace c3sim::study
