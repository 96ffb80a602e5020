// Work of any accepted size: its arrays fit a GPU and it is simulated within about a second, or it is refused.
#include "study/run/work_bounds.h"

#include <rapidcheck/gtest.h>

#include "models/kernels/attention.h"
#include "sim/simulator.h"
#include "study/run/testbed.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_GiB;
using sim::operator""_MiB;

const models::PlatformSpec& platform() {
  static const models::PlatformSpec spec = mi300x().spec;
  return spec;
}

const Testbed& testbed() {
  static const Testbed bed(platform());
  return bed;
}

// 2^24 sequences of 2^24 heads and tokens: 2^72 elements of queries, beyond any integer of 64 bits.
TEST(WorkBounds, RefuseArraysBeyondAnyInteger) {
  models::AttentionShape shape{.batch = 1 << 24, .heads = 1 << 24, .kv_heads = 1 << 24, .queries = 1 << 24};
  shape.keys = shape.queries;
  shape.head_dim = 128;
  EXPECT_THAT(testbed().why_impossible(shape), HasSubstr("arrays of at most 206.158 GB together are accepted"));
}

// A sequence of 16384 tokens and 2^16 heads of 128: 3 * 2^14 * 2^16 * 2^7 * 2 bytes are read and a third as much
// written, 1.1 TB; of 2^12 heads it is 68.7 GB, of which three fit 206.2 GB.
TEST(WorkBounds, NameTheNumberThatFits) {
  models::AttentionShape shape{.batch = 1024, .heads = 1 << 12, .kv_heads = 1 << 12, .queries = 16384, .keys = 16384};
  shape.head_dim = 128;
  EXPECT_THAT(testbed().why_impossible(shape), HasSubstr(", which are 3 sequences of this size"));
  shape.batch = 3;
  EXPECT_THAT(testbed().why_impossible(shape), IsEmpty());
  EXPECT_THAT(testbed().why_impossible(models::ElementwiseSpec{.read = sim::Bytes(1e12), .written = {}, .flops = {}}),
              HasSubstr("takes 1 TB and does not fit the memory of a GPU: arrays of at most 206.158 GB"));
  EXPECT_THAT(testbed().why_impossible(models::GemmShape{400000, 400000, 400000}), HasSubstr("takes 960 GB"));
  EXPECT_THAT(testbed().why_impossible(
                  models::SdmaCopySpec{.bytes = 1_GiB, .submit = models::Submission::each, .copies = 1000}),
              HasSubstr(", which are 192 blocks of this size"));
  EXPECT_THAT(testbed().why_impossible(collective(models::Backend::rccl, models::CollectiveKind::all_gather, 193_GiB)),
              HasSubstr("does not fit the memory of a GPU"));
  EXPECT_THAT(testbed().why_impossible(collective(models::Backend::rccl, models::CollectiveKind::all_gather, 192_GiB)),
              IsEmpty());
}

// In place, a kernel writes where it has read.
TEST(WorkBounds, TakeTheLargerOfWhatAKernelReadsAndWrites) {
  EXPECT_EQ(arrays_of(models::ElementwiseSpec{.read = 3_MiB, .written = 2_MiB, .flops = {}}), 3_MiB);
}

// 300000 is 1172 tiles of 256: 1.4 million workgroups of one to a CU are 4518 waves on all 304 CUs, 171698 on 8.
TEST(WorkBounds, CountWavesOnTheCusOfTheMask) {
  const models::GemmShape shape{300000, 300000, 16};
  EXPECT_THAT(why_too_many_waves(shape, platform()), IsEmpty());
  EXPECT_THAT(why_too_many_waves(shape, platform(), {0, 1}), HasSubstr("waves of workgroups on 8 CUs, 131072 are"));
  models::PlatformSpec rounds = platform();
  rounds.host.protocol = models::Protocol::rounds;
  EXPECT_THAT(why_too_many_waves(shape, rounds, {0, 8}), HasSubstr("on 64 CUs, 16384 are simulated"));
}

// Sizes up to the largest that words accept.
std::int64_t any_extent(int most_bits) {
  const int bits = *rc::gen::inRange(0, most_bits + 1);
  return std::max<std::int64_t>(1, (std::int64_t{1} << bits) - *rc::gen::inRange(0, 2));
}

sim::Bytes any_array() { return sim::Bytes(static_cast<double>(any_extent(40))); }

Work any_work() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return models::GemmShape{any_extent(24), any_extent(24), any_extent(24), models::Dtype::bf16, any_extent(24)};
    case 1: {
      models::AttentionShape shape{.batch = any_extent(24), .heads = any_extent(24), .queries = any_extent(24)};
      shape.kv_heads = shape.heads;
      shape.keys = shape.queries + any_extent(24);
      shape.head_dim = any_extent(12);
      shape.backward = *rc::gen::inRange(0, 2) == 1;
      return shape;
    }
    case 2:
      return models::ElementwiseSpec{.read = any_array(),
                                     .written = any_array(),
                                     .flops = {},
                                     .workgroups = static_cast<int>(*rc::gen::inRange(0, 1'000'001))};
    case 3: {
      auto spec = collective((*rc::gen::elementOf(sim::choices_of<models::Backend>())).second,
                             (*rc::gen::elementOf(sim::choices_of<models::CollectiveKind>())).second, any_array());
      spec.gpus = 8;
      spec.variant = (*rc::gen::elementOf(sim::choices_of<models::SdmaVariant>())).second;
      if (models::by_kernels(spec.backend)) spec.variant = {};
      return spec;
    }
    case 4: {
      models::SdmaCopySpec copy{.from = *rc::gen::element(0, models::host_device), .bytes = any_array()};
      if (*rc::gen::inRange(0, 3) == 0) return copy;
      copy.submit = (*rc::gen::elementOf(sim::choices_of<models::Submission>())).second;
      copy.copies = any_extent(24);
      return copy;
    }
    default:
      return models::RemoteKernelSpec{.peers = {1, 2}, .bytes = any_array(), .workgroups = *rc::gen::inRange(1, 305)};
  }
}

// About 10 million events are simulated in a second where they are of waves.
RC_GTEST_PROP(WorkBounds, AnySizeIsAnsweredSoonOrRefused, ()) {
  const Work work = any_work();
  RC_LOG() << to_string(work);
  Testbed bed(platform());
  if (!bed.why_impossible(work).empty()) return;
  int looks = 0;
  const sim::Interruption bound([&looks] { RC_ASSERT(++looks < 512); });  // times 4096 events
  const Timeline& timeline = bed.run({operation_of(work)});
  RC_ASSERT(timeline.makespan() > sim::Time(0));
  RC_ASSERT(timeline.makespan() < std::chrono::hours(24));
}

}  // namespace
}  // namespace c3sim::study
