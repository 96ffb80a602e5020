// c3sim-measure as its users meet it: options, tables, what goes wrong, and going on after a kill.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "calibrate/measure/kind.h"
#include "calibrate/measure/plan.h"
#include "calibrate/readers/reader.h"
#include "sim/config/config_error.h"
#include "tests/calibrate/measure/measure_run.h"
#include "tests/testing.h"

namespace c3sim::measure {
namespace {

// Options.

TEST_F(MeasureTest, ListsItsKindsWithoutAGpu) {
  const Outcome outcome = run({"--list"}, {.gpus = 0});
  EXPECT_EQ(outcome.code, 0);
  for (const Kind& kind : kinds()) EXPECT_THAT(outcome.out, HasSubstr(std::string(kind.name)));
}

TEST_F(MeasureTest, SaysInOneLineThatThereIsNoGpu) {
  const Outcome outcome = run({"--out", folder()}, {.gpus = 0});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "error: no GPU to measure was found; fake: no GPU\n");
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(MeasureTest, RefusesWhatItDoesNotKnow) {
  const auto fault = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--out", folder()});
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_FALSE(std::filesystem::exists(folder()));
    return outcome.err;
  };
  EXPECT_THAT(fault({"--only", "gems"}), AllOf(HasSubstr("'gems' is no kind"), HasSubstr("gemms")));
  EXPECT_THAT(fault({"--shapes", "8192x8192"}), HasSubstr("'8192x8192' is no shape: MxNxK"));
  EXPECT_THAT(fault({"--shapes", "8192x0x8192"}), HasSubstr("whole numbers from 1 to 1048576"));
  EXPECT_THAT(fault({"--gpus", "3"}), HasSubstr("3 are wanted and 2 are there"));
  EXPECT_THAT(fault({"--gpus", "0"}), HasSubstr("--gpus"));
  EXPECT_THAT(fault({"--backend", "vulkan"}), HasSubstr("'vulkan' is not in this build: auto, fake"));
  EXPECT_THAT(fault({"--pairs", folder() + "/none.csv"}), HasSubstr("cannot be read"));
  EXPECT_THAT(fault({"--frobnicate"}), HasSubstr("--frobnicate"));
}

TEST_F(MeasureTest, NeedsAFolder) {
  const Outcome outcome = run({"--only", "gemms"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--out FOLDER is missing"));
}

TEST_F(MeasureTest, TellsItsPlanWithoutMeasuring) {
  std::atomic<int> kernels = 0;
  FakeMachine machine;
  machine.before = [&](int, const std::string& call) { kernels += call == "gemm" ? 1 : 0; };
  const Outcome outcome = run({"--dry-run", "--quick", "--only", "gemms"}, machine);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("gemms gemm=8192x8192x8192 cus=64"), HasSubstr("# all:")));
  EXPECT_EQ(kernels, 0);
}

// Plans.

TEST_F(MeasureTest, MeasuresNoPairsOfGpusWhereThereIsOne) {
  const Outcome outcome = run({"--dry-run"}, {.gpus = 1});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("gemms "));
  for (const char* kind : {"collectives", "pairs", "fan_outs", "links", "gpu1"}) {
    EXPECT_THAT(outcome.out, Not(HasSubstr(kind))) << kind;
  }
}

TEST_F(MeasureTest, PlansNothingTwice) {
  std::istringstream plan(run({"--dry-run"}, {.gpus = 4, .engines = 3}).out);
  std::vector<std::string> items;
  for (std::string line; std::getline(plan, line);) items.push_back(line);
  std::ranges::sort(items);
  EXPECT_EQ(std::ranges::adjacent_find(items), items.end());
}

TEST_F(MeasureTest, MeasuresTheShapesAskedFor) {
  ASSERT_EQ(run({"--out", folder(), "--only", "gemms", "--shapes", "256x512x128", "--repetitions", "3"}).code, 0);
  for (const std::string& row : rows("gemms.csv")) EXPECT_THAT(row, StartsWith("256x512x128,"));
}

TEST_F(MeasureTest, MeasuresThePairsOfAFileAlone) {
  write("asked/pairs.csv", "");
  std::filesystem::create_directories(folder() + "/asked");
  write("asked/pairs.csv",
        "# to come\ngemm,collective,bytes,strategy,channels\n512x512x512,all_gather,1048576,c3_sp,8\n"
        "512x512x512,all_to_all,1048576,conccl,-\n");
  ASSERT_EQ(run({"--out", folder() + "/out", "--pairs", folder() + "/asked/pairs.csv"}).code, 0);
  EXPECT_THAT(rows("out/pairs.csv"), SizeIs(2));
  EXPECT_THAT(rows("out/pairs.csv")[0], StartsWith("512x512x512,all_gather,1048576,c3_sp,8,,,,2,"));
  EXPECT_THAT(rows("out/pairs.csv")[1], StartsWith("512x512x512,all_to_all,1048576,conccl,,,,,2,"));
  EXPECT_FALSE(std::filesystem::exists(folder() + "/out/gemms.csv"));
}

