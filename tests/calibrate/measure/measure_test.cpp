// c3sim-measure as its users meet it: what goes wrong, and going on after a kill. What it says of options and files
// stands in tests/data/samples/measure.samples.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "calibrate/measure/backends/boards.h"
#include "calibrate/measure/plan.h"
#include "calibrate/measure/program.h"
#include "calibrate/readers/reader.h"
#include "sim/config/config_error.h"
#include "tests/calibrate/measure/fake_runtime.h"
#include "tests/calibrate/script.h"
#include "tests/folder.h"
#include "tests/testing.h"

namespace c3sim::measure {
namespace {

struct Outcome {
  int code = 0;
  std::string out, err, abandoned;
};

// Runs c3sim-measure on fake GPUs.
Outcome run(std::vector<std::string> arguments, const FakeMachine& machine = {},
            const std::function<void()>& when_abandoned = {}, bool terminal = false) {
  std::ostringstream out, err;
  Outcome outcome;
  const Surroundings surroundings{
      .backends = {{"fake", [&](const std::vector<std::string>&) { return open_fake(machine); }}},
      .out = out,
      .err = err,
      .terminal = terminal,
      .pace = 0.01,
      .abandon = [&](const std::string& line) {
        outcome.abandoned += line;
        if (when_abandoned) when_abandoned();
      }};
  std::vector<const char*> argv{"c3sim-measure"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  outcome.code = run_program(static_cast<int>(argv.size()), argv.data(), surroundings);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

// The folder that is measured into does not exist at first.
class MeasureTest : public InFolder {
 protected:
  std::string folder() const { return path("measure"); }
  std::string text(const std::string& file) const { return content(folder() + "/" + file); }
  void write(const std::string& file, const std::string& text) const { InFolder::write("measure/" + file, text); }
  // Returns the rows of a table without its head.
  std::vector<std::string> rows(const std::string& table) const {
    std::istringstream stream(text(table));
    std::vector<std::string> all;
    for (std::string line; std::getline(stream, line);) {
      if (!line.starts_with('#')) all.push_back(line);
    }
    if (!all.empty()) all.erase(all.begin());
    return all;
  }
};

TEST_F(MeasureTest, PlansNothingTwice) {
  std::istringstream plan(run({"--dry-run"}, {.gpus = 4, .engines = 3}).out);
  std::vector<std::string> items;
  for (std::string line; std::getline(plan, line);) items.push_back(line);
  std::ranges::sort(items);
  EXPECT_EQ(std::ranges::adjacent_find(items), items.end());
}

// With two GPUs a schedule has one GEMM, one for each shard, or eight, and one more where the own shard is apart; and
// as many pulls from the other GPU, or collectives, as it has parts to wait for.
TEST_F(MeasureTest, EnqueuesTheStepsOfEachDependentSchedule) {
  using Steps = std::array<int, 3>;  // GEMMs, copies, collectives
  std::set<Steps> runs;
  Steps run_of_gpu_0{};
  FakeMachine machine;
  machine.before = [&](int gpu, const std::string& call) {
    if (gpu != 0) return;
    run_of_gpu_0[0] += call == "gemm" ? 1 : 0;
    run_of_gpu_0[1] += call == "copy" ? 1 : 0;
    run_of_gpu_0[2] += call == "collective" ? 1 : 0;
    if (call == "done" && run_of_gpu_0 != Steps{}) runs.insert(std::exchange(run_of_gpu_0, {}));
  };
  ASSERT_EQ(run({"--out", folder(), "--only", "dependent", "--shapes", "256x1024x256"}, machine).code, 0);
  EXPECT_THAT(rows("dependent.csv"), SizeIs(7));
  EXPECT_THAT(runs, UnorderedElementsAre(Steps{1, 0, 1}, Steps{1, 1, 0}, Steps{2, 1, 0}, Steps{8, 8, 0}, Steps{9, 8, 0},
                                         Steps{8, 0, 8}, Steps{9, 0, 8}));
}

TEST_F(MeasureTest, FullEveryTableIsReadByItsForm) {
  ASSERT_EQ(run({"--out", folder(), "--quick"}, {.gpus = 4, .engines = 2}).code, 0);
  const calibrate::Reader reader(C3SIM_SOURCE_DIR "/configs/formats");
  for (const Kind& kind : kinds()) {
    const std::string file = std::string(kind.name) + ".csv";
    ASSERT_THAT(rows(file), Not(IsEmpty())) << file;
    const calibrate::Reading reading = reader.read(folder() + "/" + file);
    EXPECT_EQ(reading.format, kind.name);
    EXPECT_EQ(reading.faults.empty() ? "" : sim::ConfigError(reading.faults).what(), std::string()) << file;
    EXPECT_THAT(reading.remarks, IsEmpty()) << file;
    EXPECT_EQ(reading.measurements.size() + reading.left_out.size(), rows(file).size()) << file;
    for (const calibrate::Measurement& measurement : reading.measurements) {
      // Collectives say themselves how many GPUs take part, however many the machine has.
      const auto* const collective = std::get_if<study::CollectiveTrial>(&measurement.trial);
      if (collective != nullptr && collective->spec.gpus == 4) continue;
      EXPECT_THAT(measurement.assignments, ::testing::ElementsAre("gpus=4")) << measurement.where();
    }
  }
}

// The timed work begins after a kernel that stays for a while, and ends before the hog is told to end.
TEST_F(MeasureTest, ProbesBesideAHogBeginBehindIt) {
  std::vector<std::string> calls;
  FakeMachine machine{.gpus = 1};
  machine.before = [&](int, const std::string& call) {
    if (call == "hog" || call == "stay" || call == "gemm") calls.push_back(call);
  };
  ASSERT_EQ(run({"--out", folder(), "--only", "probes", "--quick", "--shapes", "1000x1000x1000"}, machine).code, 0);
  for (const std::string& row : rows("probes.csv")) {
    EXPECT_THAT(row,
                AllOf(StartsWith("1000x1000x1000,,,,hog,"), HasSubstr(",16,probe,1,"), HasSubstr(",9.000,,9.000,,")));
  }
  ASSERT_GT(calls.size(), 6U);
  const std::vector<std::string> last(calls.end() - 6, calls.end());
  EXPECT_THAT(last, ::testing::ElementsAre("hog", "stay", "gemm", "hog", "stay", "gemm"));
}

// The plan is for a node of eight with the protocol of real GPUs: warm-ups of half a second, nine runs that count.
TEST_F(MeasureTest, ProbesAreThoughtToTakeLessThanAMinute) {
  Wish wish;
  wish.only = {"probes"};
  Machine machine;
  machine.gpus = 8;
  machine.device.cus = 304;
  machine.device.memory = std::size_t{192} << 30;
  double seconds = 0.0;
  for (const Item& item : make_plan(wish, machine, Protocol())) seconds += item.seconds;
  EXPECT_GT(seconds, 10.0);
  EXPECT_LT(seconds, 60.0);
}

std::vector<std::string> short_run(const std::string& folder) {
  return {"--only", "gemms", "--shapes", "256x256x256,512x512x512", "--repetitions", "3", "--out", folder};
}

TEST_F(MeasureTest, DropsTornLinesAndMeasuresThemAgain) {
  ASSERT_EQ(run(short_run(folder())).code, 0);
  const std::string table = text("gemms.csv"), ledger = text("progress.txt");
  // The first run was killed while it wrote a row, and while it noted the row before.
  const std::string_view last = "\n";
  const std::size_t torn = ledger.rfind(last, ledger.size() - 2) + 10;
  write("progress.txt", ledger.substr(0, torn));
  write("gemms.csv", table + "4096x40");
  const Outcome again = run(short_run(folder()));
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("1 measured, 15 were there already"));
  EXPECT_THAT(rows("gemms.csv"), SizeIs(16));
  EXPECT_THAT(text("gemms.csv"), Not(HasSubstr("4096x40")));
}

TEST_F(MeasureTest, SeesThatATableWasChanged) {
  ASSERT_EQ(run(short_run(folder())).code, 0);
  const std::string table = text("gemms.csv");
  write("gemms.csv", table.substr(0, table.size() - 9));
  const Outcome outcome = run(short_run(folder()));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("is shorter than when it was written"));
}

TEST_F(MeasureTest, BeginsNothingAfterItsTimeLimit) {
  FakeMachine machine;
  machine.before = [](int, const std::string& call) {
    if (call == "prepare_gemm") std::this_thread::sleep_for(std::chrono::milliseconds(700));
  };
  std::vector<std::string> arguments = short_run(folder());
  arguments.insert(arguments.end(), {"--time-limit", "0.01"});  // 0.6 s
  const Outcome outcome = run(arguments, machine);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("1 measured, 15 not begun: the same command goes on with them"));
}

FakeMachine machine_that(std::function<void(int gpu, const std::string& call)> before) {
  FakeMachine machine;
  machine.before = std::move(before);
  return machine;
}

TEST_F(MeasureTest, KeepsFinishedRowsWhenAGpuVanishes) {
  std::atomic<int> prepared = 0;
  const Outcome outcome = run(short_run(folder()), machine_that([&](int gpu, const std::string& call) {
                                if (call == "prepare_gemm" && gpu == 1) ++prepared;
                                if (gpu == 1 && prepared > 2 && call == "gemm") {
                                  throw GpuError(GpuError::Kind::lost, "the GPU has fallen off the bus");
                                }
                              }));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("the GPU has fallen off the bus"));
  EXPECT_THAT(outcome.abandoned, HasSubstr("2 measured, 1 left out, 13 not begun"));
  EXPECT_THAT(rows("gemms.csv"), SizeIs(2));
  EXPECT_THAT(run(short_run(folder())).err, HasSubstr("14 measured, 2 were there already"));
}

