#include "validate/evaluation.h"

#include <atomic>

#include "tests/testing.h"
#include "tests/validate/cases.h"
#include "tests/validate/libraries.h"

namespace c3sim::validate {
namespace {

using study::Figure;
using ::testing::Eq;
using ::testing::Optional;

calibrate::Measurement measured_gather(int line, double bytes, std::vector<calibrate::Seen> seen) {
  calibrate::Measurement measurement{
      .file = "t.csv", .line = line, .group = "g", .trial = all_gather(bytes), .seen = std::move(seen)};
  return measurement;
}

std::vector<Case> cases_of(std::vector<calibrate::Measurement> measurements) {
  return validate::cases_of(measurements, "s", "mi300x", 0.1);
}

TEST(Cases, AreOneForEveryFigureThatWasSeen) {
  calibrate::Measurement measurement =
      measured_gather(7, 1024,
                      {{.figure = Figure::time, .value = 2.0, .low = 1.0, .high = 3.0, .band = 0.05},
                       {.figure = Figure::bus_bandwidth, .value = 5e9}});
  measurement.role = calibrate::Role::predict;
  measurement.assignments = {"gpus=4"};
  measurement.decision = "d";
  measurement.alternative = "a";
  const std::vector<Case> cases = cases_of({measurement});
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_EQ(cases[0].id, "s/t.csv:7/time");
  EXPECT_EQ(cases[1].id, "s/t.csv:7/bus_bandwidth");
  EXPECT_EQ(cases[0].where, "t.csv:7");
  EXPECT_EQ(cases[0].suite, "s");
  EXPECT_EQ(cases[0].group, "g");
  EXPECT_EQ(cases[0].role, calibrate::Role::predict);
  EXPECT_EQ(cases[0].machine, (Machine{"mi300x", {"gpus=4"}}));
  EXPECT_EQ(cases[0].decision, "d");
  EXPECT_EQ(cases[0].alternative, "a");
  EXPECT_EQ(cases[0].band, 0.05);
  EXPECT_EQ(cases[1].band, 0.1);  // the band of its table
  EXPECT_EQ(cases[1].measured, 5e9);
}

// The 10th and 90th percentile of 11 runs of 0 to 10 s are 1 and 9.
TEST(Cases, ThatRepeatOftenLeaveOutliersAside) {
  std::vector<calibrate::Measurement> measurements;
  for (int i = 0; i <= 10; ++i)
    measurements.push_back(measured_gather(2 + i, 1024, {{.value = static_cast<double>(i)}}));
  const std::vector<Case> cases = cases_of(measurements);
  EXPECT_THAT(cases[0].low, Optional(DoubleNear(1.0, rounding)));
  EXPECT_THAT(cases[0].high, Optional(DoubleNear(9.0, rounding)));
}

// The same work in another group was measured another way: "from a graph", or by another library.
TEST(Cases, OfOtherGroupsAreNoRepetitions) {
  calibrate::Measurement other = measured_gather(3, 1024, {{.value = 4.0}});
  other.group = "h";
  EXPECT_THAT(cases_of({measured_gather(2, 1024, {{.value = 2.0}}), other})[0].low, Eq(std::nullopt));
}

std::vector<Case> five_cases() {
  std::vector<calibrate::Measurement> measurements;
  for (int i = 0; i < 40; ++i) {
    measurements.push_back(
        measured_gather(2 + i, 1024 << (i % 20),
                        {{.figure = Figure::time, .value = 1e-5}, {.figure = Figure::bus_bandwidth, .value = 1e9}}));
  }
  return cases_of(measurements);
}

// There are 20 different trials, each measured twice and asked for two figures. A bus bandwidth is the bytes that each
// GPU sends, 7/8 of the array, over the time.
TEST(Predict, RunsEachTrialOnceAndGivesEveryFigureOfTheRun) {
  std::vector<Case> cases = five_cases();
  std::atomic<std::size_t> of = 0;
  std::atomic<int> platforms = 0;
  const Platforms count = [&](const Machine& machine) {
    ++platforms;
    return shipped_platform(machine);
  };
  predict(cases, count, 1, [&](std::size_t, std::size_t total) { of = total; });
  EXPECT_EQ(platforms, 1);
  EXPECT_EQ(of, 2u);  // batches of 16 trials: 20 trials, not 80 cases
  EXPECT_EQ(cases[0].predicted, cases[40].predicted);
  for (const Case& one : cases) ASSERT_TRUE(one.predicted.has_value()) << one.id;
  EXPECT_NEAR(*cases[1].predicted * *cases[0].predicted, 1024.0 * 7.0 / 8.0, 1e-6);
}

TEST(Predict, DoesNotDependOnTheNumberOfJobs) {
  std::vector<Case> one = five_cases();
  std::vector<Case> five = one;
  predict(one, shipped_platform, 1);
  predict(five, shipped_platform, 5);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].predicted, five[i].predicted);
}

