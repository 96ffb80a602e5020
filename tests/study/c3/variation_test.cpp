#include "study/c3/variation.h"

#include <algorithm>
#include <functional>

#include "sim/config/config_text.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;

const std::vector<Strategy> strategies{Strategy::c3_base, Strategy::conccl};
const Scenario exchange{"small", {8192, 8192, 4096}, models::CollectiveKind::all_to_all, 128_MiB};

// These questions have known answers: a rate in units of its own, and a constant. The rate of HBM is from a data sheet.
Fractions hbm_rate(Testbed& testbed) { return {testbed.platform().gpu.memory.hbm_rate.value() / 5e12, 0.5}; }
Fractions link_rate(Testbed& testbed) { return {testbed.platform().fabric.link_rate.value() / 48.5e9, 0.5}; }
// The link energy is in pJ/B and is assumed.
Fractions link_energy(Testbed& testbed) { return {testbed.platform().gpu.power.link_energy.value() * 1e12, 0.5}; }
double picojoules(const std::string& text) {
  return sim::parse_quantity(text, sim::Dimension::energy_per_byte).value * 1e12;
}

TEST(Sensitivity, VariesWhatIsAssumedOrFittedAndNothingElse) {
  Platform platform = mi300x();
  const auto is_of_memory = [](const sim::Parameter& one) { return one.path.starts_with("gpu.memory."); };
  std::erase_if(platform.parameters, std::not_fn(is_of_memory));
  const SensitivityAnswer answer = vary_parameters(platform, hbm_rate);
  const auto times_varied = [&](const char* path) {
    return std::ranges::count(answer.parameters, path, &Sensitivity::parameter);
  };
  EXPECT_EQ(times_varied("gpu.memory.l2.port_rate"), 1) << "assumed";
  EXPECT_EQ(times_varied("gpu.memory.l2.writeback_rate"), 1) << "fitted";
  for (const Sensitivity& sensitivity : answer.parameters) EXPECT_EQ(sensitivity.largest_swing(answer.base), 0.0);
  EXPECT_EQ(times_varied("gpu.memory.infinity_cache.rate"), 0) << "measured";
  EXPECT_EQ(times_varied("gpu.memory.hbm.peak_rate"), 0) << "from a data sheet";
}

TEST(Sensitivity, FullTakesBothEndsAndPutsTheLargestSwingFirst) {
  const Platform platform = mi300x();
  const SensitivityAnswer answer = vary_parameters(platform, link_energy);
  const Sensitivity& first = answer.parameters.front();
  EXPECT_EQ(first.parameter, "gpu.power.link_energy");
  const sim::Parameter& range = *std::ranges::find(platform.parameters, first.parameter, &sim::Parameter::path);
  EXPECT_NEAR(first.at_low->at(0), picojoules(range.low), 1e-9);
  EXPECT_NEAR(first.at_high->at(0), picojoules(range.high), 1e-9);
  EXPECT_NEAR(first.swing(answer.base, 0), picojoules(range.high) - picojoules(range.low), 1e-9);
  EXPECT_EQ(first.swing(answer.base, 1), 0.0);
  EXPECT_EQ(answer.base[1], 0.5);
}

// The matrix clock must not lie below the lowest clock, 132 MHz.
TEST(Sensitivity, AnEndThatTheRestRulesOutHasNoAnswer) {
  Platform platform = mi300x();
  sim::Parameter clock;
  clock.path = "gpu.power.matrix_clock";
  clock.kind = "assumed";
  clock.low = "100 MHz";
  clock.high = "1300 MHz";
  platform.parameters = {clock};
  const SensitivityAnswer answer = vary_parameters(platform, link_rate);
  ASSERT_EQ(answer.parameters.size(), 1U);
  EXPECT_FALSE(answer.parameters[0].at_low.has_value());
  EXPECT_TRUE(answer.parameters[0].at_high.has_value());
  EXPECT_EQ(sensitivity_table(strategies, answer).table.rows().at(0).at(4), Cell());
}

// The fraction is 0.42, and 0.40 and 0.45 at the two ends: the swing is 5 points, the changes are -2 and +3.
TEST(Sensitivity, IsShownInPoints) {
  SensitivityAnswer answer{{0.42}, {{"a.b", "1", "2", Fractions{0.40}, Fractions{0.45}}}};
  const NamedTable table = sensitivity_table(std::array{Strategy::conccl}, answer);
  const std::vector<Cell>& row = table.table.rows().at(0);
  EXPECT_NEAR(std::get<double>(row[3]), 5.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row[4]), -2.0, 1e-9);
  EXPECT_NEAR(std::get<double>(row[5]), 3.0, 1e-9);
  EXPECT_THAT(table.title, HasSubstr("conccl 42.0 %"));
}

// A swing of 0.04 points is shown as 0.0, and 0.06 points as 0.1; 0.004 % is shown as 0.00, and 0.006 % as 0.01.
TEST(Sensitivity, WhatRoundsToNothingIsCountedAndLeftOut) {
  SensitivityAnswer answer{{0.5}, {}};
  for (const double swing : {0.0006, 0.0004, 0.0}) {
    answer.parameters.push_back({"a.b", "1", "2", Fractions{0.5}, Fractions{0.5 + swing}});
  }
  const NamedTable points = sensitivity_table(std::array{Strategy::conccl}, answer);
  EXPECT_EQ(points.table.rows().size(), 1u);
  EXPECT_THAT(points.title, HasSubstr("2 of 3 parameters move it by less than 0.05 points"));
  answer.base = {1.0};
  for (std::size_t i = 0; i < 3; ++i) answer.parameters[i].at_high = Fractions{std::array{1.00006, 1.00004, 1.0}[i]};
  for (Sensitivity& one : answer.parameters) one.at_low = Fractions{1.0};
  const NamedTable percent = sensitivity_table(std::vector<std::string>{"time"}, "time", answer);
  EXPECT_EQ(percent.table.rows().size(), 1u);
  EXPECT_THAT(percent.title, HasSubstr("2 of 3 parameters move it by less than 0.005 %"));
}

TEST(Sensitivity, SimulationsOnManyThreadsGiveTheSameBits) {
  const FractionsOf question = question_of(exchange, strategies);
  const auto answer = [&] { return leave_mechanisms_out(mi300x().spec, question); };
  const std::vector<Fractions> first = answer();
  EXPECT_EQ(first, answer());
  Testbed alone(mi300x().spec);
  EXPECT_EQ(first.front(), question(alone));
}

// An all-to-all after this GEMM waits for CUs; on copy engines it takes no CUs. Serial, which never varies, is not
// asked.
TEST(LeaveMechanismsOut, ShowsWhatEachCosts) {
  const std::vector<Fractions> answers = leave_mechanisms_out(mi300x().spec, question_of(exchange, strategies));
  ASSERT_EQ(answers.size(), 1 + models::all_mechanisms.size());
  const std::size_t wait = 1 + static_cast<std::size_t>(models::Mechanism::dispatch_wait);
  EXPECT_GT(answers[wait][0], answers[0][0] + 0.1);
  EXPECT_EQ(answers[wait][1], answers[0][1]);
  const ResultTable table = mechanism_table(strategies, answers).table;
  EXPECT_EQ(table.rows().at(0).at(0), Cell(std::string("none")));
  EXPECT_EQ(table.rows().at(wait).at(0), Cell(std::string("dispatch_wait")));
  EXPECT_THAT(strategies_that_vary(all_strategies()), Not(Contains(Strategy::serial)));
}

}  // namespace
}  // namespace c3sim::study
