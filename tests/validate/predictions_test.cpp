#include "validate/predictions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "study/play/digest.h"
#include "tests/testing.h"
#include "tests/validate/cases.h"
#include "tests/validate/libraries.h"

namespace c3sim::validate {
namespace {

using Json = nlohmann::ordered_json;

Case gather(double bytes, double measured_value, std::optional<double> predicted) {
  Case one = measured(measured_value, predicted);
  one.machine = {"mi300x", {"gpus=4"}, {"gpu.power.cap=700 W"}};
  one.trial = all_gather(bytes);
  one.suite = "rccl";
  one.id = "m.csv:2/time";
  one.where = "m.csv:2";
  return one;
}
const std::string of_1_kib = "mi300x gpus=4: rccl all_gather of 1KiB over all GPUs: time";

Claim claim(const std::string& id, std::vector<double> predicted) {
  Claim one{.id = id, .high = 4.0, .predicted = std::move(predicted)};
  return one;
}

Validation validation_of(std::vector<Case> cases, std::vector<Claim> claims = {}) {
  Validation validation;
  validation.cases = std::move(cases);
  validation.claims = std::move(claims);
  return validation;
}

// An assignment that a user tries is no part of a subject. Both cases of 1 KiB are predicted at 20 us; that of 10 us is
// off by 100 %, and that of 25 us by 20.
TEST(AllPredictions, AreOfEverySubjectAndClaim) {
  Case impossible = gather(4, 1.0, {});
  impossible.why_not_predicted = "too small";
  const Json all =
      all_predictions(validation_of({gather(1024, 25e-6, 20e-6), gather(1024, 10e-6, 20e-6), impossible},
                                    {claim("a.one", {3.0}), claim("a.two", {1.0 / 3.0, 5.0}), claim("a.none", {})}));
  EXPECT_EQ(all["cases"],
            Json::parse(R"([{"subject": "mi300x gpus=4: rccl all_gather of 1KiB over all GPUs: time", "unit": "us",
                "predicted": 20, "measured": 10, "error_pct": 100, "within_band": false, "command":
                "c3sim collective --collective all_gather --bytes 1KiB --set gpus=4 --set 'gpu.power.cap=700 W'"},
              {"subject": "mi300x gpus=4: rccl all_gather of 4B over all GPUs: time", "unit": "us", "predicted": null,
                "why_not": "too small", "command":
                "c3sim collective --collective all_gather --bytes 4B --set gpus=4 --set 'gpu.power.cap=700 W'"}])"));
  EXPECT_EQ(all["claims"], Json::parse(R"([{"subject": "a.one", "predicted": 3, "within_band": true},
              {"subject": "a.two", "low": 0.333333, "high": 5, "within_band": false}])"));
}

// The middle one of errors of 10, -20 and 30 % has size 20, nine in ten lie within 28, the mean is 6.66667, and one
// lies within the band of 10 %.
TEST(Summary, HasStatisticsOfSuitesAndTables) {
  const Json summary =
      summary_of(validation_of({gather(1024, 1.0, 1.1), gather(2048, 1.0, 0.8), gather(4096, 1.0, 1.3)}));
  ASSERT_THAT(summary["groups"], SizeIs(2));
  Json group = summary["groups"][0];
  EXPECT_EQ(group["subject"], "rccl, unlisted");
  EXPECT_EQ(summary["groups"][1]["subject"], "rccl, unlisted: m.csv");
  group.erase("subject");
  EXPECT_EQ(group, Json::parse(R"({"cases": 3, "within_band": 1, "median_pct": 20, "p90_pct": 28, "worst_pct": 30,
                                   "bias_pct": 6.66667})"));
}

class PredictionFile : public testing::Test {
 protected:
  std::filesystem::path written(const std::string& text) const { return folder_.write("p.json", text); }
  std::string fault(const std::string& text) const {
    return config_fault([&] { read_predictions(written(text)); });
  }
  static std::string text() {
    const Json about{{"c3sim", "0.2.0"}, {"platform", "mi300x"}, {"set", {"gpu.power.cap=700 W"}}};
    return to_text(about, all_predictions(validation_of({gather(1024, 20e-6, 18e-6)}, {claim("a.one", {5.0})})));
  }
  Folder folder_{"predictions_test"};
};

TEST_F(PredictionFile, IsReadAsItWasWritten) {
  const Predictions read = read_predictions(written(text()));
  EXPECT_EQ(read.platform, "mi300x");
  EXPECT_THAT(read.changes, ElementsAre("gpu.power.cap=700 W"));
  EXPECT_FALSE(read.is_summary);
  using Values = Predictions::Values;
  EXPECT_EQ(read.by_subject.at(of_1_kib),
            (Values{{"predicted", 18.0}, {"measured", 20.0}, {"error_pct", -10.0}, {"within_band", 1.0}}));
  EXPECT_EQ(read.by_subject.at("a.one"), (Values{{"predicted", 5.0}, {"within_band", 0.0}}));
  EXPECT_EQ(read.digest, Json::parse(text())["sha256"]);
  EXPECT_EQ(short_digest(written(text())), read.digest.substr(0, 8));
}

// The digest covers all other members, without blanks, so that the layout is not signed; a digit is.
TEST_F(PredictionFile, ChangedByOneDigitIsRefused) {
  Json content = Json::parse(text());
  EXPECT_EQ(fault(content.dump()), "");
  content.erase("sha256");
  EXPECT_EQ(Json::parse(text())["sha256"], study::sha256(content.dump()));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {":18,", ":19,"}, {"0.2.0", "0.2.1"}, {"1KiB over", "2KiB over"}, {"700 W", "750 W"}}) {
    std::string other = text();
    const std::size_t place = other.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    other.replace(place, from.size(), to);
    EXPECT_THAT(fault(other), AllOf(HasSubstr("p.json: was changed since it was written: its digest is "),
                                    HasSubstr(", not the one that it names, ")))
        << from;
  }
}

