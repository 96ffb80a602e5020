// c3sim read: what it prints, and when it fails.
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_cli.h"
#include "tests/gzip.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

const std::string samples = std::string(C3SIM_SOURCE_DIR) + "/tests/data/";

TEST(ReadCommand, SaysWhatAFileHoldsAndWhatItDoesNot) {
  EXPECT_THAT(out_of({"read", samples + "gemm_bench/hipblaslt_bench.txt"}),
              AllOf(HasSubstr("hipblaslt_bench.txt  hipblaslt-bench"), HasSubstr("AMD Instinct MI300X"),
                    HasSubstr("2048x1152x2048"), HasSubstr("its type is f16_r: GEMMs of bf16 have a model"),
                    HasSubstr("1 measurement of 1 file. Left out: 1 row. 0 faults.")));
}

// The median of two copies of 64 MiB in 1.388 and 1.390 ms.
TEST(ReadCommand, ListsEveryMeasurement) {
  const nlohmann::json rows = json_of({"read", samples + "rocprofv3/memory_copy_trace.csv", "--rows"}).at("rows");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("trial"), "copy gpu0 to gpu1 of 64MiB");
  EXPECT_EQ(rows[0].at("unit"), "GB/s");
  EXPECT_NEAR(rows[0].at("measured").get<double>(), 67108864 / 1.389e-3 / 1e9, 1e-6);
  const Answer csv = run_cli({"read", samples + "rocprofv3/memory_copy_trace.csv", "--rows", "--format", "csv"});
  EXPECT_THAT(csv.out, HasSubstr("where,group,trial,figure,unit,measured,low,high,role,platform,assignments\n"));
}

TEST(ReadCommand, RowsAtFaultAreWarningsWhileOthersAreLeft) {
  const Answer answer = run_cli({"read", written("read_some.csv", "gemm,time_us\ncb1,2000\ncb1,-1\n")});
  EXPECT_EQ(answer.code, ExitCode::fine);
  EXPECT_THAT(answer.err, HasSubstr("read_some.csv:3:5: time_us: '-1us' is negative"));
}

TEST(ReadCommand, FailsWhereNothingIsLeft) {
  EXPECT_THAT(
      fault_of({"read", written("read_none.csv", "gemm,time_us\ncb1,-1\n")}),
      AllOf(HasSubstr("read_none.csv:2:5: time_us"), HasSubstr("FILE: no measurement is left that can be used")));
  EXPECT_EQ(run_cli({"read", "no/such/file.csv"}).code, ExitCode::users_fault);
  EXPECT_EQ(run_cli({"read"}).code, ExitCode::users_fault);
}

TEST(ReadCommand, MeasurementsAreOfThePlatformThatIsAskedForOrOfTheGpuThatIsNamed) {
  const std::string file = written("read_h200.csv", "# gpu: NVIDIA H200\ngemm,time_us\ncb1,2000\n");
  EXPECT_THAT(fault_of({"read", file, "--platform", "mi300x"}),
              HasSubstr("gpu: measured on 'NVIDIA H200', compared with mi300x: --platform names another"));
  EXPECT_EQ(run_cli({"read", file, "--platform", "h200"}).code, ExitCode::fine);
  EXPECT_EQ(json_of({"read", file}).at("files")[0].at("platform"), "h200");
  const std::string unknown = written("read_a100.csv", "# gpu: NVIDIA A100\ngemm,time_us\ncb1,2000\n");
  EXPECT_THAT(run_cli({"read", unknown}).err, HasSubstr("measured on 'NVIDIA A100', of which there is no platform"));
  EXPECT_EQ(run_cli({"read", unknown, "--platform", "h200"}).code, ExitCode::fine);
}

TEST(ReadCommand, FailsWhereOneOfSeveralFilesIsNotThere) {
  const std::string good = written("read_good.csv", "gemm,time_us\ncb1,2000\n");
  const Answer answer = run_cli({"read", good, "NOPE.log"});
  EXPECT_EQ(answer.code, ExitCode::users_fault);
  EXPECT_EQ(answer.err, "NOPE.log: No such file or directory\n");
  EXPECT_EQ(answer.out, "");
}

TEST(ReadCommand, NamesColumnsThatItDoesNotUse) {
  const Answer answer = run_cli({"read", written("read_miss.csv", "gemm,time_us,driver\ncb1,2000,6.4\n")});
  EXPECT_EQ(answer.code, ExitCode::fine);
  EXPECT_THAT(answer.err, HasSubstr("read_miss.csv:1:14: driver: this column is not used"));
}

TEST(ReadCommand, ReadsWhatGzipPacked) {
  EXPECT_THAT(out_of({"read", written("read_packed.csv.gz", gzip("gemm,time_us\ncb1,2000\n"))}),
              HasSubstr("read_packed.csv.gz  gemms"));
}

#if defined(__has_feature)
#define C3SIM_HAS_SANITIZERS __has_feature(address_sanitizer)
#else
#define C3SIM_HAS_SANITIZERS 0
#endif

// 400 MB in one line, where 300 MB are left: the user's file, not a fault of ours.
TEST(ReadCommandDeathTest, FileThatNoMemoryHoldsIsNamed) {
  if (C3SIM_HAS_SANITIZERS) GTEST_SKIP() << "their memory counts as well";
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "read_long.json";
  std::ofstream(file) << "{\"a\": \"";
  std::filesystem::resize_file(file, 400'000'000);  // zeros that take no room on the disk
  const auto read_in_little_memory = [&file] {
    const rlimit little{300'000'000, 300'000'000};
    setrlimit(RLIMIT_AS, &little);
    const Answer answer = run_cli({"read", file.string()});
    const bool is_told = answer.err.find("read_long.json: it needs more memory than there is") != std::string::npos;
    std::exit(answer.code == ExitCode::users_fault && is_told ? 0 : 1);
  };
  EXPECT_EXIT(read_in_little_memory(), ::testing::ExitedWithCode(0), "");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace c3sim::cli
