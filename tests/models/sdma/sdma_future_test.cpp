// These tests vary each parameter of the engines and compare times with closed forms in the limits where these exist:
// small all-gathers, which only latencies bound, and large ones, which only bandwidth bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_KiB;
using sim::operator""_GiB;
using sim::operator""_us;

using Change = std::function<void(CopyPlatform&)>;
using Formula = std::function<double(const CopyPlatform&)>;  // microseconds

double us(sim::Time time) { return sim::to_microseconds(time); }

double time_us(const CopyPlatform& platform, const CollectiveSpec& spec) { return us(CopyNode(platform).run(spec)); }

double command_us(const SubmissionCosts& costs) { return us(costs.command_write + costs.packet_write); }

// Returns when the thread of all GPUs rings its last doorbell; it rings after each program of `commands` commands.
double issue_us(const CopyPlatform& p, int programs, int commands) {
  const SubmissionCosts& costs = p.host.submission;
  const double own = commands * command_us(costs) + us(costs.doorbell);
  return own + (programs - 1) * std::max(own, us(costs.doorbell_interval));
}
// Returns the time of a nearly empty transfer from its set-up to the acknowledgement of its last byte.
double copy_us(const CopyPlatform& p) {
  const double memory = us(p.memory.cache_latency + p.memory.hbm_latency);
  return us(p.sdma.transfer_setup + p.sdma.transfer_latency + 2 * p.fabric.latency) + 2.0 * memory;
}
// The first part lasts from a doorbell of the host to the copy, the second from there until the host knows its end.
double schedule_us(const CopyPlatform& p) { return us(p.sdma.doorbell_latency + p.sdma.host_read_latency); }
double completion_us(const CopyPlatform& p) { return us(p.sdma.atomic_latency + p.host.submission.word_check); }
// Returns how long the thread takes to check all words once it has rung, while the last command is in flight.
double scan_us(const CopyPlatform& p, int words) { return words * us(p.host.submission.word_check); }
double small_copies_us(const CopyPlatform& p, int programs) {
  return issue_us(p, programs, 2) + std::max(scan_us(p, programs), schedule_us(p) + copy_us(p) + completion_us(p));
}
// Each of eight GPUs queues seven copies and an ATOMIC; set-ups follow each other.
double small_back_to_back_us(const CopyPlatform& p) {
  return issue_us(p, 8, 8) + schedule_us(p) + 6.0 * us(p.sdma.transfer_setup) + copy_us(p) + completion_us(p);
}
// Chunks of 1/8 take all links at once; the links, the engines or Little's law bound them.
double large_us(const CopyPlatform& p, double bytes) {
  const double link = p.fabric.link_rate.value() / (1.0 + p.fabric.reverse_share);
  const double latency = copy_us(p) - us(p.sdma.transfer_setup + p.sdma.transfer_latency);
  const double little = p.sdma.bytes_in_flight.value() / (latency * 1e-6);
  return bytes / 8.0 / std::min({link, p.sdma.payload_rate.value(), little}) * 1e6;
}

struct Future {
  const char* name;
  CollectiveSpec spec;
  Change change;
  Formula formula;
  double tolerance;  // relative
  int direction;     // of the time: -1 shorter, 0 as before, 1 longer
};
void PrintTo(const Future& future, std::ostream* out) { *out << future.name; }
class FutureEngine : public testing::TestWithParam<Future> {};

TEST_P(FutureEngine, TakesTheTimeThatItsClosedFormGives) {
  const Future& future = GetParam();
  CopyPlatform platform = CopyPlatform::mi300x();
  const double before = time_us(platform, future.spec);
  future.change(platform);
  const double after = time_us(platform, future.spec);
  const double expected = future.formula(platform);
  EXPECT_NEAR(after, expected, future.tolerance * expected);
  if (future.direction < 0) {
    EXPECT_LT(after, before);
  } else if (future.direction > 0) {
    EXPECT_GT(after, before);
  } else {
    EXPECT_EQ(after, before);
  }
}

constexpr double few_bytes = 0.002;  // what a few bytes take
constexpr double wide = 0.01;        // what one thread takes to write the packets of all copies
const CollectiveSpec small_pcpy = all_gather(SdmaVariant::pcpy, 1_KiB);
const CollectiveSpec small_b2b = all_gather(SdmaVariant::b2b, 1_KiB);
const CollectiveSpec small_bcst = all_gather(SdmaVariant::bcst, 1_KiB);
const CollectiveSpec large_pcpy = all_gather(SdmaVariant::pcpy, 4_GiB);
double small_pcpy_us(const CopyPlatform& p) { return small_copies_us(p, 56); }
double large_pcpy_us(const CopyPlatform& p) { return large_us(p, large_pcpy.bytes.value()); }
double small_bcst_us(const CopyPlatform& p) {
  return small_copies_us(p, 8 * static_cast<int>(std::ceil(7.0 / p.sdma.broadcast_width)));
}
// Copies take whole rounds over the engines that serve links.
double few_engines_us(const CopyPlatform& p) {
  return std::ceil(7.0 / (p.sdma.engines - p.sdma.host_engines)) * large_pcpy_us(p);
}

