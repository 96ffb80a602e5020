// Concurrent runs measured on H200s, which nothing was fitted to, beside what the platform file makes of them: each
// over its longer operation alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/gemm_shape.h"
#include "study/platform_file.h"
#include "study/strategy.h"
#include "tests/models/reference_table.h"
#include "tests/study/test_platform.h"

namespace study {
namespace {

using models::CollectiveKind;

class Errors {
 public:
  void add(double predicted, double measured) { errors_.push_back(std::abs(predicted / measured - 1.0)); }
  std::size_t count() const { return errors_.size(); }
  double median() {
    std::ranges::sort(errors_);
    return errors_.at(errors_.size() / 2);
  }
  double worst() const { return *std::ranges::max_element(errors_); }

 private:
  std::vector<double> errors_;
};

// Of the H200 node, that many GPUs.
models::PlatformSpec h200(int gpus) {
  const std::vector<std::string> size{"gpus=" + std::to_string(gpus)};
  return read_platform(C3SIM_SOURCE_DIR "/configs/platforms/h200.yaml", size).spec;
}

Scenario scenario(const std::string& gemm, const std::string& kind, const std::string& bytes) {
  Scenario pair;
  pair.gemm = models::parse_gemm_shape(gemm).shape;
  pair.collective = kind == "all_gather" ? CollectiveKind::all_gather : CollectiveKind::all_to_all;
  pair.bytes = sim::Bytes(std::stod(bytes));
  return pair;
}

double over_longer(const C3Result& result) {
  return static_cast<double>(result.makespan.count()) /
         static_cast<double>(std::max(result.isolated_gemm, result.collective_alone).count());
}

// h200x8/c3_all_gather.csv: kind,gemm,collective,bytes,how,limit,wall_us,all_us,gemm_us,comm_us. The bands are those of
// the witness; "ten percent over the longer one" would score 30, 5 and 8 %.
TEST(H200Witness, TheNodeItWasFittedToRunsPairsWithinAFewPercent) {
  const std::map<std::string, std::string> shapes{{"cb1", "8192x8192x8192"},    {"cb2", "16384x8192x16384"},
                                                  {"cb3", "16384x16384x8192"},  {"cb4", "18432x8192x16384"},
                                                  {"cb5", "106496x8192x16384"}, {"mb1", "8192x57344x8192"},
                                                  {"mb2", "16384x106496x8192"}};
  std::map<std::pair<std::string, std::string>, std::map<std::string, double>> measured;  // by pair, then by how
  for (const auto& cells : models::reference_cells("c3_all_gather.csv", "h200x8")) {
    measured[{cells[1], cells[3]}][cells[4]] = std::stod(cells[7]);
  }
  Testbed testbed(h200(8));
  Errors base;
  Errors sp;
  Errors conccl;
  for (const auto& [pair, us] : measured) {
    const Scenario both = scenario(shapes.at(pair.first), "all_gather", pair.second);
    const auto compare = [&](Strategy strategy, const char* how, const char* alone, Errors& errors) {
      errors.add(over_longer(run_strategy(testbed, both, strategy)),
                 us.at(how) / std::max(us.at("isolated_gemm"), us.at(alone)));
    };
    compare(Strategy::c3_base, "nccl_gemm_first", "isolated_nccl", base);
    compare(Strategy::c3_sp, "nccl_comm_first", "isolated_nccl", sp);
    compare(Strategy::conccl, "copy_engine", "isolated_copy_engine", conccl);
  }
  EXPECT_EQ(base.count(), 15u);
  EXPECT_LT(base.median(), 0.10);
  EXPECT_LT(sp.median(), 0.04);
  EXPECT_LT(conccl.median(), 0.05);
  EXPECT_LT(std::max({base.worst(), sp.worst(), conccl.worst()}), 0.30);
}

// h200x4/c3_pairs.csv: gpus,gemm,collective,bytes,gemm_us,collective_us,c3_base_us,c3_sp_us. Other GPUs than the fit
// saw, two and four of them, other GEMMs, all-to-all, and another program that measures.
TEST(H200Witness, SmallerNodesRunPairsWithinAFewPercentToo) {
  Errors base;
  Errors sp;
  for (const int gpus : {2, 4}) {
    Testbed testbed(h200(gpus));
    for (const auto& cells : models::reference_cells("c3_pairs.csv", "h200x4")) {
      if (std::stoi(cells[0]) != gpus) continue;
      const Scenario both = scenario(cells[1], cells[2], cells[3]);
      const double longer = std::max(std::stod(cells[4]), std::stod(cells[5]));
      base.add(over_longer(run_strategy(testbed, both, Strategy::c3_base)), std::stod(cells[6]) / longer);
      sp.add(over_longer(run_strategy(testbed, both, Strategy::c3_sp)), std::stod(cells[7]) / longer);
    }
  }
  EXPECT_EQ(base.count(), 48u);
  EXPECT_LT(base.median(), 0.07);
  EXPECT_LT(sp.median(), 0.05);
  EXPECT_LT(std::max(base.worst(), sp.worst()), 0.25);
}

}  // namespace
}  // namespace study
