#include "calibrate/calibration.h"

#include <algorithm>
#include <cmath>
#include <regex>

#include "calibrate/fit/platform_text.h"
#include "calibrate/fit/task.h"
#include "calibrate/measurement_files.h"
#include "calibrate/readers/reader.h"
#include "sim/config/config_error.h"
#include "tests/calibrate/shipped_files.h"
#include "tests/config_fault.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::calibrate {
namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;

// Returns what the testbed would have measured of the trial.
Measurement measured(study::Testbed& testbed, const study::Trial& trial, int line,
                     study::Figure figure = study::Figure::time) {
  Measurement one{.file = "simulated.csv",
                  .line = line,
                  .trial = trial,
                  .seen = {{.figure = figure, .value = study::observe(testbed, trial, {figure}).at(figure)}}};
  return one;
}

// Returns what a platform with these assignments would have measured of large copies and of a kernel that does nothing.
// The measurements also carry `set` as their own assignments.
Reading simulated(std::vector<std::string> assignments, const std::vector<std::string>& set = {},
                  const std::vector<double>& copies_mib = {64.0, 1024.0}, const std::vector<int>& fan_outs = {}) {
  assignments.insert(assignments.end(), set.begin(), set.end());
  study::Testbed testbed(PlatformText(h200_file).spec(assignments));
  Reading file;
  file.name = "simulated.csv";
  const auto time = [&](const study::Trial& trial, int line) {
    file.measurements.push_back(measured(testbed, trial, line));
    file.measurements.back().assignments = set;
  };
  int line = 0;
  for (const double mib : copies_mib) time(study::CopyTrial{{.bytes = mib * 1_MiB}}, ++line);
  for (const int peers : fan_outs) time(study::FanOutTrial{peers, 16_KiB}, ++line);
  time(study::EmptyKernelTrial{}, ++line);
  return file;
}

const FittedParameter& fitted(const Calibration& calibration, const std::string& path) {
  return *std::ranges::find(calibration.parameters, path, &FittedParameter::path);
}

std::string faults_of_fit(const std::filesystem::path& base, std::vector<Reading> files) {
  return config_fault([&] { calibrate(base, files, with_folders()); });
}

TEST(Calibration, FindsTheParametersThatMeasurementsWereMadeWith) {
  const std::vector files{simulated({"fabric.link_rate=420 GB/s", "host.kernel_launch=9 us"})};
  const Calibration calibration = calibrate(h200_file, files, with_folders());
  ASSERT_EQ(calibration.parameters.size(), 2u) << "no step but these two has measurements";
  EXPECT_NEAR(split_unit(fitted(calibration, "fabric.link_rate").after).number, 420.0, 2.0);
  EXPECT_NEAR(split_unit(fitted(calibration, "host.kernel_launch").after).number, 9.0, 0.05);
  for (const FittedStep& step : calibration.steps) {
    for (const Observation& observation : step.after) EXPECT_LT(std::abs(observation.error), 0.005) << step.name;
  }
}

// Copies to several peers show the time to write a command, and copies to one peer the rest, the engine's latency.
TEST(Calibration, FullTellsHowErrorsOfOneStepAreThoseOfAnother) {
  const std::vector<double> copies_mib{1.0 / 64.0, 1.0 / 32.0, 1.0 / 16.0, 64.0, 1024.0};
  const std::vector files{simulated({}, {}, copies_mib, {2, 5, 7})};
  const Calibration calibration = calibrate(h200_file, files, with_folders());
  const auto is_the_pair = [](const Correlation& one) {
    return one.first == "gpu.sdma.transfer_latency" && one.second == "host.command_write";
  };
  const auto pair = std::ranges::find_if(calibration.correlations, is_the_pair);
  ASSERT_NE(pair, calibration.correlations.end());
  EXPECT_LT(pair->value, -0.1);
  EXPECT_NE(fitted(calibration, pair->first).step, fitted(calibration, pair->second).step);
}