TEST_F(MeasureTest, StopsWhereWorkDoesNotEndAndPassesItNextTime) {
  std::atomic<int> prepared = 0;
  FakeMachine machine = machine_that([&](int gpu, const std::string& call) {
    if (call == "prepare_gemm" && gpu == 1) ++prepared;
  });
  machine.ends = [&](int gpu) { return gpu == 0 || prepared < 2; };
  const Outcome outcome = run(short_run(folder()), machine);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("gemms gemm=512x512x512 cus=64 hangs: GPU 1 does not end its work"));
  EXPECT_THAT(text("progress.txt"), HasSubstr("gemms,gemm=512x512x512 cus=64,given up,"));
  EXPECT_THAT(run(short_run(folder())).err, HasSubstr("14 measured, 2 were there already"));
  EXPECT_THAT(rows("gemms.csv"), SizeIs(15));
}

// In production the watchdog ends the program; here the call is abandoned, so that the test ends.
TEST_F(MeasureTest, StopsWhereACallNeverComesBack) {
  std::atomic<bool> abandoned = false;
  const Outcome outcome =
      run({"--out", folder(), "--only", "collectives", "--quick"}, machine_that([&](int gpu, const std::string& call) {
            while (gpu == 1 && call == "join" && !abandoned) std::this_thread::yield();
          }),
          [&] { abandoned = true; });
  EXPECT_THAT(outcome.abandoned, HasSubstr("collectives collective=all_gather bytes=1073741824"));
  EXPECT_THAT(outcome.abandoned, HasSubstr("hangs in a call that never comes back"));
  EXPECT_THAT(text("progress.txt"), HasSubstr("given up,0,a call never came back"));
}