// The content is signed, but lacks what a file must hold. The samples in tests/data/samples hold other such files.
TEST_F(PredictionFile, ThatIsSignedAndNoneIsRefused) {
  EXPECT_THAT(fault(to_text({{"cases", "none"}}, Json::object())), HasSubstr("p.json: no file of predictions"));
}

// Whatever walks such values, one call inside another, needs more stack than there is.
TEST_F(PredictionFile, OfDeeplyNestedValuesIsRefused) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_THAT(fault(R"({"sha256": "0", "cases": )" + deep + "}"), HasSubstr("p.json: no file of predictions"));
}

// Earlier versions wrote this file before its runs were measured.
TEST_F(PredictionFile, OfAnEarlierVersionIsRead) {
  const Predictions read = read_predictions(shipped_library().reference / "h200x2/blind/predictions.json");
  EXPECT_EQ(read.platform, "h200");
  EXPECT_THAT(read.by_subject, testing::Each(Pair(HasSubstr(": "), SizeIs(1))));
}

class Moves : public testing::Test {
 protected:
  // Returns what moves from one validation to another, whose predictions or summary were stored.
  std::vector<Move> moves(const Validation& from, const Validation& to, bool of_summary = false,
                          Compared compared = Compared::all) const {
    const Json stored = of_summary ? summary_of(from) : all_predictions(from);
    return moves_between(read_predictions(folder_.write("m.json", to_text(Json::object(), stored))), to, compared);
  }
  static std::vector<std::string> words(const std::vector<Move>& moves) {
    std::vector<std::string> words;
    for (const Move& move : moves) words.push_back(fmt::format("{} {}", to_string(move.change), move.value));
    return words;
  }
  Folder folder_{"moves_test"};
};

RC_GTEST_FIXTURE_PROP(Moves, AgainstTheSamePredictionsAreNone, ()) {
  std::vector<Case> cases;
  const int count = *rc::gen::inRange(1, 40);
  for (int i = 0; i < count; ++i) {
    cases.push_back(gather(4.0 * *rc::gen::inRange(1, 20), 1.0, *rc::gen::inRange(1, 1000000) * 1e-6));
  }
  const Validation validation = validation_of(cases, {claim("a.one", {1.0 / 3.0})});
  for (const bool of_summary : {false, true}) RC_ASSERT(moves(validation, validation, of_summary).empty());
}

// Of 1 s, 1.05 s are predicted and then 1.2 s, which is outside the band of 10 %; the claim has a limit of 4. The
// samples in tests/data/samples hold moves of other kinds.
TEST_F(Moves, OutOfBandsAreRegressions) {
  EXPECT_THAT(
      words(moves(validation_of({gather(4, 1.0, 1.05)}, {claim("a.one", {3.99})}),
                  validation_of({gather(4, 1.0, 1.2)}, {claim("a.one", {4.01})}))),
      ElementsAre("regression within_band", "regression within_band", "regression predicted", "drift predicted"));
}

