// Tests the reading of whole traces of PyTorch's profiler.
#include <array>

#include "calibrate/readers/profile_reading.h"
#include "calibrate/replay/dependencies.h"
#include "sim/config/config_error.h"
#include "sim/simulator.h"
#include "study/ask/trial.h"
#include "tests/calibrate/readers/kineto_trace.h"
#include "tests/samples.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

using std::chrono::microseconds;

// Times are in nanoseconds since the first work began.
std::string text_of(const Profile& profile) {
  std::string text;
  if (!profile.gpu.empty()) text += fmt::format("gpu: {}, {} ranks\n", profile.gpu, profile.ranks.value_or(0));
  const auto ns = [](sim::Time time) { return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(); };
  const auto since_begin = [&](sim::Time time) { return ns(time - profile.begin()); };
  for (const ProfiledWork& one : profile.work) {
    text += fmt::format("{} on {}: {} to {}", profile.name_of(one), profile.streams[one.stream].name(),
                        since_begin(one.begin), since_begin(one.end));
    if (one.kind == WorkKind::matrix) text += ", a product";
    if (one.launch()) text += fmt::format(", launched at {}", since_begin(profile.calls[*one.launch()].begin));
    if (const auto* const collective = profile.collective_of(one)) {
      text += ", " + study::to_string(study::CollectiveTrial{*collective});
    }
    text += '\n';
  }
  for (const auto& [why, counted] : profile.misunderstood) {
    text += fmt::format("{}: {} events, {} ns\n", why, counted.events, ns(counted.time));
  }
  return text + (profile.cut_off.empty() ? "" : profile.cut_off + '\n');
}

TEST(Kineto, IsReadAsSamplesSay) {
  expect_samples("traces.samples", [](const Sample& sample) -> std::string {
    const std::string& text = sample.inputs.at(0).second;
    if (!torch_trace.recognises(text) && text.starts_with('[')) return "no trace\n";
    try {
      return text_of(read_kineto(text, "t.json"));
    } catch (const sim::ConfigError& error) {
      return std::string(error.what()) + '\n';
    }
  });
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

// One program has two GPUs; the first waits for 30 us.
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

// Three million kernels and their launches are 3e6 * (56 + 24) bytes = 240 MB: what they have in common is kept once.
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
  EXPECT_EQ(profile.names.size(), 3u);       // calls that launch keep no name
  EXPECT_EQ(profile.products.size(), 100u);  // one for each operator that ran
  EXPECT_EQ(profile.known.size(), 2u);       // products are all of one shape, and each collective asks for the same
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
    const Profile profile = read_kineto(first, "t.json", {}, more);
    EXPECT_EQ(profile.cut_off, "") << size;
    EXPECT_EQ(profile.gpu, "AMD Instinct MI300X") << size;
    ASSERT_EQ(profile.work.size(), 2u) << size;
    EXPECT_EQ(profile.name_of(profile.work[0]), "gemm") << size;
    EXPECT_EQ(profile.work[1].begin - profile.work[0].begin, std::chrono::nanoseconds(103'500)) << size;
  }
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

}  // namespace
}  // namespace c3sim::calibrate