// The host of the slow measurements took 5 us to notice an end, where the platform has 2.
TEST(Calibration, PredictsMeasurementsOnThePlatformThatTheyWereMadeOn) {
  const Reading usual = simulated({"host.kernel_launch=9 us"});
  const Reading slow = simulated({"host.kernel_launch=9 us"}, {"host.kernel_notice=5 us"});
  const Calibration calibration = calibrate(h200_file, std::vector{slow, usual, slow}, with_folders());
  EXPECT_NEAR(split_unit(fitted(calibration, "host.kernel_launch").after).number, 9.0, 0.05);
  EXPECT_NE(calibration.text.find("kernel_notice: {value: 2us"), std::string::npos) << "which stays as it was";
  for (const FittedStep& step : calibration.steps) {
    for (const Observation& observation : step.after) EXPECT_LT(std::abs(observation.error), 0.005) << step.name;
  }
}

// Names of files hold whatever users like; the fitted file reads back.
TEST(Calibration, NamesFilesWhateverIsInTheirNames) {
  Reading file = simulated({});
  file.name = "a \"b\" c\\d\te: #.csv";
  for (Measurement& one : file.measurements) one.file = file.name;
  const Calibration calibration = calibrate(h200_file, std::vector{file}, with_folders());
  EXPECT_EQ(fitted(calibration, "fabric.link_rate").source, "a \"b\" c\\d?e: #.csv: one pair of GPUs, one way");
  const PlatformText again(written("odd_names.yaml", calibration.text), folders);
  EXPECT_THAT(again.parameters(),
              Contains(testing::Field(&sim::Parameter::source, fitted(calibration, "fabric.link_rate").source)));
}

TEST(Calibration, FullDoesNotDependOnWhatTheBaseSaysOfFittedParameters) {
  const std::regex rate(" link_rate: \\{value: [0-9.]+ GB/s");
  const std::filesystem::path other =
      written("other_start.yaml", std::regex_replace(content(h200_file), rate, " link_rate: {value: 449 GB/s"));
  ASSERT_THAT(content(other), HasSubstr("449 GB/s"));
  const std::vector files{simulated({})};
  EXPECT_EQ(calibrate(other, files, with_folders()).text, calibrate(h200_file, files, with_folders()).text);
}

// Returns the file with the named parameter changed to another kind.
std::string of_kind(std::string text, const std::string& name, const std::string& kind) {
  const std::size_t line = text.find("  " + name + ": {");
  text.replace(text.find("kind: fitted", line), 12, "kind: " + kind);
  const std::size_t error = text.find(", error: ", line);  // only fitted numbers have an error
  return text.erase(error, text.find(", source: ", error) - error);
}

TEST(Calibration, LeavesAloneWhatIsNotFitted) {
  const std::string assumed = of_kind(content(h200_file), "link_rate", "assumed");
  const Calibration calibration =
      calibrate(written("assumed.yaml", assumed), std::vector{simulated({})}, with_folders());
  ASSERT_EQ(calibration.parameters.size(), 1u);
  EXPECT_EQ(calibration.parameters[0].path, "host.kernel_launch");
}

// A parameter that a file inherits is fitted like one that it states itself.
TEST(Calibration, FullFitsWhatAPlatformStandsOn) {
  const std::filesystem::path mine =
      written("mine.yaml", "base: h200\nname: {value: mine, source: x, kind: measured}\n");
  const std::vector files{simulated({"fabric.link_rate=420 GB/s", "host.kernel_launch=9 us"})};
  const Calibration calibration = calibrate(mine, files, with_folders());
  const Calibration of_base = calibrate(h200_file, files, with_folders());
  for (const std::string path : {"fabric.link_rate", "host.kernel_launch"}) {
    EXPECT_EQ(fitted(calibration, path).after, fitted(of_base, path).after);
    EXPECT_EQ(fitted(calibration, path).before, fitted(of_base, path).before);
  }
  const PlatformText again(written("mine_fitted.yaml", calibration.text), folders);
  EXPECT_EQ(again.spec().name, "mine");
  EXPECT_NEAR(again.spec().fabric.link_rate.value(), 420e9, 2e9);
  EXPECT_EQ(again.spec().fitted_to.size(), calibration.spreads.size()) << "those of the base are of another fit";
  const std::vector<sim::Parameter> parameters = again.parameters();
  const auto rate = std::ranges::find(parameters, "fabric.link_rate", &sim::Parameter::path);
  EXPECT_EQ(rate->kind, "fitted");
  EXPECT_EQ(rate->source, "simulated.csv: one pair of GPUs, one way");
  EXPECT_FALSE(rate->error.empty());
}

