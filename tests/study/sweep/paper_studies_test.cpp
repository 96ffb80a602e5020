// These tests check the shipped studies of T3 and FiCCO, on fewer points, by the tables that they answer with.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/config/config.h"
#include "study/experiment/experiment.h"
#include "study/sweep/sweep_study.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

const std::filesystem::path configs = C3SIM_SOURCE_DIR "/configs";

// Replaces the list of values or cases under `key` of the axis that begins with `axis`.
std::string with_axis(std::string study, const std::string& axis, const std::string& key, const std::string& values) {
  const std::size_t begin = study.find(key + ":", study.find(axis));
  const std::size_t end = std::min(study.find("\n  - ", begin), study.find("\ncolumns:", begin));
  return study.replace(begin, end - begin, key + ": " + values);
}

// Returns the tables of the points and of the summaries of a study in configs/studies.
Results answer_of(const std::string& text, const std::string& platform) {
  sim::Config config = sim::Config::from_text(text, (configs / "studies/study.yaml").string());
  sim::Section root = config.root();
  root.text("platform", "");
  Platforms platforms(read_platform(configs / "platforms" / (platform + ".yaml"), {}, folders));
  const SweepStudy study =
      read_sweep_study(root, platforms, experiment_config(configs / "studies" / root.text("experiment")), 1000);
  config.finish();
  MachineCache machines(platforms);
  ResultTable points(study.columns());
  for (std::uint64_t index = 0; index < study.points.size(); ++index) {
    const PointAnswer answer = answer_point(study, machines, index);
    EXPECT_EQ(answer.fault, "");
    points.add_row(answer.cells);
  }
  Results results{.tables = summarized(study.summaries, points)};
  results.tables.push_back({"points", "", std::move(points)});
  return results;
}

std::string text_of(const std::string& study) {
  std::ifstream file(configs / "studies" / (study + ".yaml"));
  return {std::istreambuf_iterator<char>(file), {}};
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
TEST(StudyOfT3, FusedSchedulesAreBoundByIdealOverlapAndMoveTheBytesOfARing) {
  const Results answer = answer_of(with_axis(text_of("t3"), "of: tokens", "values", "[4096]}"), "t3");
  const ResultTable& times = answer.table("times")->table;
  ASSERT_EQ(times.rows().size(), 28u);
  for (std::size_t i = 0; i < times.rows().size(); ++i) {
    const Row one(times, i);
    SCOPED_TRACE(one.word("model") + " " + one.word("sublayer"));
    EXPECT_LE(one["ideal_speedup"], 1.5 + 1e-9);
    EXPECT_LT(one["plain_us"], one["sequential_us"]);
    EXPECT_LT(one["plain_read_MB"] + one["plain_written_MB"], one["sequential_read_MB"] + one["sequential_written_MB"]);
  }
  const ResultTable& points = answer.table("points")->table;
  std::size_t plain = 0;
  for (std::size_t i = 0; i < points.rows().size(); ++i) {
    const Row one(points, i);
    if (one.word("run") != "plain" || one.word("node") != "mega_gpt_2 on 8") continue;
    const double array = 2.0 * 4096.0 * 3072.0;
    EXPECT_NEAR(1e6 * one["updated_MB"] / (2.0 * (1.0 - 1.0 / 8.0) * array), 1.0, 1e-3);
    ++plain;
  }
  EXPECT_EQ(plain, 4u);
}

// GEMMs a and b differ by a factor of two in one size, c from both by more: c is named what is best for b, and a and b
// are named what is best for each other.
std::string small_ficco() {
  std::string study = with_axis(text_of("ficco"), "name: gemm", "cases", R"(
      - {name: a, set: [m=2048, n=16384, k=8192], labels: {m: 2048, n: 16384, k: 8192}}
      - {name: b, set: [m=2048, n=8192, k=8192], labels: {m: 2048, n: 8192, k: 8192}}
      - {name: c, set: [m=256, n=8192, k=1024], labels: {m: 256, n: 8192, k: 1024}})");
  return with_axis(std::move(study), "of: schedule", "values",
                   "[serial_rccl, serial_sdma, shard_overlap, finer_hetero_fused_1d]");
}

// The time of a schedule above ideal is split into two losses. One after the other, operations do not contend and
// nothing is hidden: the loss is the shorter of the two.
TEST(StudyOfFicco, SplitsAllThatSchedulesTakeLongerIntoTwoLosses) {
  const Results answer = answer_of(small_ficco(), "mi300x");
  const ResultTable& schedules = answer.table("schedules")->table;
  ASSERT_EQ(schedules.rows().size(), 12u);
  // The second operation hides its launch and the notice of the first one's end.
  const models::HostSpec& host = mi300x().spec.host;
  const double queued = sim::to_microseconds(host.kernel_launch + host.kernel_notice);
  for (std::size_t i = 0; i < schedules.rows().size(); ++i) {
    const Row one(schedules, i);
    const double ideal = std::max(one["gemm_us"], one["collective_us"]);
    EXPECT_NEAR(ideal + one["decomposition_us"] + one["contention_us"], one["time_us"], 1e-6);
    EXPECT_GE(one["contention_us"], -1e-9) << one.word("schedule");
    if (one.word("schedule") != "serial_rccl") continue;
    const double shorter = std::min(one["gemm_us"], one["collective_us"]);
    EXPECT_NEAR(one["decomposition_us"], shorter - queued, 0.01 * shorter);
    EXPECT_NEAR(one["contention_us"], 0.0, 0.01 * shorter);
    EXPECT_DOUBLE_EQ(one["speedup"], 1.0);
  }
}

TEST(StudyOfFicco, NamesWhatIsBestForTheNearestOther) {
  const Results answer = answer_of(small_ficco(), "mi300x");
  const ResultTable& schedules = answer.table("schedules")->table;
  const auto time_of = [&](std::size_t gemm, const std::string& schedule) {
    for (std::size_t i = 4 * gemm; i < 4 * gemm + 4; ++i) {
      if (Row(schedules, i).word("schedule") == schedule) return Row(schedules, i)["time_us"];
    }
    return std::nan("");
  };
  const auto best_of = [&](std::size_t gemm) {
    std::size_t best = 4 * gemm;
    for (std::size_t i = best; i < 4 * gemm + 4; ++i) {
      if (Row(schedules, i)["time_us"] < Row(schedules, best)["time_us"]) best = i;
    }
    return Row(schedules, best).word("schedule");
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

}  // namespace
}  // namespace c3sim::study
