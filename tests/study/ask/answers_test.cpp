#include "study/ask/answers.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "study/c3/c3_results.h"
#include "study/explain/explanation.h"
#include "tests/study/run_answers.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;

const Scenario scenario{"small", {8192, 8192, 8192}, models::CollectiveKind::all_gather, 256_MiB};

double number(const Results& results, std::size_t row, const std::string& key) {
  const ResultTable& table = results.tables.front().table;
  return std::get<double>(table.rows().at(row).at(place_of(table.columns(), key)));
}

class AnswersTest : public testing::Test {
 protected:
  Testbed testbed_{mi300x().spec};
};

TEST_F(AnswersTest, RatesFollowFromTimes) {
  // A GEMM of 8192 has 2 * 8192^3 = 1.0995e12 operations; in t us that is 1.0995e6 / t TFLOP/s.
  const Results gemm =
      tables_of(testbed_, Question(std::vector<GemmTrial>{{{8192, 8192, 8192}, 304}, {{8192, 8192, 8192}, 152}}));
  EXPECT_NEAR(number(gemm, 0, "tflops"), 1.099511627776e6 / number(gemm, 0, "time_us"), 1e-6);
  EXPECT_GT(number(gemm, 1, "time_us"), number(gemm, 0, "time_us"));
  // The bus bandwidth counts 7/8 of 256 MiB, which is 234.88 MB; in t us that is 234881.024 / t GB/s.
  const Results gather = answer_collectives(
      testbed_, std::array{collective(models::Backend::rccl, models::CollectiveKind::all_gather, 256_MiB)});
  EXPECT_NEAR(number(gather, 0, "busbw_GBps"), 234881.024 / number(gather, 0, "time_us"), 1e-6);
  const models::AttentionShape shape{.batch = 64, .heads = 8, .keys = 4097, .head_dim = 128};
  const Results attention = tables_of(testbed_, KernelTrial{shape});
  EXPECT_NEAR(number(attention, 0, "rate_GBps"),
              (shape.read() + shape.written()).value() * 1e-3 / number(attention, 0, "time_us"), 1e-6);
  // 64 MiB in t us are 67108.864 / t GB/s.
  const Results copy = tables_of(testbed_, CopyTrial{{.from = 0, .to = 1, .bytes = 64_MiB}});
  EXPECT_NEAR(number(copy, 0, "GBps"), 67108.864 / number(copy, 0, "time_us"), 1e-9);
}

// By gemm_mi300x.csv 4096x4864x32896 runs at 1207 MHz under the 750 W cap; launch and tail draw less. A GEMM of one
// tile leaves the GPU next to idle, below half of the cap, and its clock high.
TEST_F(AnswersTest, ClockAndPowerAreMeansOverTheRun) {
  const Results large = tables_of(testbed_, GemmTrial{{4096, 4864, 32896}, 304});
  EXPECT_NEAR(number(large, 0, "clock_MHz"), 1207.0, 40.0);
  EXPECT_NEAR(number(large, 0, "power_W"), 750.0, 25.0);
  const Results small = tables_of(testbed_, GemmTrial{{128, 128, 128}, 304});
  EXPECT_GT(number(small, 0, "clock_MHz"), 1.3 * number(large, 0, "clock_MHz"));
  EXPECT_LT(number(small, 0, "power_W"), 375.0);
  const Results both = answer_c3(testbed_, scenario, std::array{Strategy::serial, Strategy::conccl});
  EXPECT_LT(number(both, 1, "power_W"), 751.0);
  EXPECT_GT(number(both, 1, "power_W"), number(both, 0, "power_W"));
}

TEST_F(AnswersTest, ExplanationsAccountForTheTimeThatWorkIsActive) {
  const Results results = answer_c3(testbed_, scenario, std::array{Strategy::conccl});
  const ResultTable table = explain(testbed_, results.runs);
  double gemm = 0.0;
  double sdma = 0.0;
  for (const auto& row : table.rows()) {
    (std::get<std::string>(row[1]) == "GEMM" ? gemm : sdma) += std::get<double>(row[3]);
    EXPECT_EQ(std::get<std::string>(row[0]), "conccl");
  }
  // Bottlenecks explain all time except launches, notices, gaps between waves and work between commands of engines.
  EXPECT_LE(gemm, number(results, 0, "gemm_us"));
  EXPECT_GE(gemm, 0.95 * number(results, 0, "gemm_us"));
  EXPECT_LE(sdma, number(results, 0, "collective_us"));
  EXPECT_GE(sdma, 0.9 * number(results, 0, "collective_us"));
}

// With a tenth of its bandwidth HBM bounds a GEMM of little reuse.
TEST_F(AnswersTest, ExplanationsNameWhoSharesABottleneck) {
  Testbed testbed(mi300x({"gpu.memory.hbm.peak_rate=530 GB/s"}).spec);
  Scenario memory_bound = scenario;
  memory_bound.gemm = {8192, 8192, 256};
  const Results results = answer_c3(testbed, memory_bound, std::array{Strategy::conccl});
  const ResultTable table = explain(testbed, results.runs);
  EXPECT_TRUE(std::any_of(table.rows().begin(), table.rows().end(), [](const auto& row) {
    return std::get<std::string>(row[1]) == "GEMM" && std::get<std::string>(row[2]) == "HBM" &&
           std::get<std::string>(row[4]) == "SDMA" && std::get<double>(row[5]) > 0.0;
  }));
}

TEST_F(AnswersTest, TracesShowOperationsOnTheirStreamsAndUtilisations) {
  const Results results = answer_c3(testbed_, scenario, std::array{Strategy::c3_sp});
  std::ostringstream out;
  {
    sim::PerfettoTrace trace(out);
    trace_runs(testbed_, results.runs, trace);
  }
  EXPECT_THAT(out.str(), AllOf(HasSubstr("c3_sp"), HasSubstr("communication"), HasSubstr("gemm 8192x8192x8192"),
                               HasSubstr("gpu0 HBM [%]")));
}

}  // namespace
}  // namespace c3sim::study