// Each GPU has seven programs of two commands and one doorbell.
double batched_us(const CopyPlatform& p) {
  const SubmissionCosts& costs = p.host.submission;
  return 8.0 * (14.0 * command_us(costs) + us(costs.doorbell)) +
         std::max(scan_us(p, 56), schedule_us(p) + copy_us(p) + completion_us(p));
}
// Each GPU submits for itself what a host thread does for seven programs, at a GPU's costs.
double gpu_driven_us(const CopyPlatform& p) {
  const SubmissionCosts& costs = p.sdma.gpu_submission;
  return 7.0 * (2.0 * command_us(costs) + us(costs.doorbell)) +
         us(p.sdma.gpu_doorbell_latency + p.sdma.gpu_read_latency) + copy_us(p) +
         us(p.sdma.gpu_completion_latency + costs.word_check);
}
double thread_per_gpu_us(const CopyPlatform& p) {
  return issue_us(p, 7, 2) + schedule_us(p) + copy_us(p) + completion_us(p);
}

const std::vector<Future> futures{
    // These engines are as measured.
    {"small_pcpy", small_pcpy, [](auto&) {}, small_pcpy_us, few_bytes, 0},
    {"small_b2b", small_b2b, [](auto&) {}, small_back_to_back_us, few_bytes, 0},
    {"small_bcst", small_bcst, [](auto&) {}, small_bcst_us, few_bytes, 0},
    {"large_pcpy", large_pcpy, [](auto&) {}, large_pcpy_us, wide, 0},
    // These engines differ in rates and number.
    {"half_payload_rate", large_pcpy, [](auto& p) { p.sdma.payload_rate *= 0.5; }, large_pcpy_us, wide, 1},
    {"endless_payload_rate", large_pcpy, [](auto& p) { p.sdma.payload_rate *= 1e3; }, large_pcpy_us, wide, -1},
    {"few_bytes_in_flight", large_pcpy, [](auto& p) { p.sdma.bytes_in_flight = 16_KiB; }, large_pcpy_us, wide, 1},
    {"endless_bytes_in_flight", large_pcpy, [](auto& p) { p.sdma.bytes_in_flight = 1_GiB; }, large_pcpy_us, wide, 0},
    {"four_link_engines", large_pcpy, [](auto& p) { p.sdma.engines = 6; }, few_engines_us, 0.04, 1},
    {"one_link_engine", large_pcpy, [](auto& p) { p.sdma.engines = 3; }, few_engines_us, 0.04, 1},
    {"more_engines_than_peers", large_pcpy, [](auto& p) { p.sdma.engines = 64; }, large_pcpy_us, wide, 0},
    // These engines differ in latencies and packets.
    {"slow_set_up", small_b2b, [](auto& p) { p.sdma.transfer_setup += 2_us; }, small_back_to_back_us, few_bytes, 1},
    {"no_set_up", small_b2b, [](auto& p) { p.sdma.transfer_setup = sim::Time(0); }, small_back_to_back_us, 0.01, -1},
    {"slow_fetch", small_b2b, [](auto& p) { p.sdma.host_read_latency += 5_us; }, small_back_to_back_us, few_bytes, 1},
    {"a_fetch_per_packet", small_b2b, [](auto& p) { p.sdma.fetch_granule = sim::Bytes(28); },
     [](const auto& p) { return small_back_to_back_us(p) + 6.0 * us(p.sdma.host_read_latency); }, few_bytes, 1},
    {"slow_doorbell", small_b2b, [](auto& p) { p.sdma.doorbell_latency += 3_us; }, small_back_to_back_us, few_bytes, 1},
    {"slow_atomic", small_b2b, [](auto& p) { p.sdma.atomic_latency += 3_us; }, small_back_to_back_us, few_bytes, 1},
    {"wide_broadcast", small_bcst, [](auto& p) { p.sdma.broadcast_width = 4; }, small_bcst_us, few_bytes, -1},
    {"broadcast_to_all", small_bcst, [](auto& p) { p.sdma.broadcast_width = 7; }, small_bcst_us, few_bytes, -1},
    {"broadcast_to_one_is_a_copy", small_bcst, [](auto& p) { p.sdma.broadcast_width = 1; }, small_pcpy_us, few_bytes,
     1},
    // These engines differ in how work is submitted and awaited.
    {"batched_doorbell", small_pcpy, [](auto& p) { p.sdma.batched_doorbell = true; }, batched_us, few_bytes, -1},
    {"thread_per_gpu", small_pcpy, [](auto& p) { p.host.threads = HostThreads::per_gpu; }, thread_per_gpu_us, few_bytes,
     -1},
    {"gpu_rings_and_waits", small_pcpy,
     [](auto& p) { p.sdma.submitted_by = p.sdma.completion_seen_by = Initiator::gpu; }, gpu_driven_us, 0.005, -1},
    {"gpu_waits", small_b2b, [](auto& p) { p.sdma.completion_seen_by = Initiator::gpu; },
     [](const auto& p) {
       return small_back_to_back_us(p) - completion_us(p) +
              us(p.sdma.gpu_completion_latency + p.sdma.gpu_submission.word_check);
     },
     few_bytes, -1},
    {"interrupts", small_b2b, [](auto& p) { p.host.wait = HostWait::interrupt; },
     // A TRAP is the ninth command, decoded after the ATOMIC; its event takes the path of a FENCE.
     [](const auto& p) {
       return small_back_to_back_us(p) + 8.0 * command_us(p.host.submission) + us(p.sdma.packet_decode) +
              us(p.sdma.fence_latency - p.sdma.atomic_latency + p.host.interrupt_latency);
     },
     few_bytes, 1}};

