#include "calibrate/readers/trial_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace c3sim::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_us;

template <class T>
T trial_of(std::string_view kind, const Fields& fields) {
  std::vector<FieldFault> faults;
  const study::Trial trial = read_trial(kind, fields, faults);
  for (const FieldFault& fault : faults) ADD_FAILURE() << fault.field << ": " << fault.what;
  return std::get<T>(trial);
}

std::vector<std::string> faults_of_fields(std::string_view kind, const Fields& fields) {
  std::vector<FieldFault> faults;
  read_trial(kind, fields, faults);
  std::vector<std::string> texts;
  for (const FieldFault& fault : faults) texts.push_back(fault.field + ": " + fault.what);
  return texts;
}

TEST(TrialFields, ReadAGemm) {
  EXPECT_EQ(trial_of<study::GemmTrial>("gemm", {{"gemm", "64x128x256"}}), (study::GemmTrial{{64, 128, 256}}));
  const auto grouped =
      trial_of<study::GemmTrial>("gemm", {{"gemm", "64x128x256"}, {"nth", "7"}, {"pause", "5us"}, {"group", "8"}});
  EXPECT_EQ(grouped.group, 8);
  EXPECT_EQ(grouped.nth, 7);
  EXPECT_EQ(trial_of<study::GemmTrial>("gemm", {{"gemm", "cb4"}, {"cus", "240"}, {"nth", "0"}, {"pause", "5us"}}),
            (study::GemmTrial{{18432, 8192, 16384}, 240, 0, 5_us}));
}

TEST(TrialFields, ReadTheFormatOfAGemmByWhateverNameItHas) {
  const auto format = [](const char* kind, const char* name) {
    Fields fields{{"gemm", "64x128x256"}, {"dtype", name}};
    if (std::string_view(kind) == "c3") fields.merge(Fields{{"collective", "all_gather"}, {"bytes", "1KiB"}});
    std::vector<FieldFault> faults;
    const study::Trial trial = read_trial(kind, fields, faults);
    const auto* const gemm = std::get_if<study::GemmTrial>(&trial);
    return gemm != nullptr ? gemm->shape.dtype : std::get<study::C3Trial>(trial).scenario.gemm.dtype;
  };
  for (const char* const kind : {"gemm", "c3"}) {
    for (const char* const name : {"bf16", "BF16", "bfloat16", "bf16_r"})
      EXPECT_EQ(format(kind, name), models::Dtype::bf16) << name;
    for (const char* const name : {"fp8", "FP8", "f8_r"}) EXPECT_EQ(format(kind, name), models::Dtype::fp8) << name;
    for (const char* const name : {"fp32", "float32", "f32_r"})
      EXPECT_EQ(format(kind, name), models::Dtype::fp32) << name;
  }
  EXPECT_THAT(faults_of_fields("dependent", {{"gemm", "64x128x256"}, {"schedule", "shard_overlap"}, {"dtype", "fp8"}}),
              ElementsAre(HasSubstr("dtype: 'fp8' is not known; ")));
}

// ConCCL, Table I.
TEST(TrialFields, KnowTheGemmsOfThePaper) {
  const auto shape = [](const char* name) { return trial_of<study::GemmTrial>("gemm", {{"gemm", name}}).shape; };
  EXPECT_EQ(shape("cb1"), (models::GemmShape{8192, 8192, 8192}));
  EXPECT_EQ(shape("cb2"), (models::GemmShape{16384, 8192, 16384}));
  EXPECT_EQ(shape("cb3"), (models::GemmShape{16384, 16384, 8192}));
  EXPECT_EQ(shape("cb5"), (models::GemmShape{106496, 8192, 16384}));
  EXPECT_EQ(shape("mb1"), (models::GemmShape{8192, 57344, 8192}));
  EXPECT_EQ(shape("mb2"), (models::GemmShape{16384, 106496, 8192}));
}

