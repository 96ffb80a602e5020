#include "study/c3/sublayer_study.h"

#include <string>

#include "sim/config/config.h"
#include "study/c3/finer_grain.h"
#include "study/experiment/experiment_reader.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

const models::PlatformSpec& t3_machine() {
  static const models::PlatformSpec platform =
      read_platform(C3SIM_SOURCE_DIR "/configs/platforms/t3.yaml", {}, folders).spec;
  return platform;
}

std::string study_text(const std::string& fused, const std::string& tokens = "[4096]",
                       const std::string& of = "sequential_s / plain_s, fold: geomean") {
  return "name: t3\ntokens: " + tokens +
         "\nmodels: {small: {hidden: 3072, gpus: [8]}, big: {hidden: 12288, gpus: [32], large: true}}\n"
         "sublayers: {projection: 1, second_product: 4}\nfused: {plain: {" +
         fused + "}}\ncus_apart: [8]\npublished: {source: nobody, metrics: {plain: {paper: 1.2, of: " + of + "}}}\n";
}
constexpr auto as_t3 = "trigger: tracker, path: ring, stores: true, tiles: 16, near_memory: hbm";

SublayerStudy study_of(const std::string& text) {
  sim::Config config = sim::Config::from_text(text, "t3.yaml");
  set_parameters(config, {});
  const Testbed testbed(t3_machine());
  SublayerStudy study = read_sublayer_study(config.root(), testbed);
  config.finish();
  return study;
}

// Overlapped operations take no less than the longer one, except for the host's calls between operations that overlap
// saves; with GEMM, reduce-scatter and all-gather of equal length ideal overlap gains 3 over 2. Seven of eight parts of
// an array of 2 T H bytes arrive at each GPU's neighbour, who adds them; the neighbour's own GEMM stores seven of eight
// parts as updates, too.
TEST(SublayerStudies, FusedSchedulesAreBoundByIdealOverlapAndMoveTheBytesOfARing) {
  for (const SublayerResult& one : run_sublayer_study(t3_machine(), study_of(study_text(as_t3)))) {
    SCOPED_TRACE(one.sublayer.name);
    EXPECT_LE(one.ideal_speedup(), 1.5 + 1e-9);
    EXPECT_LE(one.speedup(one.fused.front().time), 1.01 * one.ideal_speedup());
    EXPECT_GT(one.speedup(one.fused.front().time), 1.0);
    const double array = 2.0 * 4096.0 * static_cast<double>(one.sublayer.hidden);
    const double others = 1.0 - 1.0 / one.sublayer.gpus;
    const auto& moved = one.fused.front().moved;
    EXPECT_NEAR(moved.updates / (2.0 * others * array), 1.0, 1e-3);
    EXPECT_LT(moved.hbm_reads + moved.hbm_writes, one.moved.hbm_reads + one.moved.hbm_writes);
  }
}

TEST(SublayerStudies, DoNotDependOnThreads) {
  const SublayerStudy study = study_of(study_text(as_t3));
  const auto once = run_sublayer_study(t3_machine(), study, {}, 1);
  const auto again = run_sublayer_study(t3_machine(), study, {}, 3);
  ASSERT_EQ(once.size(), 4U);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].fused.front().time, again[i].fused.front().time);
}

FinerGrainStudy small_study() {
  FinerGrainStudy study;
  study.name = "small";
  study.gemms = {{"a", {2048, 16384, 8192}}, {"b", {2048, 8192, 8192}}, {"c", {256, 8192, 1024}}};
  for (const char* const name : {"serial_rccl", "serial_sdma", "shard_overlap", "finer_hetero_fused_1d"}) {
    study.schedules.push_back(dependent_schedule(name));
  }
  return study;
}

// The time of a schedule above ideal is split into two losses. One after the other, operations do not contend and
// nothing is hidden: the loss is the shorter of the two.
TEST(FinerGrainStudies, SplitAllThatSchedulesTakeLongerIntoTwoLosses) {
  Testbed testbed(mi300x().spec);
  // The second operation hides its launch and the notice of the first one's end.
  const models::HostSpec& host = testbed.platform().host;
  const double queued = sim::to_microseconds(host.kernel_launch + host.kernel_notice);
  for (const FinerGrainResult& one : run_finer_grain_study(testbed, small_study(), true)) {
    EXPECT_EQ(one.ideal() + one.decomposition() + one.contention(), one.time);
    EXPECT_GE(one.contention(), sim::Time::zero()) << to_string(one.schedule);
    if (to_string(one.schedule) != "serial_rccl") continue;
    const double shorter = sim::to_microseconds(std::min(one.gemm_alone, one.collective_alone));
    EXPECT_NEAR(sim::to_microseconds(one.decomposition()), shorter - queued, 0.01 * shorter);
    EXPECT_NEAR(sim::to_microseconds(one.contention()), 0.0, 0.01 * shorter);
    EXPECT_DOUBLE_EQ(one.speedup(), 1.0);
  }
}

TEST(FinerGrainStudies, DoNotDependOnThreads) {
  Testbed testbed(mi300x().spec);
  const auto once = run_finer_grain_study(testbed, small_study(), false, {}, 1);
  const auto again = run_finer_grain_study(testbed, small_study(), false, {}, 3);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].time, again[i].time);
}

// GEMMs a and b differ by a factor of two in one size, c from both by more: c is named what is best for b, and a and b
// are named what is best for each other.
TEST(FinerGrainStudies, TheHeuristicNamesWhatIsBestForTheNearestOther) {
  const auto result = [](const std::string& gemm, models::GemmShape shape, const std::string& schedule, int time) {
    FinerGrainResult one;
    one.gemm = gemm;
    one.shape = shape;
    one.schedule = dependent_schedule(schedule);
    one.time = sim::Time(time);
    return one;
  };
  const models::GemmShape a{2048, 16384, 8192};
  const models::GemmShape b{2048, 8192, 8192};
  const models::GemmShape c{256, 8192, 1024};
  const std::vector<NamedSchedule> named = name_by_nearest(
      {result("a", a, "serial_rccl", 100), result("a", a, "shard_overlap", 80), result("b", b, "serial_rccl", 40),
       result("b", b, "shard_overlap", 50), result("c", c, "serial_rccl", 10), result("c", c, "shard_overlap", 20)});
  ASSERT_EQ(named.size(), 3u);
  EXPECT_EQ(to_string(named[0].best), "shard_overlap");
  EXPECT_EQ(to_string(named[0].named), "serial_rccl");
  EXPECT_DOUBLE_EQ(named[0].lost, 0.25);
  EXPECT_EQ(to_string(named[1].named), "shard_overlap");
  EXPECT_EQ(to_string(named[2].named), "serial_rccl");
  EXPECT_DOUBLE_EQ(named[2].lost, 0.0);
}

}  // namespace
}  // namespace c3sim::study
