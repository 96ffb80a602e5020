#include "cli/progress_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace c3sim::cli {
namespace {

TEST(ProgressLine, ATerminalIsLeftWithoutIt) {
  std::ostringstream terminal;
  ProgressLine line(terminal);
  line.report(1, 2);
  line.write("warning: beware\n");
  EXPECT_THAT(terminal.str(),
              testing::AllOf(testing::HasSubstr("] 1/2"), testing::EndsWith("\r\x1b[Kwarning: beware\n")));
}

}  // namespace
}  // namespace c3sim::cli