TEST(TrialFields, ReadACollectiveByKernelsUnlessToldOtherwise) {
  const models::CollectiveSpec usual =
      trial_of<study::CollectiveTrial>("collective", {{"collective", "all_to_all"}, {"bytes", "64KiB"}}).spec;
  models::CollectiveSpec expected;
  expected.kind = models::CollectiveKind::all_to_all;
  expected.bytes = 64_KiB;
  expected.gpus = 0;
  EXPECT_EQ(usual, expected);
  const models::CollectiveSpec all = trial_of<study::CollectiveTrial>("collective", {{"collective", "all_gather"},
                                                                                     {"bytes", "1MiB"},
                                                                                     {"backend", "sdma"},
                                                                                     {"gpus", "4"},
                                                                                     {"variant", "b2b"},
                                                                                     {"prelaunch", "yes"},
                                                                                     {"engines", "2"},
                                                                                     {"cus", "8"},
                                                                                     {"channels", "16"},
                                                                                     {"graph", "true"},
                                                                                     {"algorithm", "ring"},
                                                                                     {"dtype", "fp32"},
                                                                                     {"host_threads", "per_gpu"}})
                                         .spec;
  expected = {models::CollectiveKind::all_gather,
              models::Backend::sdma,
              1_MiB,
              4,
              0,
              models::SdmaVariant::b2b,
              true,
              2,
              8,
              16,
              models::HostThreads::per_gpu,
              true,
              models::RcclAlgorithm::ring,
              models::ElementType::fp32,
              sim::Time(0)};
  EXPECT_EQ(all, expected);
}

TEST(TrialFields, ReadCopies) {
  EXPECT_EQ(trial_of<study::CopyTrial>("copy", {{"from", "gpu3"}, {"to", "host"}, {"bytes", "1MiB"}, {"engine", "0"}}),
            (study::CopyTrial{{3, models::host_device, 1_MiB, 0}}));
  EXPECT_EQ(trial_of<study::FanOutTrial>("fan_out", {{"peers", "7"}, {"bytes", "1MiB"}}),
            (study::FanOutTrial{7, 1_MiB}));
}

TEST(TrialFields, ReadKernelsOnOtherGpus) {
  EXPECT_EQ(trial_of<study::RemoteTrial>("remote", {{"access", "load"},
                                                    {"pattern", "both_ways"},
                                                    {"gpu", "2"},
                                                    {"peer", "5"},
                                                    {"bytes", "1MiB"},
                                                    {"cus", "16"}}),
            (study::RemoteTrial{models::RemoteAccess::load, study::RemoteTrial::Pattern::both_ways, 2, 5, 1_MiB, 16}));
  EXPECT_EQ(
      trial_of<study::RemoteTrial>("remote", {{"access", "uncached_store"}, {"pattern", "all"}, {"bytes", "1MiB"}}),
      (study::RemoteTrial{models::RemoteAccess::uncached_store, study::RemoteTrial::Pattern::all, 0, 1, 1_MiB, {}}));
}

TEST(TrialFields, ReadStreamsAndLoads) {
  EXPECT_EQ(trial_of<study::StreamTrial>("stream", {{"bytes", "1MiB"}}), (study::StreamTrial{2, 1, 1_MiB}))
      << "a triad";
  EXPECT_EQ(trial_of<study::StreamTrial>("stream", {{"bytes", "1MiB"}, {"read", "0"}, {"written", "1"}}),
            (study::StreamTrial{0, 1, 1_MiB}));
  EXPECT_EQ(trial_of<study::StreamTrial>(
                "stream", {{"bytes", "1MiB"}, {"threads", "64"}, {"set", "1MiB"}, {"flops_per_byte", "2.5"}}),
            (study::StreamTrial{.bytes = 1_MiB, .threads = 64, .flops_per_byte = 2.5, .set = 1_MiB}));
  EXPECT_EQ(trial_of<study::LoadTrial>("load", {{"bytes", "1MiB"}}), (study::LoadTrial{1_MiB, {}, 1.0}));
  EXPECT_EQ(trial_of<study::LoadTrial>("load", {{"bytes", "1MiB"}, {"beside", "2TB/s"}, {"beside_reads", "0.5"}}),
            (study::LoadTrial{1_MiB, sim::BytesPerSecond(2e12), 0.5}));
}

