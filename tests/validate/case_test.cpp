#include "validate/case.h"

#include <gtest/gtest.h>

#include "tests/validate/cases.h"

namespace c3sim::validate {
namespace {

using study::Figure;

TEST(Case, IsWrongByARatioOrByPoints) {
  EXPECT_NEAR(measured(4.0, 5.0).error(), 0.25, 1e-12);
  EXPECT_NEAR(measured(4.0, 3.0).error(), -0.25, 1e-12);
  EXPECT_NEAR(measured(0.4, 0.5, Figure::copy_share).error(), 0.1, 1e-12);
}

TEST(Case, WithoutAPredictionIsWithinNothing) {
  Case one = measured(4.0, {});
  one.low = 0.0;
  one.high = 10.0;
  EXPECT_FALSE(one.is_within_band());
  EXPECT_FALSE(one.is_within_noise());
}

TEST(Case, OfAShareHasItsNoiseInPoints) {
  Case one = measured(0.4, 0.5, Figure::copy_share);
  one.low = 0.3;
  one.high = 0.5;
  EXPECT_NEAR(one.noise().value(), 0.1, 1e-12);
}

TEST(Subject, NamesMachineTrialAndFigureButNotWhatIsTried) {
  Case one = measured(1.0, {}, Figure::bus_bandwidth);
  one.machine = {"h200", {"gpus=4"}, {"gpu.power.cap=600 W"}};
  one.trial = all_gather(1024);
  EXPECT_EQ(subject_of(one), "h200 gpus=4: rccl all_gather of 1KiB over all GPUs: bus_bandwidth");
}

TEST(Command, ReproducesThePrediction) {
  Case one = measured(1.0, {});
  one.machine = {"mi300x", {}};
  one.trial = study::GemmTrial{.shape = {8192, 8192, 8192}, .cus = 240};
  EXPECT_EQ(command_of(one), "c3sim gemm --gemm 8192x8192x8192 --cus 240");
  one.machine = {"h200", {"gpus=4"}, {"gpu.sdma.engines=8"}};
  EXPECT_EQ(command_of(one),
            "c3sim gemm --gemm 8192x8192x8192 --cus 240 --platform h200 --set gpus=4 --set gpu.sdma.engines=8");
}

// Nothing asks for a board at rest but the case itself.
TEST(Command, OfWhatNoCommandAsksShowsTheCase) {
  Case one = measured(1.0, {}, Figure::power);
  one.suite = "power";
  one.where = "power.csv:5";
  one.id = "power/power.csv:5/power";
  one.machine = {"mi300x", {}, {"gpu.power.idle=95 W"}};
  EXPECT_EQ(command_of(one), "c3sim validate power --case power/power.csv:5/power --set 'gpu.power.idle=95 W'");
  one.suite = "";
  one.id = one.where + "/power";
  one.machine.changes.clear();
  EXPECT_EQ(command_of(one), "c3sim validate power.csv --case power.csv:5/power");
}

TEST(Command, IsSafeToPasteWhateverAFileIsCalled) {
  Case one = measured(1.0, {}, Figure::power);
  one.where = "it's; rm -r x.csv:5";
  one.id = "a";
  EXPECT_EQ(command_of(one), R"(c3sim validate 'it'\''s; rm -r x.csv' --case a)");
}

}  // namespace
}  // namespace c3sim::validate