TEST_F(MeasureTest, SeesThatAFailureTookTheGpuWithIt) {
  std::atomic<bool> dead = false;
  const Outcome outcome = run(short_run(folder()), machine_that([&](int gpu, const std::string& call) {
                                if (gpu == 0 && call == "prepare_gemm") {
                                  dead = true;
                                  throw GpuError(GpuError::Kind::failed, "status 7");
                                }
                                if (dead && gpu == 1 && call == "record") {
                                  throw GpuError(GpuError::Kind::failed, "status 8");
                                }
                              }));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("a GPU answers no more"));
}

// Four GEMMs are thought to take equally long. None can be measured for a reason that is told once, in place of the
// bar.
TEST_F(MeasureTest, DrawsABarOnATerminalAlone) {
  const FakeMachine machine = machine_that([](int, const std::string& call) {
    if (call == "prepare_gemm") throw GpuError(GpuError::Kind::unsupported, "no GEMMs");
  });
  std::vector<std::string> arguments{"--only", "gemms", "--quick", "--shapes", "256x256x256", "--out", folder()};
  const std::string drawn = run(arguments, machine, {}, true).err;
  EXPECT_THAT(drawn, StartsWith("\r\033[K[........................] 0/4, "));
  EXPECT_THAT(drawn, HasSubstr("\r\033[Kleft out: gemms gemm=256x256x256 cus=64: no GEMMs\n\r\033[K["));
  EXPECT_THAT(drawn, HasSubstr("......] 3/4, "));
  arguments.back() += "/again";
  EXPECT_THAT(run(arguments, machine).err, StartsWith("  0 %  gemms, 0:00 left\nleft out: gemms "));
}