TEST(TrialFields, ReadAttention) {
  const auto prompt =
      trial_of<study::AttentionTrial>("attention", {{"heads", "8"}, {"queries", "64"}, {"head_dim", "128"}});
  EXPECT_EQ(prompt.shape.kv_heads, 8) << "as many as of queries";
  EXPECT_EQ(prompt.shape.keys, 64) << "none is cached";
  EXPECT_EQ(
      (trial_of<study::AttentionTrial>("attention", {{"batch", "2"},
                                                     {"heads", "8"},
                                                     {"kv_heads", "1"},
                                                     {"queries", "1"},
                                                     {"keys", "4096"},
                                                     {"head_dim", "128"}})),
      (study::AttentionTrial{{.batch = 2, .heads = 8, .kv_heads = 1, .queries = 1, .keys = 4096, .head_dim = 128}}));
}

TEST(TrialFields, ReadWhatRunsAtOnce) {
  const study::C3Trial pair = trial_of<study::C3Trial>("c3", {{"gemm", "cb1"},
                                                              {"collective", "all_gather"},
                                                              {"bytes", "1MiB"},
                                                              {"strategy", "c3_sp_rp"},
                                                              {"channels", "16"},
                                                              {"reserved", "8"},
                                                              {"delay", "100us"},
                                                              {"barrier", "none"},
                                                              {"variant", "b2b"},
                                                              {"prelaunch", "yes"}});
  EXPECT_EQ(pair.strategy, study::Strategy::c3_sp_rp);
  EXPECT_EQ(pair.scenario.channels, 16);
  EXPECT_EQ(pair.scenario.reserved, 8);
  EXPECT_EQ(pair.scenario.delay, 100_us);
  EXPECT_EQ(pair.scenario.barrier, study::Barrier::none);
  EXPECT_EQ(pair.scenario.variant, models::SdmaVariant::b2b);
  EXPECT_TRUE(pair.scenario.prelaunch);
  EXPECT_EQ(trial_of<study::DependentTrial>("dependent", {{"gemm", "64x128x256"}, {"schedule", "shard_overlap"}}),
            (study::DependentTrial{{64, 128, 256}, study::dependent_schedule("shard_overlap")}));
}

TEST(TrialFields, ReadWhatHasNoFields) {
  trial_of<study::RestTrial>("rest", {});
  trial_of<study::EmptyKernelTrial>("empty_kernel", {});
  EXPECT_THAT(fields_of("rest"), IsEmpty());
}

// Whatever a trial must have, and no more.
TEST(TrialFields, NameWhatIsMissing) {
  const auto names = [](std::string_view kind) {
    std::vector<FieldFault> faults;
    read_trial(kind, {}, faults);
    std::vector<std::string> missing;
    for (const FieldFault& fault : faults) {
      EXPECT_THAT(fault.what, testing::StartsWith("is missing"));
      missing.push_back(fault.field);
    }
    std::ranges::sort(missing);
    return missing;
  };
  EXPECT_THAT(names("gemm"), ElementsAre("gemm"));
  EXPECT_THAT(names("collective"), ElementsAre("bytes", "collective"));
  EXPECT_THAT(names("copy"), ElementsAre("bytes", "from", "to"));
  EXPECT_THAT(names("fan_out"), ElementsAre("bytes", "peers"));
  EXPECT_THAT(names("remote"), ElementsAre("access", "bytes", "pattern"));
  EXPECT_THAT(names("stream"), ElementsAre("bytes"));
  EXPECT_THAT(names("load"), ElementsAre("bytes"));
  EXPECT_THAT(names("c3"), ElementsAre("bytes", "collective", "gemm", "strategy"));
  EXPECT_THAT(names("dependent"), ElementsAre("gemm", "schedule"));
  EXPECT_THAT(names("step"), ElementsAre("model", "phase"));
  EXPECT_THAT(names("attention"), ElementsAre("head_dim", "heads", "queries"));
  EXPECT_EQ(trial_kinds().size(), 18u);
}