// Two GPUs: a schedule has one GEMM, one for each shard, or eight, and one more where the own shard is apart; and as
// many pulls from the other GPU, or collectives, as it has parts to wait for.
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

TEST_F(MeasureTest, LeavesOutShapesThatLieOnTheGpusInNoEqualPieces) {
  const Outcome outcome = run({"--dry-run", "--only", "dependent", "--shapes", "256x1000x256"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, Not(HasSubstr("schedule=")));
}

TEST_F(MeasureTest, SaysWhichLineOfAFileIsNoPair) {
  std::filesystem::create_directories(folder());
  const auto fault = [this](const std::string& lines) {
    write("pairs.csv", lines);
    const Outcome outcome = run({"--out", folder() + "/out", "--pairs", folder() + "/pairs.csv"});
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  const std::string head = "gemm,collective,bytes,strategy\n";
  EXPECT_THAT(fault(""), HasSubstr("no pair in it"));
  EXPECT_THAT(fault("gemm,bytes,strategy\n"), HasSubstr("pairs.csv:1: no column collective"));
  EXPECT_THAT(fault(head + "512x512x512,all_gather,64\n"), HasSubstr("pairs.csv:2: 3 cells under 4 columns"));
  EXPECT_THAT(fault(head + "512x512,all_gather,64,c3_sp\n"), HasSubstr("pairs.csv:2: '512x512' is no shape"));
  EXPECT_THAT(fault(head + "512x512x512,all_gathr,64,c3_sp\n"), HasSubstr("'all_gathr' is no collective"));
  EXPECT_THAT(fault(head + "512x512x512,all_gather,64,c3\n"), HasSubstr("'c3' is no strategy"));
  EXPECT_THAT(fault(head + "512x512x512,all_gather,66,c3_sp\n"), HasSubstr("bytes 66 are no multiple of 4"));
  EXPECT_THAT(fault(head + "512x512x512,all_gather,-4,c3_sp\n"), HasSubstr("'-4': whole numbers"));
  const std::string more = "gemm,collective,bytes,strategy,reserved_cus,variant,prelaunch\n512x512x512,all_gather,64,";
  EXPECT_THAT(fault(more + "c3_rp,,,\n"), HasSubstr("pairs.csv:2: c3_rp keeps CUs from the GEMM: how many"));
  EXPECT_THAT(fault(more + "c3_rp,x,,\n"), HasSubstr("'x': whole numbers"));
  EXPECT_THAT(fault(more + "conccl,,pcp,\n"), HasSubstr("'pcp' is no variant: pcpy, bcst, swap, b2b are accepted"));
  EXPECT_THAT(fault(more + "conccl,,,maybe\n"), HasSubstr("'maybe' is no prelaunch: yes, no are accepted"));
  EXPECT_THAT(fault(more + "c3_sp,,b2b,\n"), HasSubstr("c3_sp has no copies: variant and prelaunch are of conccl"));
}

// 5 us of launch, and 2 * 1000^3 operations at 5e8 per us take 4 us on all 64 CUs, 8 us on half of them.
TEST_F(MeasureTest, RunsPairsWithCusKeptAndCopiesInARow) {
  std::filesystem::create_directories(folder());
  write("pairs.csv",
        "gemm,collective,bytes,strategy,channels,reserved_cus,variant,prelaunch\n"
        "1000x1000x1000,all_gather,1000000,c3_rp,,32,,\n"
        "1000x1000x1000,all_gather,1000000,conccl_rp,,32,b2b,no\n");
  ASSERT_EQ(run({"--out", folder() + "/out", "--pairs", folder() + "/pairs.csv"}).code, 0);
  ASSERT_THAT(rows("out/pairs.csv"), SizeIs(2));
  EXPECT_THAT(rows("out/pairs.csv")[0], AllOf(HasSubstr(",c3_rp,,32,,,2,"), HasSubstr(",13.000,")));
  EXPECT_THAT(rows("out/pairs.csv")[1], AllOf(HasSubstr(",conccl_rp,,32,b2b,no,2,"), HasSubstr(",13.000,")));
}

TEST_F(MeasureTest, SaysOfEachPairThatItCannotRun) {
  std::filesystem::create_directories(folder());
  write("pairs.csv",
        "gemm,collective,bytes,strategy,channels,reserved_cus,variant,prelaunch\n"
        "512x512x512,all_gather,1048576,conccl,,0,bcst,no\n"
        "512x512x512,all_gather,2097152,conccl,,0,bcst,no\n"
        "512x512x512,all_gather,1048576,conccl,,0,pcpy,yes\n"
        "512x512x512,all_reduce,1048576,conccl,,0,pcpy,no\n"
        "512x512x512,all_gather,1048576,c3_rp,,64,,\n"
        "512x512x512,all_gather,1048576,conccl,,0,pcpy,no\n");
  const Outcome outcome = run({"--out", folder() + "/out", "--pairs", folder() + "/pairs.csv"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(rows("out/pairs.csv"), SizeIs(1));
  EXPECT_THAT(
      outcome.err,
      AllOf(HasSubstr("bytes=1048576 strategy=conccl channels= reserved_cus=0 variant=bcst prelaunch=no: no "
                      "runtime lets programs queue the packets of variant bcst"),
            HasSubstr("bytes=2097152 strategy=conccl channels= reserved_cus=0 variant=bcst prelaunch=no: no "),
            HasSubstr("queued beforehand (prelaunch yes) cannot be measured"),
            HasSubstr("copies alone make no all_reduce"), HasSubstr("64 CUs cannot be kept from a GEMM of 64")));
}

// Tables.

// One GEMM takes as long as the fake says: 5 us of launch and 2 * 1000^3 operations at 5e8 per us.
TEST_F(MeasureTest, WritesWhatWasMeasuredAndHow) {
  ASSERT_EQ(run({"--out", folder(), "--only", "gemms", "--shapes", "1000x1000x1000", "--repetitions", "3"}).code, 0);
  EXPECT_THAT(text("gemms.csv"), AllOf(StartsWith("# source: measured by c3sim-measure on 2 x Fake GPU (fake, 64 CUs"),
                                       HasSubstr("driver 1.0"), HasSubstr("command: c3sim-measure --out"),
                                       HasSubstr("then 3 runs that count"), HasSubstr("power cap 500 W")));
  EXPECT_THAT(rows("gemms.csv")[0], AllOf(StartsWith("1000x1000x1000,64,2,"), HasSubstr(",9.000,3")));
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
    EXPECT_THAT(reading.alike, IsEmpty()) << file;
    EXPECT_EQ(reading.measurements.size() + reading.left_out.size(), rows(file).size()) << file;
    for (const calibrate::Measurement& measurement : reading.measurements) {
      // Collectives say themselves how many GPUs take part, of however many the machine has.
      const auto* const collective = std::get_if<study::CollectiveTrial>(&measurement.trial);
      if (collective != nullptr && collective->spec.gpus == 4) continue;
      EXPECT_THAT(measurement.assignments, ::testing::ElementsAre("gpus=4")) << measurement.where();
    }
  }
}

// A GEMM of 9 us and a collective of 5 us and 1 MB at 2e5 bytes per us, one behind the other and at once.
TEST_F(MeasureTest, TimesPairsFromTheFirstLaunchToTheLastEnd) {
  std::filesystem::create_directories(folder());
  write("pairs.csv",
        "gemm,collective,bytes,strategy\n1000x1000x1000,all_gather,1000000,serial\n"
        "1000x1000x1000,all_gather,1000000,c3_base\n");
  ASSERT_EQ(run({"--out", folder() + "/out", "--pairs", folder() + "/pairs.csv"}).code, 0);
  EXPECT_THAT(rows("out/pairs.csv")[0],
              AllOf(HasSubstr(",serial,,,,,2,"), HasSubstr(",9.000,10.000,"), HasSubstr(",19.000,")));
  EXPECT_THAT(rows("out/pairs.csv")[1],
              AllOf(HasSubstr(",c3_base,,,,,2,"), HasSubstr(",9.000,10.000,"), HasSubstr(",10.000,9")));
}

// The same GEMM, beside an all-reduce of 512 MiB that takes 5 us and 536.870912 MB at 2e5 bytes per us. Alone is the
// same in one lane.
TEST_F(MeasureTest, ProbesTellWhatEitherOfAPairTakesInTurn) {
  ASSERT_EQ(run({"--out", folder(), "--only", "probes", "--quick", "--shapes", "1000x1000x1000"}).code, 0);
  const std::vector<std::string> probes = rows("probes.csv");
  EXPECT_THAT(probes[0], AllOf(StartsWith("1000x1000x1000,all_reduce,536870912,,collective,,,probe,2,"),
                               HasSubstr(",9.000,2689.355,9.000,2689.355,")));
  EXPECT_EQ(std::ranges::count_if(probes, [](const std::string& row) { return row.find(",gemm,,,") != row.npos; }), 3)
      << "as many channels, the GEMM first";
}

// What is timed begins behind a kernel that stays for a while, and ends before the hog is told to.
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

// On a node of eight with the protocol of real GPUs: warm-ups of half a second, nine runs that count.
TEST_F(MeasureTest, ProbesAreThoughtToTakeLessThanAMinute) {
  Wish wish;
  wish.only = {"probes"};
  Machine machine;
  machine.gpus = 8;
  machine.cus = 304;
  machine.memory = std::size_t{192} << 30;
  double seconds = 0.0;
  for (const Item& item : make_plan(wish, machine, Protocol())) seconds += item.seconds;
  EXPECT_GT(seconds, 10.0);
  EXPECT_LT(seconds, 60.0);
}

// Going on.

const std::vector<std::string> short_plan{"--only",        "gemms", "--shapes", "256x256x256,512x512x512",
                                          "--repetitions", "3"};

std::vector<std::string> short_run(const std::string& folder) {
  std::vector<std::string> arguments = short_plan;
  arguments.insert(arguments.end(), {"--out", folder});
  return arguments;
}

TEST_F(MeasureTest, MeasuresNothingTwice) {
  ASSERT_EQ(run(short_run(folder())).code, 0);
  const std::string before = text("gemms.csv");
  std::atomic<int> gemms = 0;
  FakeMachine machine;
  machine.before = [&](int, const std::string& call) { gemms += call == "gemm" ? 1 : 0; };
  const Outcome again = run(short_run(folder()), machine);
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("0 measured, 16 were there already"));  // 2 shapes, whole and by eighths
  EXPECT_EQ(gemms, 0);
  EXPECT_EQ(text("gemms.csv"), before);
}

TEST_F(MeasureTest, DropsTornLinesAndMeasuresThemAgain) {
  ASSERT_EQ(run(short_run(folder())).code, 0);
  const std::string table = text("gemms.csv"), ledger = text("progress.csv");
  // Killed while it wrote a row, and while it noted the one before.
  const std::string_view last = "\n";
  const std::size_t torn = ledger.rfind(last, ledger.size() - 2) + 10;
  write("progress.csv", ledger.substr(0, torn));
  write("gemms.csv", table + "4096x40");
  const Outcome again = run(short_run(folder()));
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("1 measured, 15 were there already"));
  EXPECT_THAT(rows("gemms.csv"), SizeIs(16));
  EXPECT_THAT(text("gemms.csv"), Not(HasSubstr("4096x40")));
}

TEST_F(MeasureTest, BeginsAgainWhereNotEvenTheHeadWasWritten) {
  write("progress.csv", "# what c3sim-mea");
  EXPECT_EQ(run(short_run(folder())).code, 0);
  EXPECT_THAT(rows("gemms.csv"), SizeIs(16));
}

TEST_F(MeasureTest, AddsOtherKindsToAFolder) {
  ASSERT_EQ(run(short_run(folder())).code, 0);
  ASSERT_EQ(run({"--out", folder(), "--only", "fan_outs", "--repetitions", "3"}).code, 0);
  EXPECT_THAT(rows("gemms.csv"), SizeIs(16));
  EXPECT_THAT(rows("fan_outs.csv"), Not(IsEmpty()));
}

TEST_F(MeasureTest, MixesNoCircumstances) {
  ASSERT_EQ(run(short_run(folder())).code, 0);
  const std::string before = text("gemms.csv");
  const Outcome other_driver = run(short_run(folder()), {.driver = "2.0"});
  EXPECT_EQ(other_driver.code, 2);
  EXPECT_THAT(other_driver.err,
              AllOf(HasSubstr("was begun in another environment"), HasSubstr("driver 1.0"), HasSubstr("driver 2.0")));
  const Outcome other_protocol = run({"--out", folder(), "--only", "gemms", "--repetitions", "4"});
  EXPECT_EQ(other_protocol.code, 2);
  EXPECT_THAT(other_protocol.err, HasSubstr("was begun in another protocol"));
  EXPECT_EQ(text("gemms.csv"), before);
}

TEST_F(MeasureTest, TouchesNothingThatIsNotItsOwn) {
  write("gemms.csv", "mine\n");
  const Outcome foreign = run(short_run(folder()));
  EXPECT_EQ(foreign.code, 2);
  EXPECT_THAT(foreign.err, HasSubstr("holds files of someone else"));
  EXPECT_EQ(text("gemms.csv"), "mine\n");

  const Outcome file = run(short_run(folder() + "/gemms.csv"));
  EXPECT_EQ(file.code, 2);
  EXPECT_THAT(file.err, HasSubstr("is a file, not a folder"));
}

TEST_F(MeasureTest, SeesThatATableWasChanged) {
  ASSERT_EQ(run(short_run(folder())).code, 0);
  const std::string table = text("gemms.csv");
  write("gemms.csv", table.substr(0, table.size() - 9));
  const Outcome outcome = run(short_run(folder()));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("is shorter than when it was written"));

  write("gemms.csv", table);
  write("copies.csv", "mine\n");
  EXPECT_THAT(run(short_run(folder())).err, HasSubstr("copies.csv: is a file of someone else"));
  EXPECT_EQ(text("copies.csv"), "mine\n");

  std::filesystem::remove(folder() + "/copies.csv");
  write("progress.csv", text("progress.csv") + "gems,x,measured,1,\n");
  EXPECT_THAT(run(short_run(folder())).err, HasSubstr("is none that c3sim-measure writes"));
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

// What goes wrong.

FakeMachine machine_that(std::function<void(int gpu, const std::string& call)> before) {
  FakeMachine machine;
  machine.before = std::move(before);
  return machine;
}

TEST_F(MeasureTest, LeavesOutWhatALibraryLacksAndSaysSoOnce) {
  const Outcome outcome = run({"--out", folder(), "--only", "collectives,fan_outs", "--quick"},
                              machine_that([](int, const std::string& call) {
                                if (call == "join") throw GpuError(GpuError::Kind::unsupported, "libccl was not found");
                              }));
  EXPECT_EQ(outcome.code, 0);
  const std::size_t first = outcome.err.find("libccl was not found");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(outcome.err.find("libccl was not found", first + 1), std::string::npos);
  EXPECT_THAT(rows("fan_outs.csv"), Not(IsEmpty()));
  for (const std::string& row : rows("collectives.csv")) EXPECT_THAT(row, HasSubstr(",sdma,"));
}

TEST_F(MeasureTest, LeavesOutPowerWhereBoardsDoNotTellIt) {
  const Outcome outcome = run({"--out", folder(), "--only", "steady,gemms", "--quick"}, {.boards = false});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("the boards do not tell power and clock"));
  EXPECT_THAT(rows("gemms.csv"), Not(IsEmpty()));
  EXPECT_THAT(rows("steady.csv"), IsEmpty());
}