// Makes the machine from lines of settings: "gpus N", "boards no", "driver NAME", and "throws KIND CALL WHAT", which
// makes that call fail on every GPU, or, with "at GPU N", the N-th call on one GPU alone.
FakeMachine machine_of(const std::string& settings, int& calls) {
  FakeMachine machine;
  GpuError::Kind kind = GpuError::Kind::failed;
  std::string call, what;
  int gpu_at_fault = -1, nth = 0;
  std::istringstream lines(settings);
  for (std::string word; lines >> word;) {
    if (word == "gpus") lines >> machine.gpus;
    if (word == "driver") lines >> machine.driver;
    if (word == "boards") machine.boards = !(lines >> word && word == "no");
    if (word == "at") lines >> gpu_at_fault >> nth;
    if (word == "throws") {
      lines >> word >> call;
      if (word == "unsupported") kind = GpuError::Kind::unsupported;
      std::getline(lines >> std::ws, what);
    }
  }
  machine.before = [=, &calls](int gpu, const std::string& name) {
    if (call.empty() || name != call || (nth > 0 && (gpu != gpu_at_fault || ++calls != nth))) return;
    throw GpuError(kind, "{}", what);
  };
  return machine;
}

TEST(MeasureSamples, OfCommandLines) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "measure_samples";
  expect_samples("measure.samples", [&folder](const Sample& sample) {
    return said_of_script(sample, folder, [](const std::vector<std::string>& words, const std::string& settings) {
      int calls = 0;
      const Outcome outcome = run(words, machine_of(settings, calls));
      return Said{outcome.code, outcome.out, outcome.err + outcome.abandoned};
    });
  });
}

// The test writes the amdgpu driver's files, as its documentation lays them out.
using AmdBoardTest = MeasureTest;

TEST_F(AmdBoardTest, ReadsPowerClockAndCap) {
  write("hwmon/hwmon3/power1_average", "141000000\n");
  write("hwmon/hwmon3/power1_cap", "750000000\n");
  write("hwmon/hwmon3/freq1_input", "2100000000\n");
  const AmdBoard board(folder());
  ASSERT_TRUE(board.state());
  EXPECT_DOUBLE_EQ(board.state()->power, 141.0);
  EXPECT_DOUBLE_EQ(board.state()->clock, 2100.0);
  EXPECT_DOUBLE_EQ(board.power_cap().value(), 750.0);

  write("hwmon/hwmon3/power1_input", "160500000\n");  // the power of the moment, on boards that tell it
  EXPECT_DOUBLE_EQ(board.state()->power, 160.5);
}

TEST_F(AmdBoardTest, ReadsTheClockAmongItsLevels) {
  write("hwmon/hwmon0/power1_input", "1000000\n");
  write("pp_dpm_sclk", "S: 132Mhz\n0: 500Mhz\n1: 1310Mhz *\n2: 2100Mhz\n");
  const AmdBoard board(folder());
  ASSERT_TRUE(board.state());
  EXPECT_DOUBLE_EQ(board.state()->clock, 1310.0);
}

TEST_F(AmdBoardTest, KnowsNothingWithoutThem) {
  EXPECT_FALSE(AmdBoard(folder()).state());
  write("hwmon/hwmon0/power1_input", "no number\n");
  write("pp_dpm_sclk", "0: Mhz *\n*\n");
  const AmdBoard board(folder());
  EXPECT_FALSE(board.state());
  EXPECT_FALSE(board.power_cap());
}

}  // namespace
}  // namespace c3sim::measure
