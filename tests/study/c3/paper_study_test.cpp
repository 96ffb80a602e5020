// These tests check the studies of T3 and FiCCO by the tables that they answer with.
#include "study/c3/paper_study.h"

#include <cmath>
#include <sstream>
#include <string>

#include "sim/config/config.h"
#include "study/experiment/experiment.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

const models::PlatformSpec& t3_machine() {
  static const models::PlatformSpec platform =
      read_platform(C3SIM_SOURCE_DIR "/configs/platforms/t3.yaml", {}, folders).spec;
  return platform;
}

constexpr auto t3_study = R"(
name: t3
tokens: [4096]
models: {small: {hidden: 3072, gpus: [8]}, big: {hidden: 12288, gpus: [32], large: true}}
sublayers: {projection: 1, second_product: 4}
fused: {plain: {trigger: tracker, path: ring, stores: true, tiles: 16, near_memory: hbm}}
cus_apart: [8]
summaries: [{key: published, by: [metric], rows: [{metric: plain, of: sequential_us / plain_us, fold: geomean}],
             columns: [{key: low, row: least}]}]
)";
constexpr auto small_ficco = R"(
name: small
gemms: {a: 2048x16384x8192, b: 2048x8192x8192, c: 256x8192x1024}
schedules: [serial_rccl, serial_sdma, shard_overlap, finer_hetero_fused_1d]
)";

Results answer_of(const std::string& text, const models::PlatformSpec& platform, int jobs = 1) {
  sim::Config config = sim::Config::from_text(text, "study.yaml");
  set_parameters(config, {});
  Testbed testbed(platform);
  const PaperStudy study = read_paper_study(config.root(), testbed);
  config.finish();
  return study.run(testbed, true, {}, jobs);
}

// Reads the cells of a row by the names of their columns.
class Row {
 public:
  Row(const ResultTable& table, std::size_t row) : columns_(table.columns()), cells_(table.rows().at(row)) {}
  double operator[](const std::string& key) const { return number_of(cells_.at(place_of(columns_, key))).value(); }
  std::string word(const std::string& key) const { return word_of(cells_.at(place_of(columns_, key))); }

 private:
  const std::vector<Column>& columns_;
  const std::vector<Cell>& cells_;
};

// Overlapped operations take no less than the longer one, except for the host's calls between operations that overlap
// saves; with GEMM, reduce-scatter and all-gather of equal length ideal overlap gains 3 over 2. Seven of eight parts of
// an array of 2 T H bytes arrive at each GPU's neighbour, who adds them; the neighbour's own GEMM stores seven of eight
// parts as updates, too.
TEST(SublayerStudies, FusedSchedulesAreBoundByIdealOverlapAndMoveTheBytesOfARing) {
  const Results answer = answer_of(t3_study, t3_machine());
  const ResultTable& results = answer.table("results")->table;
  const ResultTable& bytes = answer.table("bytes")->table;
  ASSERT_EQ(results.rows().size(), 4U);
  ASSERT_EQ(bytes.rows().size(), 8U);
  for (std::size_t i = 0; i < 4; ++i) {
    const Row one(results, i);
    SCOPED_TRACE(one.word("model") + " " + one.word("sublayer"));
    EXPECT_LE(one["ideal_speedup"], 1.5 + 1e-9);
    EXPECT_LE(one["plain_speedup"], 1.01 * one["ideal_speedup"]);
    EXPECT_GT(one["plain_speedup"], 1.0);
    const double array = 2.0 * 4096.0 * (one.word("model") == "small" ? 3072.0 : 12288.0);
    const Row sequential(bytes, 2 * i);
    const Row plain(bytes, 2 * i + 1);
    EXPECT_NEAR(1e6 * plain["updated_MB"] / (2.0 * (1.0 - 1.0 / one["gpus"]) * array), 1.0, 1e-3);
    EXPECT_LT(plain["hbm_read_MB"] + plain["hbm_written_MB"], sequential["hbm_read_MB"] + sequential["hbm_written_MB"]);
  }
}

// The time of a schedule above ideal is split into two losses. One after the other, operations do not contend and
// nothing is hidden: the loss is the shorter of the two.
TEST(FinerGrainStudies, SplitAllThatSchedulesTakeLongerIntoTwoLosses) {
  const ResultTable results = answer_of(small_ficco, mi300x().spec).tables.front().table;
  // The second operation hides its launch and the notice of the first one's end.
  const models::HostSpec& host = mi300x().spec.host;
  const double queued = sim::to_microseconds(host.kernel_launch + host.kernel_notice);
  for (std::size_t i = 0; i < results.rows().size(); ++i) {
    const Row one(results, i);
    const double ideal = std::max(one["gemm_us"], one["collective_us"]);
    EXPECT_NEAR(ideal + one["decomposition_us"] + one["contention_us"], one["time_us"], 1e-6);
    EXPECT_GE(one["contention_us"], 0.0) << one.word("schedule");
    if (one.word("schedule") != "serial_rccl") continue;
    const double shorter = std::min(one["gemm_us"], one["collective_us"]);
    EXPECT_NEAR(one["decomposition_us"], shorter - queued, 0.01 * shorter);
    EXPECT_NEAR(one["contention_us"], 0.0, 0.01 * shorter);
    EXPECT_DOUBLE_EQ(one["speedup"], 1.0);
  }
}

// GEMMs a and b differ by a factor of two in one size, c from both by more: c is named what is best for b, and a and b
// are named what is best for each other.
TEST(FinerGrainStudies, TheHeuristicNamesWhatIsBestForTheNearestOther) {
  const Results answer = answer_of(small_ficco, mi300x().spec);
  const ResultTable& results = answer.table("results")->table;
  const auto time_of = [&](std::size_t gemm, const std::string& schedule) {
    for (std::size_t i = 4 * gemm; i < 4 * gemm + 4; ++i) {
      if (Row(results, i).word("schedule") == schedule) return Row(results, i)["time_us"];
    }
    return std::nan("");
  };
  const auto best_of = [&](std::size_t gemm) {
    std::size_t best = 4 * gemm;
    for (std::size_t i = best; i < 4 * gemm + 4; ++i) {
      if (Row(results, i)["time_us"] < Row(results, best)["time_us"]) best = i;
    }
    return Row(results, best).word("schedule");
  };
  constexpr std::array<std::size_t, 3> nearest{1, 0, 1};
  for (std::size_t gemm = 0; gemm < 3; ++gemm) {
    const Row named(answer.table("heuristic")->table, gemm);
    EXPECT_EQ(named.word("best"), best_of(gemm));
    EXPECT_EQ(named.word("named"), best_of(nearest[gemm]));
    EXPECT_NEAR(named["lost_pct"], 100.0 * (time_of(gemm, named.word("named")) / time_of(gemm, best_of(gemm)) - 1.0),
                1e-6);
  }
}

TEST(PaperStudies, DoNotDependOnThreads) {
  for (const auto& [text, platform] : {std::pair(t3_study, t3_machine()), {small_ficco, mi300x().spec}}) {
    std::ostringstream once;
    std::ostringstream again;
    write(answer_of(text, platform, 1), Format::json, once);
    write(answer_of(text, platform, 3), Format::json, again);
    EXPECT_EQ(once.str(), again.str());
  }
}

}  // namespace
}  // namespace c3sim::study