// One error of 21 grows from 1 to 8 %: only the statistics that it is part of move, and a row comes to be among the
// worst twenty. The row that it displaces has not moved.
TEST_F(Moves, OfSummariesAreOfStatisticsAndWorstRows) {
  std::vector<Case> cases{gather(400, 1.0, 1.01)};
  for (int i = 1; i <= 20; ++i) cases.push_back(gather(4.0 * i, 1.0, 1.05));
  const Validation before = validation_of(cases);
  cases.front() = gather(400, 1.0, 1.08);
  const Validation after = validation_of(cases);
  EXPECT_EQ(summary_of(after)["worst"][0]["error_pct"], 8);
  const std::vector<std::string> of_group{"regression worst_pct", "drift bias_pct"};
  EXPECT_THAT(words(moves(before, after, true)),
              ElementsAre(of_group[0], of_group[0], of_group[1], of_group[1], "new predicted"));
  EXPECT_THAT(words(moves(before, after, true, Compared::some)),
              ElementsAre(of_group[0], of_group[0], of_group[1], of_group[1]));
}

// The file is of the shipped platform, or of a file whose name has a blank; neither is that which is asked today.
TEST_F(Moves, OfAnotherPlatformAreThoseOfItsCases) {
  Predictions before{
      .by_subject = {{"h200 gpus=2: gemm 8x8x8: time", {{"predicted", 2.0}}}, {"a.one", {{"low", 1.0}}}}};
  Predictions after = of_platform(before, "my own.yaml");
  EXPECT_EQ(after.by_subject.at("my own.yaml gpus=2: gemm 8x8x8: time").at("predicted"), 2.0);
  EXPECT_EQ(after.by_subject.at("a.one").at("low"), 1.0);
  EXPECT_TRUE(of_platform(after, "h200").by_subject == before.by_subject);
}

class Scoring : public testing::Test {
 protected:
  Validation scored(std::vector<Case> cases, const Options& options = {}) const {
    Validation validation;
    validation.cases = std::move(cases);
    apply_predictions(validation, predictions_, shipped_library(), options);
    return validation;
  }
  Predictions predictions_{
      .platform = "mi300x", .changes = {"gpu.power.cap=650 W"}, .by_subject = {{of_1_kib, {{"predicted", 2e6}}}}};
};

// Nothing is simulated: 2 s cannot be the time of an all-gather of 1 KiB.
TEST_F(Scoring, JoinsBySubject) {
  const Validation validation = scored({gather(1024, 4.0, {}), gather(2048, 4.0, {})});
  EXPECT_EQ(validation.cases[0].predicted, 2.0);
  EXPECT_NEAR(validation.cases[0].error(), -0.5, 1e-12);
  EXPECT_THAT(validation.cases[0].machine.changes, ElementsAre("gpu.power.cap=650 W"));
  EXPECT_EQ(validation.cases[1].predicted, std::nullopt);
  EXPECT_EQ(validation.cases[1].why_not_predicted, "the file of predictions has none of it");
  EXPECT_THAT(validation.remarks, IsEmpty());
}

// A plan leaves out what its machine has anyway, or its options said it; the table of its runs says it by itself. Two
// GPUs are not four.
TEST_F(Scoring, JoinsWhatATableSaysAndAPlanNeedNot) {
  predictions_.by_subject = {{"mi300x: rccl all_gather of 1KiB over all GPUs: time", {{"predicted", 2e6}}}};
  Case of_four = gather(1024, 4.0, {});
  of_four.machine.assignments = {"host.protocol=steady"};
  study::CollectiveTrial& trial = std::get<study::CollectiveTrial>(of_four.trial);
  trial.spec.gpus = 4;
  trial.spec.cus = 304;
  for (const Case& told : {gather(1024, 4.0, {}), of_four}) {
    predictions_.changes = {"gpus=4"};
    EXPECT_EQ(scored({told}).cases[0].predicted, 2.0);
    predictions_.changes = {"gpus=2"};
    EXPECT_THAT(config_fault([&] { scored({told}); }), HasSubstr("the file of predictions has none of it"));
  }
}

// The report shows who predicts much and measures only what came out well.
TEST_F(Scoring, TellsWhatWasPredictedAndNotMeasured) {
  predictions_.by_subject["mi300x gpus=4: rccl all_gather of 2KiB over all GPUs: time"] = {{"predicted", 3e6}};
  EXPECT_THAT(scored({gather(1024, 4.0, {})}).remarks, ElementsAre("1 of 2 predictions of the file were not measured"));
}

TEST_F(Scoring, TakesTheToleranceAsked) {
  Options options;
  options.tolerance = 0.3;
  EXPECT_EQ(scored({gather(1024, 4.0, {})}, options).cases[0].band, 0.3);
}

}  // namespace
}  // namespace c3sim::validate
