// What do copy engines cost or gain against RCCL's kernels? Claims of DMA-Latte and ConCCL marked predict (claims.csv):
// no parameter was fitted to them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/collective_fixture.h"

namespace models {
namespace {

constexpr double mib = 1048576.0;

// Microseconds of the variants of an all-gather or all-to-all by size, 1 KiB to 1 GiB; RCCL's and baseline pcpy apart.
struct Curve {
  std::map<double, double> rccl, pcpy, best;
};

Curve curve(CollectiveKind kind) {
  const PlatformSpec platform = mi300x();
  const SdmaVariant second = kind == CollectiveKind::all_gather ? SdmaVariant::bcst : SdmaVariant::swap;
  Curve result;
  for (double bytes = 1024.0; bytes <= 1024.0 * mib; bytes *= 2.0) {
    CollectiveSpec spec;
    spec.kind = kind;
    spec.bytes = sim::Bytes(bytes);
    result.rccl[bytes] = microseconds_on(platform, spec);
    spec.backend = Backend::sdma;
    result.pcpy[bytes] = result.best[bytes] = microseconds_on(platform, spec);
    for (const SdmaVariant variant : {SdmaVariant::pcpy, second, SdmaVariant::b2b}) {
      for (const bool prelaunch : {false, true}) {
        spec.variant = variant;
        spec.prelaunch = prelaunch;
        result.best[bytes] = std::min(result.best[bytes], microseconds_on(platform, spec));
      }
    }
  }
  return result;
}

// Over the sizes up to `largest`, the ratios of two curves.
std::vector<double> ratios(const std::map<double, double>& over, const std::map<double, double>& under,
                           double largest) {
  std::vector<double> result;
  for (const auto& [bytes, time] : over) {
    if (bytes <= largest) result.push_back(time / under.at(bytes));
  }
  return result;
}
double highest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }
double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}
double geometric_mean(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return std::exp(mean(values));
}

// The band of a claim, from the columns before its role; none of these rows has a comma in quotes.
std::pair<double, double> band(const std::string& id) {
  std::ifstream file(std::string(C3SIM_SOURCE_DIR) + "/validate/reference/claims.csv");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(id + ",")) continue;
    std::vector<std::string> cells;
    std::istringstream fields(line);
    for (std::string cell; std::getline(fields, cell, ',');) cells.push_back(cell);
    return {std::stod(cells[cells.size() - 3]), std::stod(cells[cells.size() - 2])};
  }
  ADD_FAILURE() << "no claim " << id;
  return {};
}

void expect_in_band(const std::string& id, double predicted) {
  const auto [low, high] = band(id);
  EXPECT_TRUE(low <= predicted && predicted <= high) << id << ": " << predicted << ", band " << low << " to " << high;
}

class DmaAgainstRccl : public testing::Test {
 protected:
  const Curve gather = curve(CollectiveKind::all_gather);
  const Curve exchange = curve(CollectiveKind::all_to_all);
};

TEST_F(DmaAgainstRccl, MeetsTheClaimsThatItMeets) {
  const std::vector<double> slow_gather = ratios(gather.pcpy, gather.rccl, 16.0 * mib);
  const std::vector<double> slow_exchange = ratios(exchange.pcpy, exchange.rccl, 16.0 * mib);
  expect_in_band("latte.all_gather.small_baseline", highest(slow_gather));
  expect_in_band("latte.all_to_all.optimised", mean(ratios(exchange.rccl, exchange.best, mib)));
  expect_in_band("conccl.dma_vs_rccl.small", std::max(highest(slow_gather), highest(slow_exchange)));
  expect_in_band("conccl.dma_vs_rccl.large", gather.rccl.at(1024.0 * mib) / gather.pcpy.at(1024.0 * mib));
  double crossover = 1024.0 * mib;
  while (gather.rccl.at(crossover / 2.0) / gather.pcpy.at(crossover / 2.0) >= 0.95) crossover /= 2.0;
  expect_in_band("conccl.dma_vs_rccl.crossover", crossover / mib);

  std::vector<double> gains = ratios(gather.pcpy, gather.best, 32.0 * mib);
  for (const double gain : ratios(exchange.pcpy, exchange.best, 32.0 * mib)) gains.push_back(gain);
  expect_in_band("latte.features.max", highest(gains));
  expect_in_band("latte.features.geomean", geometric_mean(gains));
}

// Two gaps that stay, with one cause: RCCL takes 11 us for small arrays of either collective here. The claims say 8 to
// 10 for all-gather and 13 to 18 for all-to-all, whose grouped sends and receives cost the host more; neither has been
// measured alone. Closing them fails here.
TEST_F(DmaAgainstRccl, SmallKernelCollectivesAreStillAlike) {
  EXPECT_GT(highest(ratios(exchange.pcpy, exchange.rccl, 16.0 * mib)), band("latte.all_to_all.small_baseline").second);
  EXPECT_LT(mean(ratios(gather.best, gather.rccl, mib)), band("latte.all_gather.optimised").first);
}

}  // namespace
}  // namespace models
