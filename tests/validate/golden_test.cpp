#include "validate/golden.h"

#include <rapidcheck/gtest.h>

#include <cmath>
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
  one.id = "m.csv:2/time";
  one.where = "m.csv:2";
  return one;
}
const std::string of_1_kib = "mi300x gpus=4: rccl all_gather of 1KiB over all GPUs: time";

Claim claim(const std::string& id, std::vector<double> predicted) {
  Claim one;
  one.id = id;
  one.predicted = std::move(predicted);
  return one;
}

// An assignment that a user tries is no part of a subject; a case without a prediction has no subject.
TEST(Goldens, AreOfSubjectsAndClaims) {
  const Predictions predictions =
      predictions_of(std::vector{gather(1024, 1.0, 2.0), gather(1024, 5.0, 2.0), gather(2048, 1.0, {})},
                     std::vector{claim("a.one", {3.0}), claim("a.two", {4.0, 5.0}), claim("a.none", {})});
  EXPECT_THAT(predictions, UnorderedElementsAre(Pair(of_1_kib, 2.0), Pair("a.one", 3.0), Pair("a.two low", 4.0),
                                                Pair("a.two high", 5.0)));
}

// The middle one of errors of 0.1, -0.2 and 0.3 has size 0.2, nine in ten lie within 0.28 and the mean is 0.0667.
TEST(Goldens, OfTablesOfManyRowsAreTheStatisticsOfTheirGroups) {
  std::vector<Case> cases{gather(1024, 1.0, 1.1), gather(2048, 1.0, 0.8), gather(4096, 1.0, 1.3)};
  for (Case& one : cases) {
    one.suite = "public";
    one.group = "a table";
    one.golden = Golden::statistics;
  }
  const Predictions predictions = predictions_of(cases, {});
  EXPECT_THAT(predictions, SizeIs(3));
  EXPECT_NEAR(predictions.at("public: a table, median error"), 0.2, 1e-9);
  EXPECT_NEAR(predictions.at("public: a table, nine in ten within"), 0.28, 1e-9);
  EXPECT_NEAR(predictions.at("public: a table, bias"), 0.2 / 3.0, 1e-9);
}

class GoldenFile : public testing::Test {
 protected:
  std::string fault(const std::string& text) const {
    const std::filesystem::path file = folder_.write("g.csv", text);
    return config_fault([&] { read_golden(file); });
  }
  static std::string signed_text(const std::string& body) {
    return "# predictions of all suites; sha256 of what follows: " + study::sha256(body) + "\n" + body;
  }
  Folder folder_{"golden_test"};
};

TEST_F(GoldenFile, IsWrittenInOrderWithSixDigits) {
  const std::string body = "subject,predicted\na,0.333333\n\"b, \"\"c\"\"\",2e-05\n";
  EXPECT_EQ(to_golden({{"b, \"c\"", 2e-5}, {"a", 1.0 / 3.0}}), signed_text(body));
}

RC_GTEST_FIXTURE_PROP(GoldenFile, IsReadAsItWasWritten, ()) {
  const auto word = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', ',', '"', ' ', '#', ':')));
  Predictions predictions;
  for (std::string name : *rc::gen::container<std::vector<std::string>>(word)) {
    // Blanks around a cell are no part of it.
    predictions["x" + name + "x"] = *rc::gen::inRange(1, 999999) * std::pow(10.0, *rc::gen::inRange(-12, 12));
  }
  const Predictions read = read_golden(folder_.write("g.csv", to_golden(predictions)));
  RC_ASSERT(read.size() == predictions.size());
  for (const auto& [subject, value] : predictions) RC_ASSERT(std::abs(read.at(subject) / value - 1.0) < 1e-5);
}

TEST_F(GoldenFile, EditedByHandIsRefused) {
  const std::string text = to_golden({{"a", 1.5}});
  EXPECT_EQ(fault(text), "");
  std::string other = text;
  other[other.size() - 2] = '6';
  EXPECT_THAT(fault(other), HasSubstr("g.csv: was changed by hand: its digest is another"));
  EXPECT_THAT(fault(text + "b,2\n"), HasSubstr("was changed by hand"));
}

// The digest is no secret: a signed file with other columns is a fault, too.
TEST_F(GoldenFile, OfOtherColumnsIsRefused) {
  EXPECT_THAT(fault(signed_text("subject,value\na,1\n")), HasSubstr("predicted: this column is missing"));
  EXPECT_THAT(fault(signed_text("subject,predicted\na,one\n")),
              HasSubstr("g.csv:3:3: predicted: 'one' is not a decimal"));
}

TEST_F(GoldenFile, IsNamedByTheBeginningOfItsDigest) {
  const std::string text = to_golden({{"a", 1.5}});
  EXPECT_EQ(short_digest(folder_.write("g.csv", text)), study::sha256("subject,predicted\na,1.5\n").substr(0, 8));
}

