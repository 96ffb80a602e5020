
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>

#include "study/ask/answers.h"
#include "tests/study/fitted_platform.h"
#include "tests/study/run_answers.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using ::testing::Each;
using sim::operator""_MiB;

const std::string spreads = "fitted_to:\n" + row_of("gemm", "1 KiB", "1 GiB", "0.1") +
                            row_of("rccl_all_gather", "1 KiB", "1 GiB", "0.1") +
                            row_of("copy", "1 KiB", "1 GiB", "0.1");

Question<C3Trial> both_at_once(std::vector<Strategy> strategies = {Strategy::serial, Strategy::c3_base, Strategy::c3_rp,
                                                                   Strategy::c3_best}) {
  return under(strategies, {.name = "s", .gemm = {4096, 4096, 4096}, .bytes = 16_MiB});
}

const Sampling few{fewest_draws, 1};

template <class Asked>
auto with_intervals(const Platform& platform, const Asked& question, int jobs = 1, const Sampling& sampling = few) {
  Testbed testbed(platform.spec);
  auto answer = ask(testbed, question);
  add_intervals(answer, Ensemble(platform, sampling, jobs), platform.spec, {}, jobs);
  return answer;
}

bool holds(const std::optional<Interval>& interval, sim::Time time) {
  return interval && interval->low < interval->high && interval->holds(sim::to_seconds(time).value());
}

