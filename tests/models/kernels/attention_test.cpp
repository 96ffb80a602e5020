#include "models/kernels/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using sim::operator""_us;

// Tiles of 128 queries take 128 keys a step at half of the matrix peak of 1000 operations a cycle and 100 vector
// operations a cycle. A step with heads of 64 elements has 2 products of 2 * 128 * 128 * 64 operations, 8388.6 cycles,
// and 10 operations for each of 16384 scores, 1638.4 cycles.
constexpr double step_cycles = 8388.608 + 1638.4;
constexpr double tile_cycles = 1000.0;

PlatformSpec with_attention() {
  PlatformSpec platform = round_platform();
  platform.gpu.vector_flops_per_cycle_per_cu = 100.0;
  AttentionSpec& spec = platform.gpu.attention.emplace();
  spec.tile_queries = spec.tile_keys = 128;
  spec.efficiency = spec.vector_efficiency = 0.5;
  spec.score_flops = 10.0;
  spec.backward_flops = 30.0;
  spec.tile_cycles = tile_cycles;
  spec.decode_rows = 4;
  spec.decode_start = 3_us;
  spec.decode_combine = 2_us;
  return platform;
}

AttentionShape square(std::int64_t heads, std::int64_t tokens, bool causal) {
  AttentionShape shape;
  shape.heads = shape.kv_heads = heads;
  shape.queries = shape.keys = tokens;
  shape.head_dim = 64;
  shape.causal = causal;
  return shape;
}

double microseconds(const AttentionShape& shape, const PlatformSpec& platform = with_attention()) {
  LoneNode node(platform);
  return sim::to_microseconds(time_of(node, run_attention(node, shape))) - around_us;
}

// Matrix work runs at 1 GHz, where a thousand cycles are a microsecond.
double as_us(double cycles) { return cycles / 1000.0; }

// Eight CUs have eight tiles of two steps each. With a causal mask the first tile's queries see half of the keys. With
// four heads each CU has one tile, the longest of two steps; with eight heads each has a tile of two steps and one of
// one.
TEST(Attention, TakesTheStepsOfTheTilesOfTheHeaviestCu) {
  EXPECT_NEAR(microseconds(square(4, 256, false)), as_us(2 * step_cycles + tile_cycles), 1e-2);
  EXPECT_NEAR(microseconds(square(4, 256, true)), as_us(2 * step_cycles + tile_cycles), 1e-2);
  EXPECT_NEAR(microseconds(square(8, 256, true)), as_us(3 * step_cycles + 2 * tile_cycles), 1e-2);
}

// With very fast vector units a step consists of its products only: at half the efficiency it takes twice as long.
TEST(Attention, ByVectorUnitsHasAnEfficiencyOfItsOwn) {
  PlatformSpec platform = with_attention();
  platform.gpu.vector_flops_per_cycle_per_cu = 1e12;
  const double half = microseconds(square(4, 256, false), platform) - as_us(tile_cycles);
  platform.gpu.attention->vector_efficiency = 0.25;
  EXPECT_NEAR(microseconds(square(4, 256, false), platform) - as_us(tile_cycles), 2.0 * half, 1e-2);
}

// A gradient has five products instead of two, and 30 operations for each score.
TEST(Attention, OfAGradientHasFiveProducts) {
  AttentionShape shape = square(8, 128, false);
  shape.backward = true;
  EXPECT_NEAR(microseconds(shape), as_us(2.5 * 8388.608 + 3.0 * 1638.4 + tile_cycles), 1e-2);
  EXPECT_EQ(shape.flops().value(), 8.0 * 128 * 128 * 5 * 2 * 64);
}