RC_GTEST_PROP(Moves, AgainstItsOwnGoldensAreNone, ()) {
  std::vector<Case> cases;
  const int count = *rc::gen::inRange(0, 20);
  for (int i = 0; i < count; ++i) cases.push_back(gather(1024 << i, 1.0, *rc::gen::inRange(1, 1000000) * 1e-6));
  RC_ASSERT(moves_between(predictions_of(cases, {}), cases, {}).empty());
}

class PredictionFileTest : public testing::Test {
 protected:
  std::filesystem::path written(const std::string& text) const { return folder_.write("p.json", text); }
  std::string fault(const std::string& text) const {
    return config_fault([&] { read_prediction_json(written(text)); });
  }
  static std::string text() {
    Case impossible = gather(4, 1.0, {});
    impossible.why_not_predicted = "too small";
    const Machine machine{"mi300x", {}, {"gpu.power.cap=700 W"}};
    return to_prediction_json(std::vector{gather(1024, 1.0, 18e-6), impossible}, "0.2.0", machine, "resolved: yes\n");
  }
  Folder folder_{"prediction_file_test"};
};

TEST_F(PredictionFileTest, HoldsPlatformVersionAndDigest) {
  Json content = Json::parse(text());
  EXPECT_EQ(content["c3sim"], "0.2.0");
  EXPECT_EQ(content["platform"], "mi300x");
  EXPECT_THAT(content["set"], ElementsAre("gpu.power.cap=700 W"));
  EXPECT_EQ(content["platform_sha256"], study::sha256("resolved: yes\n"));
  ASSERT_THAT(content["cases"], SizeIs(2));
  EXPECT_EQ(content["cases"][0]["subject"], of_1_kib);
  EXPECT_EQ(content["cases"][0]["figure"], "time");
  EXPECT_EQ(content["cases"][0]["unit"], "us");
  EXPECT_DOUBLE_EQ(content["cases"][0]["predicted"], 18.0);
  EXPECT_EQ(content["cases"][0]["command"],
            "c3sim collective --collective all_gather --bytes 1KiB --set gpus=4 --set 'gpu.power.cap=700 W'");
  EXPECT_TRUE(content["cases"][1]["predicted"].is_null());
  EXPECT_EQ(content["cases"][1]["why_not"], "too small");
  // The digest covers all other members, without blanks.
  const std::string digest = content["sha256"];
  content.erase("sha256");
  EXPECT_EQ(digest, study::sha256(content.dump()));
}

TEST_F(PredictionFileTest, IsReadAsItWasWritten) {
  const PredictionFile read = read_prediction_json(written(text()));
  EXPECT_EQ(read.platform, "mi300x");
  EXPECT_THAT(read.changes, ElementsAre("gpu.power.cap=700 W"));
  EXPECT_THAT(read.predicted, ElementsAre(Pair(of_1_kib, testing::DoubleEq(18e-6))));
  EXPECT_EQ(read.digest, Json::parse(text())["sha256"]);
}

// The layout is not signed; a digit is.
TEST_F(PredictionFileTest, ChangedByOneDigitIsRefused) {
  EXPECT_EQ(fault(Json::parse(text()).dump()), "");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"18.0", "19.0"}, {"0.2.0", "0.2.1"}, {"1KiB over", "2KiB over"}, {"700 W", "750 W"}}) {
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
TEST_F(PredictionFileTest, ThatIsSignedAndNoneIsRefused) {
  Json content{{"cases", Json::array()}};
  content["sha256"] = study::sha256(content.dump());
  EXPECT_THAT(fault(content.dump()), HasSubstr("p.json: no file of predictions: c3sim validate --predict writes them"));
}

class Scoring : public testing::Test {
 protected:
  Validation scored(std::vector<Case> cases, const Options& options = {}) const {
    Validation validation;
    validation.cases = std::move(cases);
    apply_predictions(validation, predictions_, shipped_library(), options);
    return validation;
  }
  PredictionFile predictions_{
      .platform = "mi300x", .changes = {"gpu.power.cap=650 W"}, .digest = "", .predicted = {{of_1_kib, 2.0}}};
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

// The report shows who predicts much and measures only what came out well.
TEST_F(Scoring, TellsWhatWasPredictedAndNotMeasured) {
  predictions_.predicted["mi300x gpus=4: rccl all_gather of 2KiB over all GPUs: time"] = 3.0;
  EXPECT_THAT(scored({gather(1024, 4.0, {})}).remarks, ElementsAre("1 of 2 predictions of the file were not measured"));
}

TEST_F(Scoring, OfNothingThatWasPredictedIsAFault) {
  EXPECT_THAT(config_fault([&] { scored({gather(2048, 4.0, {})}); }),
              HasSubstr("m.csv:2: time: cannot be compared: the file of predictions has none of it"));
}

TEST_F(Scoring, TakesTheToleranceAsked) {
  Options options;
  options.tolerance = 0.3;
  EXPECT_EQ(scored({gather(1024, 4.0, {})}, options).cases[0].band, 0.3);
}

}  // namespace
}  // namespace c3sim::validate
