#include "validate/claim.h"

#include "tests/testing.h"
#include "tests/validate/libraries.h"

namespace c3sim::validate {
namespace {

TEST(Claim, IsToldWithTheIntervalOfEachOfItsValues) {
  Claim one;
  one.predicted = {0.4, 0.6};
  EXPECT_EQ(interval_words(one), "") << "nobody asked";
  one.intervals = {study::Interval{0.35, 0.4512}, std::nullopt};
  EXPECT_EQ(interval_words(one), "0.35 to 0.4512");
  one.intervals[1] = {0.5, 0.75};
  EXPECT_EQ(interval_words(one), "0.35 to 0.4512; 0.5 to 0.75");
}

// Claims that follow from power have an interval, since the energies of the MI300X have errors; claims that follow from
// cases have none if no case is given.
TEST(Claim, FullHasIntervalsOfAnEnsemble) {
  const Library library = shipped_library();
  const study::Platform platform = library.platforms({"mi300x", {}});
  const study::Ensemble ensemble(platform, {.draws = study::fewest_draws, .seed = 1});
  study::Testbed testbed(platform.spec);
  const std::vector<std::string> suites{"latte"};
  const ClaimBook book(library.claims);
  std::vector<Claim> claims = predict_claims(read_claims(library.reference / "claims.csv"), suites, book,
                                             {testbed, platform, library.experiments, {}});
  add_intervals(claims, suites, book, platform, ensemble, library.experiments, {}, 0);
  const auto of = [&claims](const char* id) { return *std::ranges::find(claims, id, &Claim::id); };
  const Claim power = of("latte.power.large");
  ASSERT_THAT(power.intervals, SizeIs(1));
  ASSERT_TRUE(power.intervals[0].has_value());
  EXPECT_LT(power.intervals[0]->low, power.intervals[0]->high);
  EXPECT_TRUE(power.intervals[0]->holds(power.predicted[0]));
  EXPECT_THAT(of("latte.p2p_phases").intervals, IsEmpty()) << "no cases, no prediction";
}

TEST(ClaimFile, IsRead) {
  const Folder folder("claim_test");
  const std::vector<Claim> claims =
      read_claims(folder.write("claims.csv",
                               "id,paper,metric,value,low,high,role\n"
                               "conccl.ideal.mean,ConCCL,\"mean, of all\",1.6,1.55,1.65,predict\n"));
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].id, "conccl.ideal.mean");
  EXPECT_EQ(claims[0].text, "mean, of all");
  EXPECT_EQ(claims[0].published, "1.6");
  EXPECT_EQ(claims[0].low, 1.55);
  EXPECT_EQ(claims[0].high, 1.65);
  EXPECT_EQ(claims[0].role, calibrate::Role::predict);
  EXPECT_THAT(claims[0].predicted, IsEmpty());
}

}  // namespace
}  // namespace c3sim::validate