TEST(Predict, SaysWhyItCannot) {
  std::vector<Case> cases = cases_of(
      {measured_gather(2, 4, {{.value = 1.0}}), measured_gather(3, 1024, {{.figure = Figure::latency, .value = 1.0}})});
  predict(cases, shipped_platform, 1);
  EXPECT_THAT(cases[0].predicted, Eq(std::nullopt));
  EXPECT_THAT(cases[0].why_not_predicted, HasSubstr("4B cannot be split over 8 GPUs"));
  EXPECT_THAT(cases[1].why_not_predicted, Eq("the model has no such figure here"));
}

TEST(Predict, RunsOnTheMachineAsked) {
  std::vector<Case> cases =
      cases_of({measured_gather(2, 1 << 30, {{.value = 1.0}}), measured_gather(3, 1 << 30, {{.value = 1.0}}),
                measured_gather(4, 1 << 30, {{.value = 1.0}})});
  cases[1].machine.assignments = {"gpus=4"};
  cases[2].machine.changes = {"gpus=4"};
  predict(cases, shipped_platform, 1);
  // Three links of four GPUs are slower than seven of eight.
  EXPECT_GT(cases[1].predicted, cases[0].predicted);
  EXPECT_EQ(cases[2].predicted, cases[1].predicted);
}

// Returns platforms on mi300x that have the errors which the text tells and no others.
Platforms with_errors(const Folder& folder, const std::string& text) {
  const std::filesystem::path file =
      folder.write("fitted.yaml", "base: mi300x\nname: fitted\ncorrelations: []\nfitted_to: []\n" + text);
  return [file](Machine machine) {
    machine.platform = file.string();
    study::Platform platform = shipped_platform(machine);
    for (sim::Parameter& parameter : platform.parameters) {
      if (parameter.file == file.string()) continue;
      parameter.error.clear();
      if (parameter.kind == "probed") parameter.kind = "assumed";
      parameter.alternatives.clear();
    }
    return platform;
  };
}

// Launches have an error of half a microsecond.
class Intervals : public testing::Test {
 protected:
  Folder folder_{"evaluation_test"};
  Platforms platforms_ = with_errors(folder_, "host: {kernel_launch: {value: 6 us, error: 0.5 us}}\n");
};

// An interval ends 1.645 errors on either side; 40 draws find its ends to a fortieth of all, a quarter of an error.
// The interval of a bus bandwidth is that of its time, the other way round. The fourth case asks for another machine,
// the last cannot be predicted.
TEST_F(Intervals, AreThoseOfEveryFigureOfEveryMachine) {
  std::vector<Case> cases =
      cases_of({measured_gather(2, 1024, {{.value = 1.0}, {.figure = Figure::bus_bandwidth, .value = 1.0}}),
                measured_gather(3, 1024, {{.value = 1.0}}), measured_gather(4, 1024, {{.value = 1.0}}),
                measured_gather(5, 4, {{.value = 1.0}})});
  cases[3].machine.assignments = {"gpus=4"};
  predict(cases, platforms_, 1);
  EXPECT_THAT(add_intervals(cases, platforms_, {40, 1}, 1), testing::IsEmpty());
  for (const std::size_t time : {std::size_t{0}, std::size_t{3}}) {
    EXPECT_NEAR(cases[time].interval->low, *cases[time].predicted - 1.645 * 0.5e-6, 0.25 * 0.5e-6);
    EXPECT_NEAR(cases[time].interval->high, *cases[time].predicted + 1.645 * 0.5e-6, 0.25 * 0.5e-6);
  }
  const double bytes = 1024.0 * 7.0 / 8.0;
  EXPECT_NEAR(cases[1].interval->high * cases[0].interval->low, bytes, 0.01 * bytes);
  EXPECT_EQ(cases[2].interval, cases[0].interval);
  EXPECT_EQ(cases[4].interval, std::nullopt);
}

TEST_F(Intervals, DoNotDependOnTheNumberOfJobs) {
  std::vector<Case> one = five_cases();
  predict(one, platforms_, 1);
  std::vector<Case> three = one;
  add_intervals(one, platforms_, {20, 1}, 1);
  add_intervals(three, platforms_, {20, 1}, 3);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].interval, three[i].interval);
}

// There are 20 trials in two batches, on each of 20 machines.
TEST_F(Intervals, RunEachTrialOnceOnEachMachine) {
  std::vector<Case> cases = five_cases();
  predict(cases, platforms_, 1);
  std::atomic<std::size_t> of = 0;
  add_intervals(cases, platforms_, {20, 1}, 1, [&](std::size_t, std::size_t total) { of = total; });
  EXPECT_EQ(of, 2u * 20u);
}

TEST_F(Intervals, OfPlatformsWithoutErrorsAreNone) {
  platforms_ = with_errors(folder_, "");
  std::vector<Case> cases = five_cases();
  predict(cases, platforms_, 1);
  EXPECT_THAT(add_intervals(cases, platforms_, {20, 1}, 1),
              testing::ElementsAre(HasSubstr("fitted tells of no errors of its parameters")));
  EXPECT_EQ(cases[0].interval, std::nullopt);
}

}  // namespace
}  // namespace c3sim::validate
