// The claims of ConCCL about isolated work, which parameters were fitted to: every one lies in its band of
// validate/reference/claims.csv.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "study/cu_partition.h"
#include "study/testbed.h"
#include "tests/study/claims.h"
#include "tests/study/test_platform.h"

namespace study {
namespace {

using models::Backend;
using models::CollectiveKind;
using models::GemmShape;
using sim::operator""_MiB;
using sim::operator""_GiB;

const std::map<std::string, GemmShape>& gemms() {
  static const std::map<std::string, GemmShape> of_table_1{
      {"cb1", {8192, 8192, 8192}},   {"cb2", {16384, 8192, 16384}},  {"cb3", {16384, 16384, 8192}},
      {"cb4", {18432, 8192, 16384}}, {"cb5", {106496, 8192, 16384}}, {"mb1", {8192, 57344, 8192}},
      {"mb2", {16384, 106496, 8192}}};
  return of_table_1;
}

class ConcclIsolated : public testing::Test {
 protected:
  double seconds(const Work& work, models::CuMask mask = {}) {
    return sim::to_seconds(testbed_.alone(work, mask)).value();
  }
  // Of a GEMM that loses so many CUs: its time over that with all of them.
  double stretch(const std::string& gemm, int lost) {
    const GemmShape shape = gemms().at(gemm);
    return seconds(shape, reserve(testbed_.platform(), lost).gemm) / seconds(shape);
  }
  double largest_slowdown(int lost) {
    double largest = 0.0;
    for (const auto& [name, shape] : gemms()) {
      if (name.starts_with("cb")) largest = std::max(largest, stretch(name, lost) - 1.0);
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
  // G, C or E, as Table II sorts pairs: one takes more than 1.15 times the other, or neither does.
  char length_class(const std::string& gemm, sim::Bytes bytes) {
    const double ratio =
        seconds(gemms().at(gemm)) / seconds(collective(Backend::rccl, CollectiveKind::all_gather, bytes));
    return ratio > 1.15 ? 'G' : ratio < 1.0 / 1.15 ? 'C' : 'E';
  }

  Testbed testbed_{mi300x().spec};
};

struct Pair {
  std::string gemm;
  double gib;
  char length_class;
};

const std::vector<Pair> table_2{{"mb1", 0.875, 'G'}, {"mb1", 4.0, 'G'},  {"cb3", 0.5, 'G'}, {"cb5", 1.625, 'G'},
                                {"mb2", 3.25, 'G'},  {"mb1", 6.0, 'G'},  {"cb4", 0.5, 'G'}, {"cb4", 1.0, 'G'},
                                {"mb1", 13.0, 'C'},  {"cb2", 3.25, 'C'}, {"cb4", 2.5, 'C'}, {"cb1", 0.875, 'C'},
                                {"cb5", 20.0, 'C'},  {"mb2", 26.5, 'E'}, {"cb5", 13.0, 'E'}};

TEST_F(ConcclIsolated, ClaimsHold) {
  double right = 0.0;
  for (const Pair& pair : table_2) right += length_class(pair.gemm, pair.gib * 1_GiB) == pair.length_class ? 1.0 : 0.0;
  const std::map<std::string, double> predicted{
      {"conccl.cu_saturation.all_gather", enough_cus(CollectiveKind::all_gather)},
      {"conccl.cu_saturation.all_to_all", enough_cus(CollectiveKind::all_to_all)},
      {"conccl.cb_slowdown.32", largest_slowdown(32)},
      {"conccl.cb_slowdown.64", largest_slowdown(64)},
      {"conccl.mb_gain.8", 1.0 / stretch("mb1", 8)},
      {"conccl.classes", right}};
  const std::map<std::string, Band> bands = claimed_bands("conccl", "calibrate");
  EXPECT_EQ(bands.size(), predicted.size());
  for (const auto& [claim, band] : bands) {
    EXPECT_TRUE(band.contains(predicted.at(claim)))
        << claim << ": " << predicted.at(claim) << ", claimed " << band.low << " to " << band.high;
  }
}

}  // namespace
}  // namespace study