TEST(Calibration, HoldsWhatIsSet) {
  CalibrationOptions options = with_folders();
  options.assignments = {"fabric.link_rate=400 GB/s"};
  const std::vector files{simulated({"fabric.link_rate=420 GB/s", "host.kernel_launch=9 us"})};
  const Calibration calibration = calibrate(h200_file, files, options);
  ASSERT_EQ(calibration.parameters.size(), 1u);
  EXPECT_EQ(calibration.parameters[0].path, "host.kernel_launch");
  EXPECT_THAT(calibration.text,
              HasSubstr("link_rate: {value: 400 GB/s, source: \"--set fabric.link_rate=400 GB/s\", kind: what_if"));
}

// The errors are 1, -3 and 2 %: by magnitude 1, 2, 3, so the median is 2 and the worst is -3. The last step has
// observed nothing.
TEST(Calibration, ReportsMedianAndWorstOfEachGroupThatSomethingIsObservedOf) {
  Calibration calibration;
  const auto observation = [](const char* where, double error) {
    Observation one;
    one.where = where;
    one.kind = "copy";
    one.error = error;
    return one;
  };
  const std::vector<Observation> three{observation("a", 0.01), observation("b", -0.03), observation("c", 0.02)};
  calibration.steps.push_back({"copies", 1, three, three, {}, {}});
  calibration.steps.push_back({"streams", 0, {}, {}, {}, {}});
  const study::Results results = report(calibration, {});
  ASSERT_EQ(results.tables[1].table.rows().size(), 1u);
  const std::vector<study::Cell>& row = results.tables[1].table.rows()[0];
  EXPECT_DOUBLE_EQ(std::get<double>(row[4]), 2.0);
  EXPECT_DOUBLE_EQ(std::get<double>(row[7]), -3.0);
  EXPECT_EQ(std::get<std::string>(row[8]), "b");
}

TEST(Calibration, RefusesToFitNothing) {
  EXPECT_THAT(faults_of_fit(h200_file, {}), HasSubstr("there is nothing to fit"));
}

// One collective cannot tell two protocols apart: all parameters keep the values of the base, and the warning names
// what would tell them apart. Without the launch of a kernel in the file, nothing is found at all.
TEST(Calibration, KeepsParametersThatAreMoreThanTheObservations) {
  Reading file = simulated({});
  file.measurements.erase(file.measurements.begin());
  study::CollectiveTrial collective;
  collective.spec.bytes = 1_MiB;
  file.measurements[0].trial = collective;
  const std::vector files{file};
  const Calibration calibration = calibrate(h200_file, files, with_folders());
  const FittedParameter& latency = fitted(calibration, "rccl.protocols.simple.step_latency");
  EXPECT_FALSE(latency.identified);
  EXPECT_EQ(latency.after, latency.before);
  EXPECT_THAT(report(calibration, files).warnings,
              Contains(AllOf(HasSubstr("simple.step_latency keeps"), HasSubstr("collectives of 8 MiB to 256 MiB"))));
  file.measurements.resize(1);
  EXPECT_THAT(faults_of_fit(h200_file, {file}),
              AllOf(HasSubstr("simple.step_latency: 1 measurement of its kind"), HasSubstr("Nothing is written")));
}

// Copies to several peers take twice as long as they would, but differ so much from each other that they say nothing of
// the time to write a command. Until that is known, a command seems to take longer, and the engine's latency shorter.
TEST(Calibration, FitsAgainBesideWhatIsSetAside) {
  Reading file = simulated({}, {}, {1.0 / 64.0, 1.0 / 32.0, 1.0 / 16.0}, {2, 5, 7});
  for (std::size_t row = 3; row < 6; ++row) {
    Seen& seen = file.measurements[row].seen[0];
    seen.value *= 2.0;
    seen.low = 0.1 * seen.value;
    seen.high = 6.0 * seen.value;
  }
  const Calibration calibration = calibrate(h200_file, std::vector{file}, with_folders());
  EXPECT_FALSE(fitted(calibration, "host.command_write").identified);
  const FittedParameter& latency = fitted(calibration, "gpu.sdma.transfer_latency");
  EXPECT_NEAR(split_unit(latency.after).number, split_unit(latency.before).number, 0.05);
}

