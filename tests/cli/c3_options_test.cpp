#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/run_cli.h"

namespace c3sim::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// With a collective of 11 us beside a GEMM that fills the GPU exactly.
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

TEST(C3Options, JobsAreACount) {
  EXPECT_THAT(c3({"--jobs", "0"}).err, HasSubstr("--jobs: '0'"));
  EXPECT_THAT(c3({"--jobs", "many"}).err, HasSubstr("--jobs: "));
}

TEST(C3Options, TheProtocolIsSteadyOrShot) {
  const Answer wrong = c3({"--protocol", "stedy"});
  EXPECT_EQ(wrong.code, ExitCode::users_fault);
  EXPECT_THAT(wrong.err, HasSubstr("--protocol: 'stedy' is not known; did you mean 'steady'?"));
  EXPECT_EQ(c3({"--protocol", "steady"}).out, c3({}).out);
  const auto gemm = [](const std::string& protocol) {
    return run_cli({"gemm", "--gemm", "8192x8192x8192", "--platform", "h200", "--protocol", protocol}).out;
  };
  EXPECT_NE(gemm("steady"), gemm("shot"));
}

TEST(C3Options, FineSplitsNeedNoWarningThatNoneWouldBeFaster) {
  EXPECT_THAT(c3({"--strategy", "c3_rp"}).err, HasSubstr("reserving nothing (c3_base)"));
  EXPECT_THAT(c3({"--strategy", "c3_rp", "--splits", "fine"}).err, Not(HasSubstr("reserving nothing")));
  EXPECT_THAT(c3({"--splits", "coarse"}).err, HasSubstr("--splits: 'coarse' is not known"));
}

TEST(C3Options, AListingOfAPlatformShowsWhereAValueStands) {
  const std::string listing = run_cli({"platform", "mi300x", "--format", "csv"}).out;
  EXPECT_THAT(listing, HasSubstr("defaults.yaml:"));
  EXPECT_THAT(listing, HasSubstr("mi300x.yaml:6"));
}

}  // namespace
}  // namespace c3sim::cli
