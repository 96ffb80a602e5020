#include "tests/testing.h"
#include "tests/validate/cases.h"
#include "tests/validate/libraries.h"
#include "validate/claim.h"

namespace c3sim::validate {
namespace {

using sim::operator""_KiB;
using sim::operator""_MiB;
using study::Figure;

const std::string words = "    title: t\n    cause: c\n    decides: d\n";

class DeviationFile : public testing::Test {
 protected:
  std::vector<Deviation> read(const std::string& text) const {
    return read_deviations(folder_.write("d.yaml", "deviations:\n" + text));
  }
  Folder folder_{"deviation_test"};
};

TEST_F(DeviationFile, IsRead) {
  const std::vector<Deviation> read_back = read(
      "  - number: 8\n    suite: latte\n    group: copies\n    figures: [time, power]\n    from: 128 KiB\n"
      "    to: 1 MiB\n    error: worst\n    above: 0.06\n" +
      words + "  - number: 1\n    claims: [conccl.ideal.mean]\n    beyond: [0.25]\n" + words);
  ASSERT_THAT(read_back, SizeIs(2));
  EXPECT_EQ(read_back[0].number, 8);
  EXPECT_EQ(read_back[0].title, "t");
  EXPECT_EQ(read_back[0].cause, "c");
  EXPECT_EQ(read_back[0].decides, "d");
  EXPECT_EQ(read_back[0].suite, "latte");
  EXPECT_EQ(read_back[0].group, "copies");
  EXPECT_THAT(read_back[0].figures, ElementsAre("time", "power"));
  EXPECT_EQ(read_back[0].least_size, 131072.0);
  EXPECT_EQ(read_back[0].greatest_size, 1048576.0);
  EXPECT_EQ(read_back[0].error, Deviation::Error::worst);
  EXPECT_EQ(read_back[0].above, 0.06);
  EXPECT_THAT(read_back[1].claims, ElementsAre("conccl.ideal.mean"));
  EXPECT_THAT(read_back[1].beyond, ElementsAre(0.25));
}

Deviation of_group(Deviation::Error error, double above) {
  Deviation deviation{.suite = "rccl", .group = "g", .error = error, .above = above};
  return deviation;
}

Case in_group(double measured_value, std::optional<double> predicted, sim::Bytes bytes = 1_MiB) {
  Case one = measured(measured_value, predicted);
  one.suite = "rccl";
  one.group = "g";
  one.trial = all_gather(bytes.value());
  return one;
}

TEST(Deviation, IsAboutItsGroupItsFiguresAndItsSizes) {
  Deviation deviation = of_group(Deviation::Error::median, 0.1);
  Case one = in_group(1.0, 1.0, 1_MiB);
  EXPECT_TRUE(deviation.is_about(one));
  deviation.least_size = deviation.greatest_size = 1048576.0;  // both ends belong to the range
  EXPECT_TRUE(deviation.is_about(one));
  EXPECT_FALSE(deviation.is_about(in_group(1.0, 1.0, 512_KiB)));
  EXPECT_FALSE(deviation.is_about(in_group(1.0, 1.0, 2_MiB)));
  deviation.figures = {"power"};
  EXPECT_FALSE(deviation.is_about(one));
  one.figure = Figure::power;
  EXPECT_TRUE(deviation.is_about(one));
  one.group = "h";
  EXPECT_FALSE(deviation.is_about(one));
}

// Errors are 5, 10 and 30 %: the median is 10, the worst 30.
TEST(Deviation, OfAGroupIsOpenAboveItsLimit) {
  const std::vector<Case> cases{in_group(1.0, 1.05), in_group(1.0, 0.9), in_group(1.0, 1.3), in_group(1.0, {})};
  const auto gap = [&](Deviation::Error error, double above) {
    return gaps_of(std::vector{of_group(error, above)}, {}, cases).at(0);
  };
  EXPECT_TRUE(gap(Deviation::Error::median, 0.09).open);
  EXPECT_FALSE(gap(Deviation::Error::median, 0.11).open);
  EXPECT_TRUE(gap(Deviation::Error::worst, 0.29).open);
  EXPECT_FALSE(gap(Deviation::Error::worst, 0.31).open);
  EXPECT_TRUE(gap(Deviation::Error::worst, 0.31).tested);
  EXPECT_EQ(gap(Deviation::Error::worst, 0.31).size, "median error 10.0 %, worst 30.0 %, bias +8.3 %, of 3 cases");
}

TEST(Deviation, WithoutCasesOrClaimsIsNotTested) {
  Deviation of_claim{.claims = {"a.b"}, .beyond = {0.0}};
  Claim unpredicted;
  unpredicted.id = "a.b";
  const std::vector<Gap> gaps = gaps_of(std::vector{of_group(Deviation::Error::worst, 0.1), of_claim},
                                        std::vector{unpredicted}, std::vector{in_group(1.0, {})});
  EXPECT_FALSE(gaps[0].tested);
  EXPECT_FALSE(gaps[1].tested);
}

TEST(Deviation, OfClaimsIsOpenWhileAnyOfThemDoesNotHold) {
  Claim in;
  in.id = "a.in";
  in.low = 1.0;
  in.high = 2.0;
  in.predicted = {1.5};
  Claim out = in;
  out.id = "a.out";
  out.predicted = {2.5};
  Deviation deviation{.claims = {"a.in", "a.out"}, .beyond = {0.0, 0.5}};
  const Gap both = gaps_of(std::vector{deviation}, std::vector{in, out}, {}).at(0);
  EXPECT_TRUE(both.open);
  EXPECT_EQ(both.size, "a.in: 1.5, band 1 to 2; a.out: 2.5, band 1 to 2");
  EXPECT_FALSE(both.grown) << "2.5 lies 0.5 beyond 2";
  deviation.beyond = {0.0, 0.4};
  EXPECT_TRUE(gaps_of(std::vector{deviation}, std::vector{in, out}, {}).at(0).grown);
  deviation.claims = {"a.in"};
  deviation.beyond = {0.0};
  const Gap closed = gaps_of(std::vector{deviation}, std::vector{in, out}, {}).at(0);
  EXPECT_TRUE(closed.tested);
  EXPECT_FALSE(closed.open);
}

TEST(SizeOf, IsTheBytesOfATransferAndTheOperationsOfAGemm) {
  EXPECT_EQ(study::size_of(all_gather(4096.0)), 4096.0);
  EXPECT_EQ(study::size_of(study::GemmTrial{.shape = {2, 3, 4}}), 48.0);  // 2 m n k
  EXPECT_EQ(study::size_of(study::StreamTrial{.bytes = 1_MiB}), 1048576.0);
  EXPECT_EQ(study::size_of(study::LoadTrial{.working_set = 1_MiB, .beside = {}}), 1048576.0);
  EXPECT_EQ(study::size_of(study::FanOutTrial{.peers = 3, .bytes = 1_MiB}), 1048576.0);
  EXPECT_EQ(study::size_of(study::DependentTrial{.shape = {2, 3, 4}}), 24.0);  // 3 tokens of 4 values of 2 bytes
  EXPECT_EQ(study::size_of(study::RestTrial{}), 0.0);
}

}  // namespace
}  // namespace c3sim::validate
