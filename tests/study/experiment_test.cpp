#include "study/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config.h"
#include "study/c3_study_file.h"
#include "tests/study/test_platform.h"

namespace study {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExperimentTest : public testing::Test {
 protected:
  Experiment read(const std::string& text) {
    sim::Config config = sim::Config::from_text(text, "test.yaml");
    sim::Section root = config.root();
    root.text("platform");
    Experiment experiment = read_experiment(root, testbed_);
    config.finish();
    return experiment;
  }

  // What is said of an experiment with these operations.
  std::string faults(const std::string& operations) {
    try {
      read("name: test\nplatform: mi300x\noperations:\n" + operations);
    } catch (const sim::ConfigError& error) {
      return error.what();
    }
    return {};
  }

  Testbed testbed_{mi300x().spec};
};

TEST_F(ExperimentTest, StreamsAndAfterBecomeDependencies) {
  const Experiment experiment = read(
      "name: test\nplatform: mi300x\noperations:\n"
      "  - {name: a, stream: s, gemm: 1024x1024x1024, cus: [64, 304]}\n"
      "  - {name: b, stream: t, collective: {kind: all_gather, bytes: 1MiB, backend: sdma, variant: b2b}}\n"
      "  - {name: c, stream: s, after: [b], copy: {from: 0, to: 1, bytes: 4KiB}}\n"
      "  - {name: d, stream: s, after: [c]}\n"
      "    \n"s.substr(0, 0));
  ASSERT_EQ(experiment.schedule.size(), 3U);
  EXPECT_EQ(experiment.schedule[0].mask, (models::CuMask{8, 38}));
  EXPECT_THAT(experiment.schedule[0].after, ElementsAre());
  EXPECT_THAT(experiment.schedule[2].after, ElementsAre(0U, 1U));
}

}  // namespace
}  // namespace study