TEST(Uncertainty, EachTimeHasItsInterval) {
  const Platform platform = fitted(launch_and_notice + spreads);
  const auto gemms =
      with_intervals(platform, Question(std::vector<GemmTrial>{{{512, 512, 512}, 304}, {{512, 512, 512}, 152}}));
  ASSERT_THAT(gemms.intervals, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(holds(gemms.intervals[i].at(0), gemms.results[i].time));
  const CollectiveTrial gather{collective(models::Backend::rccl, models::CollectiveKind::all_gather, 1_MiB)};
  const auto collectives = with_intervals(platform, gather);
  EXPECT_TRUE(holds(collectives.intervals.at(0).at(0), collectives.results[0].time));
  const auto copies = with_intervals(platform, CopyTrial{{.from = 0, .to = 1, .bytes = 1_MiB}});
  EXPECT_TRUE(holds(copies.intervals.at(0).at(0), copies.results[0].time));
  const auto both = with_intervals(platform, both_at_once());
  ASSERT_THAT(both.intervals, SizeIs(4));
  for (std::size_t i = 0; i < 4; ++i) {
    const C3Result& result = both.results[i];
    EXPECT_TRUE(holds(both.intervals[i].at(0), result.makespan)) << i;
    EXPECT_TRUE(holds(both.intervals[i].at(1), result.gemm)) << i;
    EXPECT_TRUE(holds(both.intervals[i].at(2), result.collective)) << i;
  }
}

TEST(Uncertainty, DoesNotDependOnTheNumberOfJobs) {
  const Platform platform = fitted(launch_and_notice + spreads);
  EXPECT_EQ(with_intervals(platform, both_at_once(), 1).intervals,
            with_intervals(platform, both_at_once(), 3).intervals);
}

// A GEMM and a collective with independent errors run one after the other; their sum has a smaller relative error than
// either.
TEST(Uncertainty, IndependentErrorsCancelInPart) {
  const Platform platform = fitted(spreads);
  const auto answer = with_intervals(platform, both_at_once({Strategy::serial}), 1, {200, 1});
  const C3Result& result = answer.results.front();
  const auto relative_width = [](const Interval& interval, sim::Time time) {
    return (interval.high - interval.low) / sim::to_seconds(time).value();
  };
  const double serial = relative_width(*answer.intervals[0][0], result.makespan);
  const double gemm = relative_width(*answer.intervals[0][1], result.gemm);
  // With shares a and 1 - a of the time the error is hypot(a, 1 - a) of the error of either; a width from 200 draws has
  // a standard error of 0.07.
  const double share = sim::to_seconds(result.isolated_gemm) / sim::to_seconds(result.makespan);
  EXPECT_NEAR(serial / gemm, std::hypot(share, 1.0 - share), 0.14);
}

TEST(Uncertainty, OfAPlatformWithoutErrorsIsNotKnown) {
  const auto answer = with_intervals(fitted(""), GemmTrial{{512, 512, 512}});
  EXPECT_THAT(answer.intervals.at(0), Each(std::nullopt));
  EXPECT_THAT(answer.warnings, ElementsAre(HasSubstr("fitted tells of no errors")));
}

// With the four engines at the low end the copy has no engine 10, and the change there is not known.
TEST(Uncertainty, SensitivityLeavesOutWhatAMachineCannotDo) {
  const Platform platform =
      fitted("gpu: {sdma: {engines: {value: 16, source: \"s\", kind: assumed, range: [4, 32]}}}\n");
  const CopyTrial trial{{.from = 0, .to = 1, .bytes = 1_MiB, .engine = 10}};
  const NamedTable table = sensitivity_of("time_us", platform, [&](Testbed& other) {
    return to_tables(Question(trial), ask(other, trial), other.platform());
  });
  const std::vector<Column>& columns = table.table.columns();
  const auto row = std::ranges::find(table.table.rows(), Cell(std::string("gpu.sdma.engines")),
                                     [](const std::vector<Cell>& cells) { return cells.front(); });
  ASSERT_NE(row, table.table.rows().end());
  EXPECT_EQ(row->at(place_of(columns, "time_us_low_percent")), Cell());
  EXPECT_TRUE(is_number(row->at(place_of(columns, "time_us_high_percent"))));
}

// Returns what a table of sensitivities shows of quantity "x", whose values are those that `ask` gives of a machine.
NamedTable sensitivity_to(const Platform& platform, const std::function<double(const models::PlatformSpec&)>& ask,
                          const Column& column = {"x", "x", ""}) {
  return sensitivity_of(column.key, platform, [&](Testbed& testbed) {
    ResultTable table({column});
    table.add_row({ask(testbed.platform())});
    return Results{"", {{"results", "", std::move(table)}}, {}, {}};
  });
}
Platform with_only(const sim::Parameter& parameter) {
  Platform platform = mi300x();
  platform.parameters = {parameter};
  return platform;
}
sim::Parameter matrix_clock(const std::string& low, const std::string& high) {
  sim::Parameter clock{.path = "gpu.power.matrix_clock", .low = low, .high = high, .kind = "assumed"};
  return clock;
}

TEST(Sensitivity, FullVariesWhatIsAssumedOrFittedAndNothingElse) {
  Platform platform = mi300x();
  const auto is_of_memory = [](const sim::Parameter& one) { return one.path.starts_with("gpu.memory."); };
  std::erase_if(platform.parameters, std::not_fn(is_of_memory));
  // A port's rate is assumed and a write-back's is fitted; the Infinity Cache's is measured, and HBM's from a data
  // sheet.
  const NamedTable table = sensitivity_to(platform, [](const models::PlatformSpec& machine) {
    const models::MemorySpec& memory = machine.gpu.memory;
    return (memory.port_rate + memory.writeback_rate + memory.cache_rate + memory.hbm_rate).value();
  });
  std::vector<std::string> varied;
  for (const std::vector<Cell>& row : table.table.rows()) varied.push_back(word_of(row.front()));
  EXPECT_THAT(varied, testing::UnorderedElementsAre("gpu.memory.l2.port_rate", "gpu.memory.l2.writeback_rate"));
}

// From 1.89 GHz the clock goes to 0.945 and to 2.079: 50 % lower and 10 % higher.
TEST(Sensitivity, TakesBothEnds) {
  const auto share = [](const models::PlatformSpec& machine) {
    return machine.gpu.power.matrix_clock.value() / 3.78e9;
  };
  const Platform platform = with_only(matrix_clock("945 MHz", "2079 MHz"));
  const std::vector<Cell> percent = sensitivity_to(platform, share).table.rows().at(0);
  EXPECT_NEAR(std::get<double>(percent[3]), 60.0, 1e-9);
  EXPECT_NEAR(std::get<double>(percent[4]), -50.0, 1e-9);
  EXPECT_NEAR(std::get<double>(percent[5]), 10.0, 1e-9);
  // A fraction of 0.5 becomes 0.25 or 0.55.
  const std::vector<Cell> points = sensitivity_to(platform, share, {"fraction", "", ""}).table.rows().at(0);
  EXPECT_NEAR(std::get<double>(points[3]), 30.0, 1e-9);
  EXPECT_NEAR(std::get<double>(points[4]), -25.0, 1e-9);
  EXPECT_NEAR(std::get<double>(points[5]), 5.0, 1e-9);
}

// The matrix clock must not lie below the lowest clock, 132 MHz.
TEST(Sensitivity, AnEndThatTheRestRulesOutHasNoAnswer) {
  const NamedTable table = sensitivity_to(with_only(matrix_clock("100 MHz", "1300 MHz")),
                                          [](const models::PlatformSpec& machine) { return machine.gpus; });
  EXPECT_EQ(table.table.rows().at(0).at(4), Cell());
  EXPECT_EQ(table.table.rows().at(0).at(5), Cell(0.0));
}

// A swing of 0.06 points is shown as 0.1 and one of 0.04 as 0.0; one of 0.006 % is shown as 0.01 and one of 0.004 % as
// 0.00.
TEST(Sensitivity, WhatRoundsToNothingIsCountedAndLeftOut) {
  const Platform platform = with_only(matrix_clock("1 GHz", "2 GHz"));
  for (const auto& [key, change, unit] :
       {std::tuple("fraction", 0.0005, "0.05 points"), {"time", 0.00005, "0.005 %"}}) {
    for (const double of_it : {0.8, 1.2}) {
      const NamedTable table = sensitivity_to(platform,
                                              [&, step = of_it * change](const models::PlatformSpec& machine) {
                                                return machine.gpu.power.matrix_clock.value() == 2e9 ? 1.0 + step : 1.0;
                                              },
                                              {key, "", ""});
      EXPECT_EQ(table.table.rows().size(), of_it > 1.0 ? 1U : 0U);
      EXPECT_THAT(table.title,
                  HasSubstr(fmt::format("{} of 1 parameters move it by less than {}", of_it > 1.0 ? 0 : 1, unit)));
    }
  }
}

// Tables have no further columns without --uncertainty.
TEST(Uncertainty, ColumnsAreThereWhereItWasAskedFor) {
  const auto keys = [](const ResultTable& table) {
    std::vector<std::string> all;
    for (const Column& column : table.columns())
      if (column.in_data) all.push_back(column.key);
    return all;
  };
  const Platform platform = fitted(launch_and_notice);
  Testbed testbed(platform.spec);
  const Question gemm{GemmTrial{{512, 512, 512}}};
  const std::vector<std::string> plain = keys(to_tables(gemm, ask(testbed, gemm), platform.spec).tables.front().table);
  std::vector<std::string> expected = plain;
  expected.insert(expected.end(), {"time_p5_us", "time_p95_us"});
  EXPECT_EQ(keys(to_tables(gemm, with_intervals(platform, gemm), platform.spec).tables.front().table), expected);
  const Results c3 = to_tables(both_at_once(), with_intervals(platform, both_at_once()), platform.spec);
  EXPECT_THAT(keys(c3.tables.front().table),
              testing::IsSupersetOf({"makespan_p5_us", "makespan_p95_us", "gemm_p5_us", "gemm_p95_us",
                                     "collective_p5_us", "collective_p95_us"}));
}

}  // namespace
}  // namespace c3sim::study
