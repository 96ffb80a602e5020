// Whole traces of PyTorch's profiler.
#include "calibrate/readers/kineto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/config_error.h"
#include "tests/calibrate/readers/kineto_trace.h"

namespace c3sim::calibrate {
namespace {

using std::chrono::microseconds;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

// Dates of real traces have 13 digits before the point and three behind it: 0.042 us less than a double would hold to.
TEST(Kineto, KeepsDatesToTheNanosecond) {
  Trace trace;
  trace.other(R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":4532153844257.578,"dur":29.341,)"
              R"("args":{"correlation":21}})");
  trace.other(R"({"ph":"X","cat":"kernel","name":"nvjet_x","ts":4532153844285.042,"dur":9.888,)"
              R"("args":{"device":0,"stream":7,"correlation":21}})");
  const Profile profile = trace.read();
  ASSERT_EQ(profile.work.size(), 1u);
  EXPECT_EQ(profile.work[0].begin - profile.calls[0].begin, sim::Time(27'464'000));  // ...285.042 - ...257.578
  EXPECT_EQ(profile.work[0].end - profile.work[0].begin, sim::Time(9'888'000));
  EXPECT_EQ(profile.work[0].kind, WorkKind::matrix);
  EXPECT_EQ(profile.work[0].launch, std::optional<std::size_t>(0));
  EXPECT_EQ(profile.gpu, "AMD Instinct MI300X");
  EXPECT_EQ(profile.ranks, std::optional<int>(8));
}

// 8 GPUs that gather 1024 elements of two bytes.
TEST(Kineto, KnowsACollectiveByItsArguments) {
  const Profile profile = Trace().all_gather(4, 10, 20, 0, 1024).read();
  ASSERT_TRUE(profile.work[0].collective);
  EXPECT_EQ(profile.work[0].collective->bytes, sim::Bytes(2048.0));
  EXPECT_EQ(profile.work[0].collective->gpus, 8);
}

TEST(Kineto, CountsWhatItDoesNotUnderstandWithItsTime) {
  Trace trace;
  trace.kernel("gemm", 7, 0, 5);
  trace.kernel("ncclDevKernel_AllReduce", 7, 10, 3);
  trace.kernel("ncclDevKernel_AllReduce", 7, 20, 4, 0,
               R"(,"Collective name":"allreduce","In msg nelems":8,"Out msg nelems":8,"Group size":8,"dtype":"Posit")");
  trace.kernel("ncclDevKernel_SendRecv", 7, 30, 5, 0,
               R"(,"Collective name":"send","In msg nelems":8,"Out msg nelems":8,"Group size":8,"dtype":"Half")");
  trace.other(R"({"ph":"X","cat":"kernel","name":"k","ts":40,"dur":-1,"args":{"device":0,"stream":7}})");
  trace.other(R"({"ph":"X","cat":"kernel","name":"k","ts":50,"dur":2,"args":{"device":0}})");
  const Profile profile = trace.read();
  EXPECT_EQ(profile.work.size(), 4u);
  const auto& why = profile.misunderstood;
  EXPECT_THAT(
      why,
      UnorderedElementsAre(
          Key("a collective that is not simulated: its size is not in the trace, nor in a list labels.csv beside it"),
          Key("a collective that is not simulated: Posit is no known type"),
          Key("a collective that is not simulated: send has no model"),
          Key("its time is none: ts and dur in microseconds are accepted"),
          Key("work on a GPU without its device and stream"),
          Key("work on a GPU whose launch is not in the trace: it keeps its time")));
  EXPECT_EQ(why.at("a collective that is not simulated: Posit is no known type").time, microseconds(4));
}

// The clock of the GPU is behind that of the host.
TEST(Kineto, LeavesALaunchOutThatComesAfterItsWork) {
  const Profile profile = Trace().call("hipLaunchKernel", 100, 5, 1).kernel("gemm", 0, 90, 20, 1).read();
  EXPECT_FALSE(profile.work[0].launch);
  EXPECT_EQ(profile.misunderstood.size(), 1u);
}

TEST(Kineto, ReadsATraceThatWasCutOffAsFarAsItGoes) {
  const std::string text = Trace().kernel("gemm", 0, 10, 20).kernel("gemm", 0, 40, 20).text();
  const Profile profile = read_kineto(text.substr(0, text.size() - 20), "t.json");
  EXPECT_EQ(profile.work.size(), 1u);
  EXPECT_THAT(profile.cut_off, HasSubstr("cut off"));
}

TEST(Kineto, RefusesATraceWithoutWorkOnAGpu) {
  for (const std::string& text : {Trace().text(), std::string("{"), std::string(R"({"traceEvents":7})"),
                                  Trace().call("hipLaunchKernel", 0, 1, 1).text()}) {
    try {
      static_cast<void>(read_kineto(text, "t.json"));
      FAIL() << text;
    } catch (const sim::ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("no work on a GPU: events of the category kernel are accepted"));
    }
  }
}

// A channel is a workgroup of the kernel.
TEST(Kineto, HasAsManyChannelsAsTheKernelHasWorkgroups) {
  const auto channels_with = [](const std::string& grid) {
    const std::string arguments = R"(,"Collective name":"allreduce","In msg nelems":8,"Out msg nelems":8,)"
                                  R"("Group size":2,"dtype":"Float","grid":)" +
                                  grid;
    return Trace().kernel("ncclDevKernel_AllReduce", 2, 10, 5, 0, arguments).read().work.at(0).collective->channels;
  };
  EXPECT_EQ(channels_with("[24, 1, 1]"), 24);
  EXPECT_EQ(channels_with("[0, 7, 1]"), std::nullopt);
  EXPECT_EQ(channels_with("[]"), std::nullopt);
  EXPECT_EQ(channels_with(R"(["many"])"), std::nullopt);
}

// Kernels of a stream may overlap for a moment, not for 40 us.
TEST(Kineto, CountsWorkOnAStreamThatIsBusy) {
  const Profile profile =
      Trace().kernel("a", 0, 0, 100).kernel("b", 0, 95, 100).kernel("c", 0, 150, 60).kernel("d", 1, 100, 60).read();
  const auto& counted = profile.misunderstood.at(
      "work that begins while its own stream is busy: two GPUs under one id, or a clock that ran backwards");
  EXPECT_EQ(counted.events, 1u);
  EXPECT_EQ(counted.time, microseconds(45));
}

Profile of_rank(int rank, const std::vector<double>& durations) {
  Trace trace;
  double begin = 0.0;
  for (const double duration : durations) {
    trace.all_gather(2, begin, duration, 0, 1 << 20);
    begin += 1000.0;
  }
  Profile profile = trace.read();
  profile.rank = rank;
  return profile;
}

TEST(RanksOfARun, TheLastToComeTellsTheTimeWithoutWaits) {
  std::vector<Profile> profiles{of_rank(0, {100, 40}), of_rank(1, {60, 90})};
  tell_waits(std::vector{&profiles[0], &profiles[1]});
  for (const Profile& profile : profiles) {
    EXPECT_EQ(profile.work[0].least, sim::Time(microseconds(60)));
    EXPECT_EQ(profile.work[1].least, sim::Time(microseconds(40)));
  }
}

TEST(RanksOfARun, ThatRanACollectiveMoreOftenTellNothing) {
  std::vector<Profile> profiles{of_rank(0, {100, 40}), of_rank(1, {60})};
  tell_waits(std::vector{&profiles[0], &profiles[1]});
  EXPECT_FALSE(profiles[0].work[0].least);
  EXPECT_EQ(profiles[0]
                .misunderstood.at("collectives of which another rank ran more or fewer: waits are not told apart")
                .events,
            2u);
}

// One program with two GPUs: 30 us of waiting on the first.
TEST(RanksOfARun, MayBeGpusOfOneTrace) {
  Trace trace;
  trace.all_gather(2, 0, 90, 0, 1 << 20);
  std::string other = trace.events.back();
  other.replace(other.find("\"device\":0"), 10, "\"device\":1");
  other.replace(other.find("\"dur\":90"), 8, "\"dur\":60");
  Profile profile = trace.other(other).read();
  tell_waits(std::vector{&profile});
  EXPECT_EQ(profile.work[0].least, sim::Time(microseconds(60)));
  EXPECT_EQ(profile.work[1].least, sim::Time(microseconds(60)));
}

TEST(RanksOfARun, AreDifferentOnes) {
  std::vector<Profile> profiles{of_rank(3, {100}), of_rank(3, {60})};
  EXPECT_THROW(tell_waits(std::vector{&profiles[0], &profiles[1]}), sim::ConfigError);
}

TEST(Kineto, SaysWhyNothingIsLeft) {
  Trace trace;
  trace.kernel("gemm", 0, -10, 5).kernel("gemm", 0, 10, -5);
  try {
    static_cast<void>(trace.read());
    ADD_FAILURE() << "read";
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("are accepted; 2 events: its time is none: ts and dur in microseconds"));
  }
}

}  // namespace
}  // namespace c3sim::calibrate