AttentionShape decode(std::int64_t batch, std::int64_t kv_heads) {
  AttentionShape shape{.batch = batch, .heads = 4 * kv_heads, .kv_heads = kv_heads, .keys = 100'000, .head_dim = 64};
  return shape;
}

// The keys and values of 8 x 8 heads of 64 two-byte elements are 1.6384 GB, read at 800 GB/s; queries and results, 66
// KB, do not show for any number of query heads. A single cache is split over all eight CUs.
TEST(Attention, OfOneQueryIsTheStreamOfItsCache) {
  PlatformSpec platform = with_attention();
  EXPECT_NEAR(microseconds(decode(8, 8), platform), 2048.0 + 3.0, 0.2);
  EXPECT_NEAR(microseconds(decode(1, 1), platform), 32.0 + 3.0 + 2.0, 0.1);
  AttentionShape ungrouped = decode(8, 8);
  ungrouped.heads = ungrouped.kv_heads;
  EXPECT_NEAR(microseconds(ungrouped), microseconds(decode(8, 8)), 0.2);
  // Each of 8 CUs has eight of the 64 caches.
  platform.gpu.attention->decode_tile = 1_us;
  EXPECT_NEAR(microseconds(decode(8, 8), platform), 2048.0 + 3.0 + 8.0, 0.2);
  EXPECT_NEAR(microseconds(decode(1, 1), platform), 32.0 + 3.0 + 2.0 + 1.0, 0.1);
}

// Tiles of 64 query heads on one cache would leave it to be read by each of them: up to a tile's queries, more of them
// never take suddenly longer.
TEST(Attention, OfOneMoreQueryTakesHardlyLonger) {
  for (const char* const name : {"mi300x", "h200"}) {
    const PlatformSpec platform = read_platform(platform_file(name));
    AttentionShape shape = decode(8, 1);
    shape.heads = 16;
    double before = microseconds(shape, platform);
    for (shape.queries = 2; shape.queries < 128; ++shape.queries) {
      const double time = microseconds(shape, platform);
      EXPECT_LT(time, 1.5 * before) << name << ", " << shape.queries;
      before = time;
    }
  }
}

// A block is 128 keys, 32 KB, which arrive in 0.04 us at 800 GB/s.
TEST(Attention, OfOneBlockOfKeysIsNotSplit) {
  AttentionShape shape = decode(1, 1);
  shape.keys = 128;
  EXPECT_NEAR(microseconds(shape), 3.0, 0.1);
  shape.keys = 129;
  EXPECT_NEAR(microseconds(shape), 3.0 + 2.0, 0.1);
}

// Tiles have 64 rows, one of them useful: 64 operations for each of 1.6384e9 bytes at 500 a cycle on 8 CUs. Four
// queries of 16 heads that share keys are 64 rows: two tiles of 32 take as long as one of 64 with two useful.
TEST(Attention, OfFewQueriesMultipliesTilesInWhole) {
  PlatformSpec platform = with_attention();
  platform.gpu.attention->decode_rows = 64;
  EXPECT_NEAR(microseconds(decode(8, 8), platform), as_us(64.0 * 1.6384e9 / (500.0 * 8)) + 3.0, 3.0);
  AttentionShape shape = decode(8, 8);
  shape.heads = 2 * shape.kv_heads;
  const double of_64_rows = microseconds(shape, platform);
  platform.gpu.attention->decode_rows = 32;
  EXPECT_LT(microseconds(shape, platform), 0.6 * of_64_rows);
  shape.heads = 16 * shape.kv_heads;
  shape.queries = 4;
  EXPECT_NEAR(microseconds(shape, platform) / of_64_rows, 1.0, 0.01);
}

// With a window of 128 keys, each of four tiles of 128 queries sees its own tile and the one before: two steps, one for
// the first tile. A CU with all four tiles of a head takes 7 steps; without a window it takes 1 + 2 + 3 + 4.
TEST(Attention, WithAWindowTakesTheStepsThatItSees) {
  AttentionShape shape = square(8, 512, true);
  EXPECT_NEAR(microseconds(shape), as_us(10 * step_cycles + 4 * tile_cycles), 1e-2);
  shape.window = 128;
  EXPECT_NEAR(microseconds(shape), as_us(7 * step_cycles + 4 * tile_cycles), 1e-2);
  // Each of the first 128 queries sees one key more than the one before it; all others see 128.
  EXPECT_EQ(shape.flops().value(), 8.0 * (128 * 129 / 2 + 384 * 128) * 2 * 2 * 64);
  shape.queries = 4;
  EXPECT_EQ(shape.keys_read(), 131);
  shape.window = 512;
  shape.queries = 512;
  EXPECT_EQ(shape.flops(), square(8, 512, true).flops());
}

// The first 512 elements of keys of 576 are the value. 128 heads share one cache and read it once: 64 x 100,000 x 576
// elements of two bytes at 800 GB/s. Separate values take nearly twice as long, fp8 half.
TEST(Attention, WithSharedValuesReadsTheCacheOnce) {
  PlatformSpec platform = with_attention();
  platform.gpu.gemm.flops_per_cycle_per_cu = 1e9;
  AttentionShape shape = decode(64, 1);
  shape.heads = 128;
  shape.head_dim = 576;
  shape.value_dim = 512;
  shape.shared_values = true;
  EXPECT_TRUE(shape.decodes());
  const double bytes = 64.0 * 100'000 * 576 * 2;
  EXPECT_NEAR(microseconds(shape, platform), bytes / 800e3 + 3.0, 30.0);
  shape.cache = Dtype::fp8;
  EXPECT_NEAR(microseconds(shape, platform), 0.5 * bytes / 800e3 + 3.0, 30.0);
  EXPECT_EQ(shape.flops().value(), 64.0 * 128 * 100'000 * 2 * (576 + 512));
  shape.value_dim = 600;
  EXPECT_THAT(why_impossible(shape, platform.gpu), HasSubstr("values of 600 elements are no part of keys of 576"));
}

// Half of the matrix rate doubles the time of products. Attention multiplies tf32 as single precision, however fast the
// platform multiplies it otherwise.
TEST(Attention, InAnotherFormatHasItsRate) {
  PlatformSpec platform = with_attention();
  platform.gpu.gemm.others[static_cast<std::size_t>(Dtype::fp32)] = PrecisionSpec{500.0};
  platform.gpu.gemm.others[static_cast<std::size_t>(Dtype::tf32)] = PrecisionSpec{4000.0};
  AttentionShape shape = square(8, 128, false);
  shape.dtype = Dtype::fp32;
  const double single = microseconds(shape, platform);
  EXPECT_NEAR(single, as_us(2 * 8388.608 + 1638.4 + tile_cycles), 1e-2);
  shape.dtype = Dtype::tf32;
  EXPECT_DOUBLE_EQ(microseconds(shape, platform), single);
}

// A step draws 20 operations for each of 16384 scores, and 40 in a gradient. Vector units that multiply have a cost per
// draw of their own.
TEST(Attention, DrawsWhichScoresItDrops) {
  PlatformSpec platform = with_attention();
  platform.gpu.attention->dropout_flops = 20.0;
  platform.gpu.attention->dropout_backward_flops = 40.0;
  platform.gpu.attention->vector_dropout_flops = 70.0;
  platform.gpu.gemm.others[static_cast<std::size_t>(Dtype::fp32)] = PrecisionSpec{100.0};
  AttentionShape shape = square(8, 128, false);
  AttentionShape dropping = shape;
  dropping.dropout = true;
  EXPECT_NEAR(microseconds(dropping, platform), microseconds(shape, platform) + as_us(2.0 * 1638.4), 1e-2);
  shape.dtype = dropping.dtype = Dtype::fp32;
  EXPECT_NEAR(microseconds(dropping, platform), microseconds(shape, platform) + as_us(7.0 * 1638.4), 1e-1);
  dropping.dtype = Dtype::bf16;
  dropping.backward = true;
  EXPECT_NEAR(microseconds(dropping, platform), as_us(2.5 * 8388.608 + 7.0 * 1638.4 + tile_cycles), 1e-2);
}

// Eight CUs have three heads of four tiles of four steps to one. If tiles are dealt in turn, the first CU has tiles of
// four and two steps. If the next free CU takes the next tile, no CU has over four steps, and some have two tiles.
TEST(Attention, WhoseTilesGoToWhoIsFreeEndsSooner) {
  PlatformSpec platform = with_attention();
  EXPECT_NEAR(microseconds(square(3, 512, true), platform), as_us(6 * step_cycles + 2 * tile_cycles), 1e-2);
  platform.gpu.attention->next_free = true;
  EXPECT_NEAR(microseconds(square(3, 512, true), platform), as_us(4 * step_cycles + 2 * tile_cycles), 1e-2);
  // Each CU has the same share of 8192 tiles: 1024 tiles of two and a half steps.
  EXPECT_NEAR(microseconds(square(2048, 512, true), platform), as_us(1024 * (2.5 * step_cycles + tile_cycles)), 1.0);
}

// The keys and values of 256 tokens and 4 heads, 262144 B, are read and written at half of HBM's rate. The tiles of all
// CUs wait for their queries and results, 2 x 128 x 64 elements of 2 B each, for twice the time that HBM takes for
// them.
TEST(Attention, OfAFrameworkHasOtherKernelsBeside) {
  PlatformSpec platform = with_attention();
  const double alone = microseconds(square(4, 256, false), platform);
  const double hbm = platform.gpu.memory.hbm_rate.value();
  platform.gpu.attention->start = 5_us;
  platform.gpu.attention->append_share = 0.5;
  const double append = 2.0 * 262144.0 / (0.5 * hbm) * 1e6;
  EXPECT_NEAR(microseconds(square(4, 256, false), platform), alone + 5.0 + append, 1e-2);
  platform.gpu.attention->exposed = 2.0;
  // The wait is in cycles of the rated clock and takes longer at the 1 GHz of matrix work.
  const double slower = platform.gpu.power.rated_clock.value() / 1e9;
  const double waiting = slower * 2.0 * 8 * 128 * (64 + 64) * 2 / hbm * 1e6;
  EXPECT_NEAR(microseconds(square(4, 256, false), platform), alone + 5.0 + append + waiting, 1e-2);
}

TEST(Attention, NeedsAPlatformThatHasIt) {
  const AttentionShape possible = square(8, 128, true);
  EXPECT_THAT(why_impossible(possible, with_attention().gpu), IsEmpty());
  EXPECT_THAT(why_impossible(possible, round_platform().gpu), HasSubstr("gpu.attention"));
}

}  // namespace
}  // namespace c3sim::models
