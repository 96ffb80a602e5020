// Whole traces of PyTorch's profiler.
#include "calibrate/readers/kineto.h"

#include <array>

#include "calibrate/readers/profile_reading.h"
#include "calibrate/replay/dependencies.h"
#include "sim/config/config_error.h"
#include "sim/simulator.h"
#include "tests/calibrate/readers/kineto_trace.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

using std::chrono::microseconds;
using ::testing::Key;

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
  EXPECT_EQ(profile.work[0].launch(), Place(0));
  EXPECT_EQ(profile.gpu, "AMD Instinct MI300X");
  EXPECT_EQ(profile.ranks, std::optional<int>(8));
}

// 8 GPUs that gather 1024 elements of two bytes.
TEST(Kineto, KnowsACollectiveByItsArguments) {
  const Profile profile = Trace().all_gather(4, 10, 20, 0, 1024).read();
  const models::CollectiveSpec* const collective = profile.collective_of(profile.work[0]);
  ASSERT_NE(collective, nullptr);
  EXPECT_EQ(collective->bytes, sim::Bytes(2048.0));
  EXPECT_EQ(collective->gpus, 8);
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
  EXPECT_FALSE(profile.work[0].launch());
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
    const Profile profile = Trace().kernel("ncclDevKernel_AllReduce", 2, 10, 5, 0, arguments).read();
    return profile.collective_of(profile.work.at(0))->channels;
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
  EXPECT_EQ(profiles[0].work[0].least, ProfiledWork::unknown);
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

// Three million kernels and as many launches are 3e6 * (56 + 24) bytes = 240 MB: what they have in common is kept once.
TEST(Kineto, KeepsLittleOfEachKernel) {
  EXPECT_LE(sizeof(ProfiledWork), 56u);
  EXPECT_LE(sizeof(HostCall), 24u);
  Trace trace;
  for (int i = 0; i < 100; ++i) {
    trace.other(fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":{},"dur":1,"args":{{"External id":{},)"
                            R"("Input Dims":[[64,32],[32,16]],"Input type":["c10::Half","c10::Half"]}}}})",
                            10 * i, i + 1));
    trace.call("hipLaunchKernel", 10 * i, 1, i + 1);
    trace.kernel(i % 2 == 0 ? "gemm" : "another gemm", 0, 10 * i + 3, 2, i + 1,
                 fmt::format(R"(,"External id":{})", i + 1));
    trace.all_gather(2, 10 * i + 3, 2, 0, 1 << 20);
  }
  const Profile profile = trace.read();
  EXPECT_EQ(profile.work.size(), 200u);
  EXPECT_EQ(profile.names.size(), 3u);        // calls that launch keep no name
  EXPECT_EQ(profile.collectives.size(), 1u);  // each asks for the same
  EXPECT_EQ(profile.products.size(), 100u);   // one for each operator that ran
  EXPECT_EQ(profile.known.size(), 1u);        // all of one shape
}

// Wherever the text is cut into pieces, the profile is that of the whole.
TEST(Kineto, ReadsATextInPieces) {
  Trace trace;
  trace.call("hipLaunchKernel", 0, 1, 1).kernel("gemm", 0, 10, 100, 1).all_gather(4, 113.5, 1000, 2, 1 << 24);
  const std::string text = trace.text();
  for (const std::size_t size : std::array<std::size_t, 5>{1, 2, 7, 64, 1000}) {
    std::string_view rest = text;
    const auto more = [&rest, size] {
      const std::string_view piece = rest.substr(0, size);
      rest.remove_prefix(piece.size());
      return piece;
    };
    const std::string_view first = more();
    const Profile profile = read_kineto_pieces(first, more, "t.json", {});
    EXPECT_EQ(profile.cut_off, "") << size;
    EXPECT_EQ(profile.gpu, "AMD Instinct MI300X") << size;
    ASSERT_EQ(profile.work.size(), 2u) << size;
    EXPECT_EQ(profile.name_of(profile.work[0]), "gemm") << size;
    EXPECT_EQ(profile.work[1].begin - profile.work[0].begin, std::chrono::nanoseconds(103'500)) << size;
  }
}

// Chrome's "JSON Array Format" is the list of events alone, whose end may be missing; it names no GPU.
TEST(Kineto, ReadsAListOfEvents) {
  Trace trace;
  trace.call("hipLaunchKernel", 0, 1, 1).kernel("gemm", 0, 10, 100, 1, R"(,"more":[[1,2],{"name":"no name"}])");
  trace.kernel("fill", 0, 110, 100);
  const std::string events = fmt::format("{}", fmt::join(trace.events, ",\n"));
  for (const char* const end : {"]", "]\n", "", ",\n"}) {
    const std::string text = "[" + events + end;
    EXPECT_TRUE(is_kineto(text));
    const Profile profile = read_kineto(text, "t.json");
    EXPECT_EQ(profile.cut_off, "") << end;
    ASSERT_EQ(profile.work.size(), 2u);
    EXPECT_EQ(profile.name_of(profile.work[0]), "gemm");
    EXPECT_TRUE(profile.work[0].launch());
  }
  const Profile cut = read_kineto("[" + events.substr(0, events.size() - 10), "t.json");
  EXPECT_THAT(cut.cut_off, HasSubstr("it was cut off, or damaged"));
  EXPECT_EQ(cut.work.size(), 1u);
  EXPECT_FALSE(is_kineto(R"([{"name":"all_reduce","size":1}])"));
}

// 8000 kernels, about a megabyte, are read in pieces of 256 KiB, and each loop over them asks at one in a thousand.
TEST(Kineto, AsksWhetherALongTraceIsStillWanted) {
  std::string text = "[";
  for (int i = 0; i < 8000; ++i) {
    text += fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"one of many kernels","ts":{},"dur":1,"args":{{"device":0,"stream":1}}}},)",
        2 * i);
  }
  int asked = 0;
  const sim::Interruption interruption([&asked] { ++asked; });
  const Profile profile = read_kineto(text, "t.json");
  ASSERT_EQ(profile.work.size(), 8000u);
  EXPECT_GE(asked, 4 + 7);
  asked = 0;
  EXPECT_EQ(dependencies_of(profile).nodes.size(), 8001u);
  EXPECT_GE(asked, 2 * 7);
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
