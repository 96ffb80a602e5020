// The claims of ConCCL about isolated work, which parameters were fitted to: every one lies in its band of
// validate/reference/claims.csv.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "study/c3_study.h"
#include "study/cu_partition.h"
#include "study/testbed.h"
#include "tests/study/claims.h"
#include "tests/study/test_platform.h"

namespace study {
namespace {

using models::Backend;
using models::CollectiveKind;
using models::GemmShape;
using sim::operator""_GiB;

class ConcclIsolated : public testing::Test {
 protected:
  double seconds(const Work& work, models::CuMask mask = {}) {
    return sim::to_seconds(testbed_.alone(work, mask)).value();
  }
  // Of a GEMM that loses so many CUs: its time over that with all of them.
  double stretch(const GemmShape& gemm, int lost) {
    return seconds(gemm, reserve(testbed_.platform(), lost).gemm) / seconds(gemm);
  }
  double largest_slowdown(int lost) {
    double largest = 0.0;
    for (const StudyPair& pair : study_.pairs) {
      if (pair.name.starts_with("cb")) largest = std::max(largest, stretch(pair.gemm, lost) - 1.0);
    }
    return largest;
  }
  // CUs of which twice as many gain less than 3 %.
  int enough_cus(CollectiveKind kind) {
    const auto time = [&](int cus) {
      return seconds(collective(Backend::rccl, kind, 1_GiB), first_cus(testbed_.platform(), cus));
    };
    int cus = 8;
    while (cus < 128 && time(cus) / time(2 * cus) >= 1.03) cus *= 2;
    return cus;
  }
  // Pairs in the class that Table II puts them in.
  double classes_right() {
    return static_cast<double>(std::ranges::count_if(study_.pairs, [this](const StudyPair& pair) {
      const sim::Time gather = testbed_.alone(collective(Backend::rccl, CollectiveKind::all_gather, pair.bytes));
      return classify(testbed_.alone(pair.gemm), gather, study_.longer_by) == pair.length_class;
    }));
  }

  Testbed testbed_{mi300x().spec};
  C3Study study_ = conccl_study(testbed_);
};

TEST_F(ConcclIsolated, ClaimsHold) {
  ASSERT_TRUE(study_.pairs.front().name.starts_with("mb1"));
  const GemmShape mb1 = study_.pairs.front().gemm;
  const std::map<std::string, double> predicted{
      {"conccl.cu_saturation.all_gather", enough_cus(CollectiveKind::all_gather)},
      {"conccl.cu_saturation.all_to_all", enough_cus(CollectiveKind::all_to_all)},
      {"conccl.cb_slowdown.32", largest_slowdown(32)},
      {"conccl.cb_slowdown.64", largest_slowdown(64)},
      {"conccl.mb_gain.8", 1.0 / stretch(mb1, 8)},
      {"conccl.classes", classes_right()}};
  const std::map<std::string, Band> bands = claimed_bands("conccl", "calibrate");
  EXPECT_EQ(bands.size(), predicted.size());
  for (const auto& [claim, band] : bands) {
    EXPECT_TRUE(band.contains(predicted.at(claim)))
        << claim << ": " << predicted.at(claim) << ", claimed " << band.low << " to " << band.high;
  }
}

}  // namespace
}  // namespace study