TEST(TrialFields, RefuseWordsThatTheyDoNotKnow) {
  EXPECT_THAT(
      faults_of_fields("gemm", {{"gemm", "cb9"}}),
      ElementsAre("gemm: 'cb9' is no GEMM shape: write MxNxK with three whole numbers from 1 to 16777216, such as "
                  "8192x57344x8192, or cb1 to cb5, mb1, mb2 of ConCCL's Table I"));
  EXPECT_THAT(
      faults_of_fields("c3", {{"gemm", "cb1"}, {"collective", "al_gather"}, {"bytes", "1B"}, {"strategy", "c3_best2"}}),
      ElementsAre("collective: 'al_gather' is not known; did you mean 'all_gather'?",
                  "strategy: 'c3_best2' is not known; did you mean 'c3_best'?"));
  EXPECT_THAT(faults_of_fields("dependent", {{"gemm", "cb1"}, {"schedule", "shard_overlop"}}),
              ElementsAre("schedule: 'shard_overlop' is not known; did you mean 'shard_overlap'?"));
  EXPECT_THAT(faults_of_fields("collective", {{"collective", "all_gather"}, {"bytes", "1B"}, {"graph", "maybe"}}),
              ElementsAre("graph: 'maybe' is not known; known are: no, yes, false, true"));
}

TEST(TrialFields, NameTheDevicesThatThereAre) {
  EXPECT_THAT(faults_of_fields("copy", {{"from", "gpu64"}, {"to", "cpu"}, {"bytes", "1B"}}),
              ElementsAre("from: there is no 'gpu64': gpu0 to gpu63 and host are accepted",
                          "to: there is no 'cpu': gpu0 to gpu63 and host are accepted"));
  EXPECT_THAT(faults_of_fields("copy", {{"from", "gpu01"}, {"to", "gpu"}, {"bytes", "1B"}}),
              ElementsAre("from: there is no 'gpu01': gpu0 to gpu63 and host are accepted",
                          "to: there is no 'gpu': gpu0 to gpu63 and host are accepted"));
}

TEST(TrialFields, RefuseSizesThatCannotBe) {
  const auto fault = [](const char* bytes) { return faults_of_fields("stream", {{"bytes", bytes}}).at(0); };
  EXPECT_EQ(fault("0B"), "bytes: '0B' is out of bounds: 1B to 1TiB are accepted");
  EXPECT_EQ(fault("2TiB"), "bytes: '2TiB' is out of bounds: 1B to 1TiB are accepted");
  EXPECT_EQ(fault("1024"), "bytes: '1024' needs a unit: write 896MiB, 1GB or 512B");
  EXPECT_EQ(fault("-1B"), "bytes: '-1B' is negative: write 896MiB, 1GB or 512B");
  EXPECT_EQ(fault("1.5B"), "bytes: '1.5B' is not a whole number of bytes");
  EXPECT_EQ(fault("1e999B"), "bytes: '1e999B' is out of range");
  EXPECT_EQ(fault("nanB"), "bytes: 'nanB' is not a size: write 896MiB, 1GB or 512B");
}

