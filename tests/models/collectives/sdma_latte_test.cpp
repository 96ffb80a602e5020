// How close do the MI300X's parameters come to what DMA-Latte measured? The bands are those the project set itself; the
// platform file's SDMA parameters are fitted to these two tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tests/models/reference_table.h"
#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

struct Column {
  SdmaVariant variant;
  bool prelaunch;
};
constexpr std::array<Column, 5> columns{{{SdmaVariant::pcpy, true},
                                         {SdmaVariant::bcst, false},
                                         {SdmaVariant::bcst, true},
                                         {SdmaVariant::b2b, false},
                                         {SdmaVariant::b2b, true}}};

double all_gather_us(const CopyPlatform& platform, SdmaVariant variant, bool prelaunch, double bytes) {
  CopyNode node(platform);
  return sim::to_microseconds(
      node.run(sdma_collective(CollectiveKind::all_gather, variant, prelaunch, sim::Bytes(bytes))));
}
std::array<double, 5> speedups(const CopyPlatform& platform, double bytes) {
  const double baseline = all_gather_us(platform, SdmaVariant::pcpy, false, bytes);
  std::array<double, 5> result{};
  std::transform(columns.begin(), columns.end(), result.begin(), [&](const Column& column) {
    return baseline / all_gather_us(platform, column.variant, column.prelaunch, bytes);
  });
  return result;
}

// The published share of copying at 64 KiB is 46 %, between 36 and 51 of the sizes beside it: deviation 46.
TEST(DmaLatte, PhasesOfOneCopyAreWithinFourPointsButOne) {
  const CopyPlatform platform = CopyPlatform::mi300x();
  const auto rows = reference_numbers("sdma_p2p_phase_pct_mi300x_dmalatte.csv");
  ASSERT_EQ(rows.size(), 17U);
  for (const auto& row : rows) {
    CopyNode node(platform);
    const SdmaCopyPhases phases = node.run(SdmaCopySpec{0, 1, sim::Bytes(row[0]), {}});
    const std::array<sim::Time, 4> times{phases.control, phases.schedule, phases.copy, phases.completion};
    for (std::size_t i = 0; i < times.size(); ++i) {
      const double percent = 100.0 * sim::to_microseconds(times[i]) / sim::to_microseconds(phases.total());
      const bool is_steep = i == 2 && row[0] == 65536.0;
      EXPECT_NEAR(percent, row[i + 1], is_steep ? 5.0 : 4.0) << "phase " << i << " at " << row[0] << " bytes";
    }
  }
}

// One cell is left out of the errors: 1.58 for prelaunched b2b at 512 KiB lies between 3.58 and 1.84, below b2b itself.
TEST(DmaLatte, AllGatherVariantsComeOutWithinSixPercentAndInOrder) {
  const CopyPlatform platform = CopyPlatform::mi300x();
  const auto rows = reference_numbers("sdma_allgather_speedup_mi300x_dmalatte.csv");
  ASSERT_EQ(rows.size(), 22U);
  std::vector<double> errors;
  int best_right = 0;
  for (const auto& row : rows) {
    const std::array<double, 5> predicted = speedups(platform, row[0]);
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      if (row[0] != 524288 || i != 4) errors.push_back(std::abs(predicted[i] / row[i + 1] - 1.0));
    }
    const auto predicted_best = std::max_element(predicted.begin(), predicted.end()) - predicted.begin();
    const auto measured_best = std::max_element(row.begin() + 1, row.end()) - (row.begin() + 1);
    best_right += predicted_best == measured_best ? 1 : 0;
  }
  std::nth_element(errors.begin(), errors.begin() + static_cast<long>(errors.size() / 2), errors.end());
  EXPECT_LE(errors[errors.size() / 2], 0.06);
  EXPECT_GE(best_right, 20);
}

TEST(DmaLatte, LargeVariantsMeetTheirAsymptotes) {
  const CopyPlatform platform = CopyPlatform::mi300x();
  const double bytes = 2147483648.0;
  const std::array<double, 5> large = speedups(platform, bytes);
  EXPECT_NEAR(large[1], 0.43, 0.03);
  EXPECT_NEAR(large[3], 0.15, 0.03);
  // Swap against pcpy, all-to-all: 0.51 to 0.53, and the rounding of either.
  const auto all_to_all_us = [&](SdmaVariant variant) {
    CopyNode node(platform);
    return sim::to_microseconds(
        node.run(sdma_collective(CollectiveKind::all_to_all, variant, false, sim::Bytes(bytes))));
  };
  EXPECT_NEAR(all_to_all_us(SdmaVariant::pcpy) / all_to_all_us(SdmaVariant::swap), 0.52, 0.015);
}

// A gap that stays: from 128 KiB to 1 MiB every variant is measured faster against pcpy than it comes out here, by up
// to a third, as if baseline pcpy alone took 53 us there and 43 at 1 KiB. No cost per command or completion can do
// that: bcst gains 2.05 at 128 KiB, and its commands are fewer by 56 / 32 = 1.75; nor can a cost of engines or links,
// as prelaunched pcpy uses the same ones and does not slow. No published time tells more. Closing it fails here.
TEST(DmaLatte, MiddleSizesAreStillUnderestimated) {
  const auto rows = reference_numbers("sdma_allgather_speedup_mi300x_dmalatte.csv");
  const auto row = std::find_if(rows.begin(), rows.end(), [](const auto& cells) { return cells[0] == 262144; });
  ASSERT_NE(row, rows.end());
  const double predicted = speedups(CopyPlatform::mi300x(), 262144)[0];
  EXPECT_LT(predicted, 0.9 * (*row)[1]);
}

// transferbench_examples_mi300x.csv T2: 48.349 GB/s of 64 MiB.
TEST(DmaLatte, ALargeCopyRunsAtTheMeasuredRate) {
  CopyNode node(CopyPlatform::mi300x());
  const double us = sim::to_microseconds(node.run(SdmaCopySpec{0, 1, sim::Bytes(67108864), {}}).copy);
  EXPECT_NEAR(67.108864e3 / us, 48.349, 0.25);
}

}  // namespace
}  // namespace c3sim::models
