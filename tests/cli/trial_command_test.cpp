// The command line that study::command_of gives for a trial asks for that trial: its answer equals the result of
// study::observe.
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "study/ask/trial.h"
#include "tests/cli/run_cli.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::cli {
namespace {

using sim::operator""_B;
using sim::operator""_KiB;
using sim::operator""_MiB;
using sim::operator""_us;
using models::Backend;
using models::CollectiveKind;
using models::HostThreads;
using models::SdmaVariant;
using study::Figure;
using study::Strategy;

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream words(command);
  return {std::istream_iterator<std::string>(words), {}};
}

// Compares the time of the only row of the answer, in seconds.
void expect_same(const study::Trial& trial, const std::string& column = "time_us") {
  study::Testbed testbed(study::mi300x().spec);
  ASSERT_EQ(study::why_impossible(testbed, trial), "") << to_string(trial);
  const std::string command = study::command_of(trial);
  std::vector<std::string> arguments = words_of(command);
  arguments.insert(arguments.end(), {"--platform", "mi300x", "--format", "json"});
  const Answer answer = run_cli(arguments);
  ASSERT_EQ(answer.code, ExitCode::fine) << command << ": " << answer.err;
  const nlohmann::json results = nlohmann::json::parse(answer.out)["results"];
  ASSERT_EQ(results.size(), 1u) << command;
  const study::Figures figures = study::observe(testbed, trial, {});
  EXPECT_NEAR(results[0][column].get<double>() * 1e-6, figures.at(Figure::time), 1e-13) << command;
}

models::CollectiveSpec on_all_gpus(Backend backend, CollectiveKind kind, sim::Bytes bytes) {
  models::CollectiveSpec spec = study::collective(backend, kind, bytes);
  spec.gpus = 0;
  return spec;
}

TEST(TrialCommand, OfAGemm) {
  expect_same(study::GemmTrial{{2048, 1024, 512}});
  expect_same(study::GemmTrial{{2048, 1024, 512}, 240});
  expect_same(study::GemmTrial{{2048, 1024, 512, models::Dtype::fp8}});
  expect_same(study::GemmTrial{.shape = {4096, 4096, 4096}, .before = study::Before::traffic});
  study::GemmTrial after{.shape = {4096, 4096, 4096}, .before = study::Before::collective};
  after.collective = on_all_gpus(Backend::rccl, CollectiveKind::all_reduce, 1_MiB);
  after.collective.channels = 8;
  expect_same(after);
}

TEST(TrialCommand, OfACopy) {
  for (const models::SdmaCopySpec& copy : {models::SdmaCopySpec{0, 1, 1_MiB, {}}, models::SdmaCopySpec{3, 2, 1_B, 5},
                                           models::SdmaCopySpec{models::host_device, 7, 1025_B, {}},
                                           models::SdmaCopySpec{7, models::host_device, sim::Bytes(1e9), 0}}) {
    expect_same(study::CopyTrial{copy});
  }
}

TEST(TrialCommand, OfACollectiveByKernels) {
  for (const auto& [name, kind] : sim::choices_of<CollectiveKind>()) {
    expect_same(study::CollectiveTrial{on_all_gpus(Backend::rccl, kind, 1_MiB)});
  }
  models::CollectiveSpec spec = on_all_gpus(Backend::rccl, CollectiveKind::broadcast, 1_MiB);
  spec.gpus = 4;
  spec.cus = 16;
  spec.channels = 8;
  spec.graph = true;
  expect_same(study::CollectiveTrial{spec});
}

TEST(TrialCommand, OfACollectiveByEngines) {
  models::CollectiveSpec spec = on_all_gpus(Backend::sdma, CollectiveKind::all_gather, 64_KiB);
  for (const SdmaVariant variant : {SdmaVariant::pcpy, SdmaVariant::bcst, SdmaVariant::b2b}) {
    for (const bool prelaunch : {false, true}) {
      spec.variant = variant;
      spec.prelaunch = prelaunch;
      expect_same(study::CollectiveTrial{spec});
    }
  }
  spec.engines = 4;  // back to back
  spec.host_threads = HostThreads::per_gpu;
  expect_same(study::CollectiveTrial{spec});
}

TEST(TrialCommand, OfACollectiveByEnginesThatNamesWhatOnlyKernelsHave) {
  models::CollectiveSpec spec = on_all_gpus(Backend::sdma, CollectiveKind::all_gather, 64_KiB);
  spec.cus = 8;
  spec.graph = true;
  expect_same(study::CollectiveTrial{spec});
  spec.kind = CollectiveKind::all_reduce;
  expect_same(study::CollectiveTrial{spec});
}

TEST(TrialCommand, FullOfAPair) {
  study::C3Trial trial;
  trial.scenario.gemm = {2048, 2048, 1024};
  trial.scenario.bytes = 4_MiB;
  for (const Strategy strategy : study::all_strategies()) {
    trial.strategy = strategy;
    expect_same(trial, "makespan_us");
  }
  trial.strategy = Strategy::c3_sp_rp;
  trial.scenario.channels = 4;
  trial.scenario.reserved = 16;
  trial.scenario.delay = 100_us + sim::Time(250'001);  // the GEMM has ended by then
  expect_same(trial, "makespan_us");
  trial.strategy = Strategy::c3_base;
  expect_same(trial, "makespan_us");
  trial.strategy = Strategy::conccl_rp;
  trial.scenario.variant = SdmaVariant::b2b;
  trial.scenario.prelaunch = true;
  expect_same(trial, "makespan_us");
  trial.strategy = Strategy::c3_sp;  // the strategy has no engines
  expect_same(trial, "makespan_us");
}

// A collective of 11 us runs beside a GEMM that fills the GPU exactly.
Answer c3(const std::vector<std::string>& options) {
  return run_cli(
      with({"c3", "--gemm", "4864x4096x8192", "--collective", "all_gather", "--bytes", "4097B", "--format", "csv"},
           options));
}

TEST(C3Options, AnyNumberOfJobsGivesTheSameBytes) {
  const Answer on_one = c3({"--jobs", "1"});
  EXPECT_EQ(on_one.code, ExitCode::fine);
  EXPECT_EQ(c3({"--jobs", "2"}).out, on_one.out);
  EXPECT_EQ(c3({"--jobs", "5"}).out, on_one.out);
  EXPECT_EQ(c3({}).out, on_one.out);
}

TEST(C3Options, TheProtocolIsSteadyOrShot) {
  const std::string said = c3({"--protocol", "steady"}).out;
  EXPECT_EQ(std::regex_replace(said, std::regex(",(protocol|steady)\n"), "\n"), c3({}).out);
  const auto gemm = [](const std::string& protocol) {
    return run_cli({"gemm", "--gemm", "8192x8192x8192", "--platform", "h200", "--protocol", protocol}).out;
  };
  EXPECT_NE(gemm("steady"), gemm("shot"));
}

}  // namespace
}  // namespace c3sim::cli