INSTANTIATE_TEST_SUITE_P(Engines, FutureEngine, testing::ValuesIn(futures),
                         [](const auto& test) { return test.param.name; });

// Engines reduce an array of 4 GiB, reading two operands per byte, and then gather it over the links.
TEST(FutureReduction, AllReduceIsAReductionAtTheEnginesRateAndAGather) {
  CopyPlatform platform = CopyPlatform::mi300x();
  platform.sdma.reduction = true;
  CollectiveSpec spec = large_pcpy;
  spec.kind = CollectiveKind::all_reduce;
  const double reduce_us =
      spec.bytes.value() / 8.0 * platform.sdma.reduce_cost / platform.sdma.payload_rate.value() * 1e6;
  const double expected = reduce_us + large_pcpy_us(platform);
  EXPECT_NEAR(time_us(platform, spec), expected, wide * expected);
  // The links bound both halves if faster engines have enough in flight.
  platform.sdma.reduce_cost = 0.5;
  platform.sdma.bytes_in_flight = 1_GiB;
  EXPECT_NEAR(time_us(platform, spec), 2.0 * large_pcpy_us(platform), 2.0 * wide * large_pcpy_us(platform));
}

// Copies to all seven peers wait after POLLs on one engine. With a queue per peer the engine checks all POLLs in turn;
// in one queue each POLL follows the copy before. More queues than peers change nothing.
TEST(FutureQueues, HelpUntilEveryPeerHasItsOwn) {
  CopyPlatform platform = CopyPlatform::mi300x();
  platform.sdma.engines = 3;
  const auto prelaunched_us = [&platform](int queues) {
    platform.sdma.queues_per_engine = queues;
    return time_us(platform, sdma_collective(CollectiveKind::all_gather, SdmaVariant::pcpy, true, 1_KiB));
  };
  EXPECT_LT(prelaunched_us(7), prelaunched_us(1));
  EXPECT_EQ(prelaunched_us(7), prelaunched_us(64));
}

// Writing back the L2 delays each of seven copies on the one engine: its data mover holds the next one back.
TEST(FutureWriteback, DelaysEveryCopyOfAnEngine) {
  CopyPlatform platform = CopyPlatform::mi300x();
  const double before = time_us(platform, small_b2b);
  platform.sdma.l2_writeback = true;
  const double per_copy = us(platform.sdma.l2_writeback_time);
  // All copies but the first hide their set-up during the previous write-back.
  EXPECT_NEAR(time_us(platform, small_b2b) - before, 7.0 * per_copy - 6.0 * us(platform.sdma.transfer_setup), 0.05);
}

// A ring that holds only a few packets delays nothing: the thread turns to other queues meanwhile, and an engine always
// finds a packet after the one that it works on.
TEST(RingBackPressure, CostsNoBandwidth) {
  for (const SdmaVariant variant : {SdmaVariant::pcpy, SdmaVariant::bcst, SdmaVariant::b2b}) {
    CopyPlatform platform = CopyPlatform::mi300x();
    const CollectiveSpec spec = all_gather(variant, 4_GiB);  // 129 packets a copy
    const double unhindered = time_us(platform, spec);
    platform.sdma.ring = sim::Bytes(256);
    EXPECT_NEAR(time_us(platform, spec), unhindered, 0.01 * unhindered) << to_string(variant);
  }
}

// A copy has 32769 packets in rings of 1 MiB that hold 29127: it is as fast per byte as one that fits.
TEST(RingBackPressure, LeavesATebibyteItsBandwidth) {
  const CopyPlatform platform = CopyPlatform::mi300x();
  const double fits = time_us(platform, all_gather(SdmaVariant::bcst, 64_GiB));
  EXPECT_NEAR(time_us(platform, all_gather(SdmaVariant::bcst, 1024_GiB)), 16.0 * fits, 0.01 * 16.0 * fits);
}

}  // namespace
}  // namespace c3sim::models
