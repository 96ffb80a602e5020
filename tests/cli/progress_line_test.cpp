#include "cli/progress_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <thread>

namespace c3sim::cli {
namespace {

// A line is due after ten seconds alone; warnings are written at once.
TEST(ProgressLine, AFileGetsNoneOfShortWork) {
  std::ostringstream file;
  {
    ProgressLine line(file, false);
    line.report(0, 2);
    line.write("warning: beware\n");
    line.report(1, 2);
    line.report(2, 2);
  }
  EXPECT_EQ(file.str(), "warning: beware\n");
}

TEST(ProgressLine, ATerminalIsLeftWithoutIt) {
  std::ostringstream terminal;
  ProgressLine line(terminal, true);
  line.report(1, 2);
  line.write("warning: beware\n");
  EXPECT_THAT(terminal.str(),
              testing::AllOf(testing::HasSubstr("] 1/2"), testing::EndsWith("\r\x1b[Kwarning: beware\n")));
}

TEST(ProgressLine, FullAFileGetsOneAfterTenSeconds) {
  std::ostringstream file;
  ProgressLine line(file, false);
  line.report(0, 4);
  line.report(1, 4);
  std::this_thread::sleep_for(std::chrono::seconds(12));
  line.finish();
  EXPECT_THAT(file.str(), testing::StartsWith("running for 10 s: 1 of 4 done\n"));
}

}  // namespace
}  // namespace c3sim::cli
