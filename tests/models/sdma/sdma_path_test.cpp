// These tests check that the critical path of an SDMA collective is the one that the hardware takes and fills the time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/step_log.h"
#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_ns;
using sim::operator""_KiB;
using sim::operator""_MiB;

using Step = sim::StepLog::Step;

sim::Task<> prepare_and_run(SdmaCollective& collective, sim::Time& origin, sim::Time& time) {
  co_await collective.prepare();
  origin = collective.simulator().now();
  time = co_await collective.run();
}

struct Path {
  sim::Time time{0};  // of the collective
  std::vector<Step> steps;
  sim::Time origin{0};
};

Path path_of(const CopyPlatform& platform, const CollectiveSpec& spec) {
  CopyNode node(platform);
  sim::StepLog log;
  node.simulator().record(log);
  SdmaCollective collective(spec, node.host(), node.complexes());
  Path path;
  node.simulator().spawn("collective", prepare_and_run(collective, path.origin, path.time));
  node.simulator().run();
  for (const auto id : log.critical_path(path.origin, path.origin + path.time)) path.steps.push_back(log.step(id));
  return path;
}

// With prelaunch the first step may begin before the clock of the collective starts.
void expect_filled(const Path& path, const std::string& name) {
  ASSERT_FALSE(path.steps.empty()) << name;
  EXPECT_LE(path.steps.front().begin, path.origin) << name;
  sim::Time reached = path.steps.front().begin;
  for (const Step& step : path.steps) {
    EXPECT_EQ(step.begin, reached) << name << ": " << step.track << ' ' << step.kind;
    reached = step.end;
  }
  EXPECT_EQ(reached, path.origin + path.time) << name;
}

// The steps account for every instant of a collective, however it is submitted, released and waited for.
TEST(SdmaPath, ItsStepsFillTheTime) {
  CopyPlatform base = CopyPlatform::mi300x();
  base.sdma.reduction = true;
  std::vector<CopyPlatform> platforms(8, base);
  platforms[1].host.threads = HostThreads::per_gpu;
  platforms[2].host.wait = HostWait::interrupt;
  platforms[3].sdma.completion = SdmaCompletion::fence;
  platforms[4].sdma.batched_doorbell = true;
  platforms[5].sdma.submitted_by = platforms[5].sdma.completion_seen_by = Initiator::gpu;
  platforms[6].sdma.l2_writeback = true;
  platforms[7].sdma.engines = 4;             // two engines for seven peers: several queues per engine
  platforms[7].sdma.ring = sim::Bytes(256);  // in which writers wait for room
  for (std::size_t i = 0; i < platforms.size(); ++i) {
    for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::all_reduce}) {
      for (const auto variant : {SdmaVariant::pcpy, SdmaVariant::bcst, SdmaVariant::swap, SdmaVariant::b2b}) {
        for (const bool prelaunch : {false, true}) {
          for (const sim::Bytes bytes : {1_KiB, 64_MiB}) {
            const CollectiveSpec spec = sdma_collective(kind, variant, prelaunch, bytes);
            if (!why_impossible_on_sdma(spec, platforms[i].sdma).empty()) continue;
            expect_filled(path_of(platforms[i], spec), "platform " + std::to_string(i) + ' ' +
                                                           std::string(to_string(kind)) + ' ' +
                                                           std::string(to_string(variant)));
          }
        }
      }
    }
  }
}

std::vector<std::string> words(const Path& path) {
  std::vector<std::string> words;
  for (const Step& step : path.steps) words.push_back(step.track + " " + step.kind);
  return words;
}

// One thread serves two GPUs: it writes two commands and rings for gpu0, then for gpu1, whose copy ends last.
// CopyPlatform::round() gives the time of each step.
TEST(SdmaPath, FollowsOneCommandFromTheHostAndBack) {
  CollectiveSpec spec = sdma_collective(CollectiveKind::all_gather, SdmaVariant::pcpy, false, sim::Bytes(2e4));
  spec.gpus = 2;
  const Path path = path_of(CopyPlatform::round(), spec);
  EXPECT_EQ(words(path), (std::vector<std::string>{
                             "host.thread0 write command", "host.thread0 write command", "host.thread0 ring doorbell",
                             "host.thread0 write command", "host.thread0 write command", "host.thread0 ring doorbell",
                             "gpu1.sdma3.queue0 doorbell under way", "gpu1.sdma3.queue0 fetch",
                             "gpu1.sdma3.queue0 set-up", "gpu1.sdma3 data", "gpu1.sdma3.queue0 acknowledgement",
                             "gpu1.sdma3.queue0 completion under way", "host.thread0 check word"}));
  const std::vector<sim::Time> durations{65_ns, 65_ns,  2_ns,    65_ns,  65_ns,   2_ns, 32_ns,
                                         64_ns, 256_ns, 1000_ns, 544_ns, 2048_ns, 8_ns};
  ASSERT_EQ(path.steps.size(), durations.size());
  for (std::size_t i = 0; i < durations.size(); ++i) {
    // The network ends an activity within the picosecond that follows.
    EXPECT_NEAR(static_cast<double>((path.steps[i].end - path.steps[i].begin).count()),
                static_cast<double>(durations[i].count()), 2.0)
        << path.steps[i].kind;
  }
  EXPECT_EQ(path.steps[9].subject, "packet 0 COPY_LINEAR of gpu1.sdma3.queue0");
}

TEST(SdmaPath, OfAPrelaunchedCollectiveBeginsWithTheReleaseOfItsPolls) {
  const Path path =
      path_of(CopyPlatform::mi300x(), sdma_collective(CollectiveKind::all_gather, SdmaVariant::pcpy, true, 1_KiB));
  ASSERT_GE(path.steps.size(), 3U);
  EXPECT_EQ(path.steps[0].kind, "write word");
  EXPECT_EQ(path.steps[1].kind, "polled word read");
  EXPECT_EQ(path.steps[1].subject, "packet 0 POLL_REGMEM");
  EXPECT_EQ(path.steps[2].kind, "set-up");
}

TEST(SdmaPath, OfBackToBackCopiesHasOneSetUpThatNothingHides) {
  const Path path =
      path_of(CopyPlatform::mi300x(), sdma_collective(CollectiveKind::all_gather, SdmaVariant::b2b, true, 64_MiB));
  const auto count = [&path](const std::string& kind) {
    return std::count_if(path.steps.begin(), path.steps.end(), [&](const Step& step) { return step.kind == kind; });
  };
  EXPECT_EQ(count("set-up"), 1);
  EXPECT_EQ(count("data"), 7);
}

}  // namespace
}  // namespace c3sim::models