// One row that is a hundred times too long moves nothing, and a warning names it.
TEST(Calibration, LeavesASlipOfThePenNoSay) {
  Reading file = simulated({"fabric.link_rate=420 GB/s"});
  for (int i = 0; i < 8; ++i) file.measurements.push_back(file.measurements[0]);
  file.measurements[0].seen[0].value *= 100.0;
  file.measurements[0].line = 77;
  const std::vector files{file};
  const Calibration calibration = calibrate(h200_file, files, with_folders());
  EXPECT_NEAR(split_unit(fitted(calibration, "fabric.link_rate").after).number, 420.0, 3.0);
  EXPECT_THAT(report(calibration, files).warnings,
              Contains(AllOf(HasSubstr("simulated.csv:77: predicted -99 % off"), HasSubstr("almost no weight"))));
}

// Bytes are written as whole numbers, whatever the unit of their range: a fitted file can be fitted again.
TEST(Calibration, FitsAFittedFileAgain) {
  EXPECT_THAT(content(h200_file), HasSubstr("workgroup_in_flight: {value: 153000 B"));
  Reading file = simulated({});
  file.measurements.resize(1);
  study::CollectiveTrial collective;
  collective.spec.bytes = 1024_MiB;
  collective.spec.channels = 2;
  file.measurements[0].trial = collective;
  EXPECT_EQ(faults_of_fit(h200_file, {file}), "");
}

// Five small copies are off by 10 % each, and five large ones by nothing: both are enough to tell a spread.
TEST(Calibration, TellsTheSpreadOfCopiesByDecade) {
  Reading file = simulated({}, {}, {2.0, 3.0, 4.0, 6.0, 8.0, 32.0, 64.0, 128.0, 256.0, 512.0});
  for (std::size_t i = 0; i < 5; ++i) file.measurements[i].seen.front().value *= i % 2 == 0 ? 1.1 : 0.9;
  const std::vector<Spread> spreads = calibrate(h200_file, std::vector{file}, with_folders()).spreads;
  ASSERT_EQ(spreads.size(), 2U);
  EXPECT_EQ(spreads[0].largest, (32_MiB).value());
  EXPECT_EQ(spreads[1].smallest, (32_MiB).value()) << "nothing lies between them";
  EXPECT_GT(spreads[0].deviation, spreads[1].deviation);
}

// Five GEMMs of 64 columns, whose smallest matrix has 1 MiB, are off by 10 %; five square ones of 128 MiB are exact.
TEST(Calibration, FullTellsTheSpreadOfGemmsByTheirSmallestMatrix) {
  Reading file = simulated({});
  study::Testbed testbed(PlatformText(h200_file).spec({}));
  for (int i = 0; i < 10; ++i) {
    const study::GemmTrial gemm{.shape = {8192, i < 5 ? 64 : 8192, 8192}};
    file.measurements.push_back(measured(testbed, gemm, 100 + i));
    file.measurements.back().seen.front().value *= i >= 5 ? 1.0 : i % 2 == 0 ? 1.1 : 0.9;
  }
  std::vector<Spread> spreads = calibrate(h200_file, std::vector{file}, with_folders()).spreads;
  std::erase_if(spreads, [](const Spread& spread) { return spread.work != "gemm"; });
  ASSERT_EQ(spreads.size(), 2U);
  EXPECT_EQ(spreads[0].smallest, (1_MiB).value());
  EXPECT_EQ(spreads[0].largest, (128_MiB).value()) << "nothing lies between them";
  EXPECT_GT(spreads[0].deviation, 2 * spreads[1].deviation);
}