TEST_F(MeasureTest, GoesOnAfterAFailureAndTriesItAgainNextTime) {
  std::atomic<int> prepared = 0;
  const Outcome outcome = run(short_run(folder()), machine_that([&](int gpu, const std::string& call) {
                                if (call == "prepare_gemm" && gpu == 1 && ++prepared == 2) {
                                  throw GpuError(GpuError::Kind::failed, "status 7");
                                }
                              }));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("failed: gemms gemm=512x512x512 cus=64: status 7"),
                                 HasSubstr("15 measured, 1 left out")));
  EXPECT_THAT(run(short_run(folder())).err, HasSubstr("1 measured, 15 were there already"));
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
  EXPECT_THAT(text("progress.csv"), HasSubstr("gemms,gemm=512x512x512 cus=64,given up,"));
  EXPECT_THAT(run(short_run(folder())).err, HasSubstr("14 measured, 2 were there already"));
  EXPECT_THAT(rows("gemms.csv"), SizeIs(15));
}

// The watchdog ends the program then; here the call is let go of, so that the test ends.
TEST_F(MeasureTest, StopsWhereACallNeverComesBack) {
  std::atomic<bool> abandoned = false;
  const Outcome outcome =
      run({"--out", folder(), "--only", "collectives", "--quick"}, machine_that([&](int gpu, const std::string& call) {
            while (gpu == 1 && call == "join" && !abandoned) std::this_thread::yield();
          }),
          [&] { abandoned = true; });
  EXPECT_THAT(outcome.abandoned, HasSubstr("collectives collective=all_gather bytes=1073741824"));
  EXPECT_THAT(outcome.abandoned, HasSubstr("hangs in a call that never comes back"));
  EXPECT_THAT(text("progress.csv"), HasSubstr("given up,0,a call never came back"));
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

}  // namespace
}  // namespace c3sim::measure
