#include "sim/check.h"

#include <gtest/gtest.h>

#include <string>

namespace c3sim::sim {
namespace {

std::string message_of_failed_check() {
  try {
    SIM_CHECK(1 + 1 == 3 && "arithmetic holds");
  } catch (const InternalError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Check, AConditionThatHoldsDoesNothing) { EXPECT_NO_THROW(SIM_CHECK(2 > 1)); }

TEST(Check, AFailureCarriesExpressionFileAndLine) {
  const std::string message = message_of_failed_check();
  EXPECT_EQ(message.rfind("check failed: 1 + 1 == 3 && \"arithmetic holds\" (sim/check_test.cpp:", 0), 0u) << message;
}

TEST(Check, TheFolderAboveTheProjectIsNotInTheMessage) {
  EXPECT_STREQ(InternalError("a", "/somewhere/else/sim/task.h", 7).what(), "check failed: a (sim/task.h:7)");
  EXPECT_STREQ(InternalError("a", "task.h", 7).what(), "check failed: a (task.h:7)");
}

TEST(Check, TheInnermostTimeAndProcessAreKept) {
  InternalError error("a", "sim/task.h", 7);
  error.locate("2200000ps", "gpu0.sdma3");
  error.locate("9ps", "outer");
  EXPECT_STREQ(error.what(), "check failed: a (sim/task.h:7) at 2200000ps in process 'gpu0.sdma3'");
}

TEST(Check, WithoutAProcessOnlyTheTimeIsAdded) {
  InternalError error("a", "sim/task.h", 7);
  error.locate("5ps", "");
  EXPECT_STREQ(error.what(), "check failed: a (sim/task.h:7) at 5ps");
}

}  // namespace
}  // namespace c3sim::sim