TEST(TrialFields, RefuseCountsThatCannotBe) {
  const auto fault = [](const char* cus) { return faults_of_fields("gemm", {{"gemm", "cb1"}, {"cus", cus}}).at(0); };
  EXPECT_EQ(fault("0"), "cus: '0': a whole number from 1 to 4096 is accepted");
  EXPECT_EQ(fault("-8"), "cus: '-8': a whole number from 1 to 4096 is accepted");
  EXPECT_EQ(fault("4097"), "cus: '4097': a whole number from 1 to 4096 is accepted");
  EXPECT_EQ(fault("8.0"), "cus: '8.0': a whole number from 1 to 4096 is accepted");
  EXPECT_EQ(fault("1e999"), "cus: '1e999': a whole number from 1 to 4096 is accepted");
  EXPECT_EQ(fault("99999999999999999999"), "cus: '99999999999999999999': a whole number from 1 to 4096 is accepted");
  EXPECT_THAT(faults_of_fields("collective", {{"collective", "all_gather"}, {"bytes", "8B"}, {"gpus", "1"}}),
              ElementsAre("gpus: '1': a whole number from 2 to 4096 is accepted"));
}

TEST(TrialFields, AGroupLiesBetweenPausesAndItsPlacesInIt) {
  EXPECT_THAT(faults_of_fields("gemm", {{"gemm", "cb1"}, {"group", "8"}}),
              ElementsAre("group: is of GEMMs between pauses: give pause"));
  EXPECT_THAT(faults_of_fields("gemm", {{"gemm", "cb1"}, {"pause", "1ms"}, {"group", "8"}, {"nth", "8"}}),
              ElementsAre("nth: counts from 0 up to group - 1"));
}

// A run of an hour is a slip of the pen; simulated time would end after 106 days.
TEST(TrialFields, RefuseTimesThatCannotBe) {
  EXPECT_EQ(trial_of<study::GemmTrial>("gemm", {{"gemm", "cb1"}, {"pause", "3600s"}}).pause,
            sim::Time(3'600'000'000'000'000));
  EXPECT_THAT(faults_of_fields("gemm", {{"gemm", "cb1"}, {"pause", "3601s"}}),
              ElementsAre("pause: '3601s' is out of bounds: 0s to 3600s are accepted"));
  EXPECT_THAT(faults_of_fields("gemm", {{"gemm", "cb1"}, {"pause", "9000000s"}}),
              ElementsAre("pause: '9000000s' is out of bounds: 0s to 3600s are accepted"));
  EXPECT_THAT(faults_of_fields("gemm", {{"gemm", "cb1"}, {"pause", "-1us"}}),
              ElementsAre(HasSubstr("pause: '-1us' is negative")));
  EXPECT_THAT(
      faults_of_fields(
          "c3",
          {{"gemm", "cb1"}, {"collective", "all_gather"}, {"bytes", "8B"}, {"strategy", "c3_sp"}, {"delay", "1e300s"}}),
      ElementsAre(HasSubstr("delay: '1e300s' is")));
}

TEST(TrialFields, RefuseLoadsBesideWhatCannotBe) {
  EXPECT_THAT(faults_of_fields("load", {{"bytes", "1MiB"}, {"beside", "1GB/s"}, {"beside_reads", "1.5"}}),
              ElementsAre("beside_reads: '1.5' is out of bounds: 0 to 1 are accepted"));
  EXPECT_THAT(faults_of_fields("load", {{"bytes", "1MiB"}, {"beside", "1e20GB/s"}}),
              ElementsAre("beside: '1e20GB/s' is out of bounds: 0 to 10000000 GB/s are accepted"));
}

TEST(TrialFields, RefuseAStreamOfNoArray) {
  EXPECT_THAT(faults_of_fields("stream", {{"bytes", "1MiB"}, {"read", "0"}, {"written", "0"}}),
              ElementsAre("written: '0' beside no array that is read: at least one array is accepted"));
}

TEST(TrialFields, TellAllFaultsAtOnce) {
  EXPECT_EQ(faults_of_fields("copy", {{"from", "x"}, {"to", "y"}, {"bytes", "z"}, {"engine", "-1"}}).size(), 4u);
}

}  // namespace
}  // namespace c3sim::calibrate