// Each table names its own library for its expert products: what one library takes says nothing of the other.
TEST(Calibration, FullFitsEachLibraryToItsOwnProducts) {
  const auto products_of = [](const std::string& library, const std::string& start_up) {
    const std::string path = "gpu.gemm.libraries[" + library + "].start_up=" + start_up;
    const std::vector<std::string> assignments{"gpu.gemm.library=" + library, path};
    study::Testbed testbed(PlatformText(h200_file, folders).spec(assignments));
    Reading file;
    file.name = library + ".csv";
    for (int i = 0; i < 24; ++i) {
      const study::GemmTrial gemm{.shape = {512 << (i % 4), 16 << (i % 5), 1024 << (i % 3)}};
      file.measurements.push_back(measured(testbed, gemm, i + 1, study::Figure::kernel_time));
      file.measurements.back().assignments = {"gpu.gemm.library=" + library};
    }
    return file;
  };
  const std::vector files{products_of("triton_experts", "2 us"), products_of("cutlass_experts", "8 us")};
  const Calibration calibration = calibrate(h200_file, files, with_folders());
  ASSERT_EQ(calibration.steps.size(), 2u);
  EXPECT_THAT(calibration.steps.front().name, testing::EndsWith(", cutlass_experts"));
  EXPECT_NEAR(split_unit(fitted(calibration, "gpu.gemm.libraries[1].start_up").after).number, 2.0, 0.1);
  EXPECT_NEAR(split_unit(fitted(calibration, "gpu.gemm.libraries[2].start_up").after).number, 8.0, 0.1);
}

// A step takes two hundred of thousands of rows, and the same fraction of each group.
TEST(Calibration, TakesAFewHundredOfThousandsOfRows) {
  std::vector<double> sizes(1000, 64.0);
  for (std::size_t i = 0; i < sizes.size(); i += 2) sizes[i] = 2.0;  // a table with sizes by turns
  Reading file = simulated({}, {}, sizes);
  for (std::size_t i = 0; i < 100; ++i) file.measurements[i].group = "a tenth";
  const std::vector files{std::move(file)};
  const std::vector<Task> tasks = tasks_for(PlatformText(h200_file, folders), files);
  const auto copies = std::ranges::max_element(tasks, {}, [](const Task& one) { return one.measurements.size(); });
  EXPECT_EQ(copies->measurements.size(), 200u);
  EXPECT_EQ(
      std::ranges::count(copies->measurements, 64_MiB,
                         [](const Measurement* one) { return std::get<study::CopyTrial>(one->trial).spec.bytes; }),
      100);
  EXPECT_EQ(std::ranges::count(copies->measurements, "a tenth", [](const Measurement* one) { return one->group; }), 20);
}

// The fit finds a small part of configs/platforms/h200.yaml again in rows of the data behind it: the part that large
// copies, streams and an empty kernel tell.
TEST(Calibration, FullFindsAPartOfTheSecondMachineAgain) {
  const Reader reader(C3SIM_SOURCE_DIR "/configs/formats");
  std::vector<Reading> files{admit_to_fit(reader.read(reference / "h200x8/isolated.csv"))};
  for (const char* const folder : {"h200x4", "h200x2"}) {
    for (const char* const name : {"launches.csv", "copies.csv", "streams.csv"}) {
      files.push_back(admit_to_fit(reader.read(reference / folder / name)));
    }
  }
  for (Reading& file : files) {
    std::erase_if(file.measurements, [](const Measurement& one) {
      const auto* const copy = std::get_if<study::CopyTrial>(&one.trial);
      const bool is_large_copy = copy != nullptr && copy->spec.bytes > 1_MiB;
      return !is_large_copy && !std::holds_alternative<study::StreamTrial>(one.trial) &&
             !std::holds_alternative<study::EmptyKernelTrial>(one.trial);
    });
  }
  const Calibration calibration = calibrate(h200_file, files, with_folders());
  ASSERT_EQ(calibration.parameters.size(), 5u);
  for (const sim::Parameter& shipped : PlatformText(h200_file, folders).parameters()) {
    const auto found = std::ranges::find(calibration.parameters, shipped.path, &FittedParameter::path);
    if (found == calibration.parameters.end()) continue;
    EXPECT_NEAR(split_unit(found->after).number, split_unit(shipped.value).number,
                2.0 * split_unit(shipped.error).number)
        << shipped.path;
  }
}

}  // namespace
}  // namespace c3sim::calibrate
