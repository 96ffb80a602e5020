#include "validate/golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "study/run/digest.h"
#include "tests/validate/cases.h"
#include "tests/validate/libraries.h"

namespace c3sim::validate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Case gather(double bytes, double measured_value, std::optional<double> predicted) {
  Case one = measured(measured_value, predicted);
  one.machine = {"mi300x", {"gpus=4"}, {"gpu.power.cap=700 W"}};
  one.trial = all_gather(bytes);
  return one;
}
const std::string of_1_kib = "mi300x gpus=4: rccl all_gather of 1KiB over all GPUs: time";
const std::string of_2_kib = "mi300x gpus=4: rccl all_gather of 2KiB over all GPUs: time";
const std::string of_4_kib = "mi300x gpus=4: rccl all_gather of 4KiB over all GPUs: time";
const std::string of_8_kib = "mi300x gpus=4: rccl all_gather of 8KiB over all GPUs: time";

Claim claim(const std::string& id, std::vector<double> predicted) {
  Claim one;
  one.id = id;
  one.predicted = std::move(predicted);
  return one;
}

// What a user tries is no part of a subject; what is not predicted has none.
TEST(Goldens, AreOfSubjectsAndClaims) {
  const Predictions predictions =
      predictions_of(std::vector{gather(1024, 1.0, 2.0), gather(1024, 5.0, 2.0), gather(2048, 1.0, {})},
                     std::vector{claim("a.one", {3.0}), claim("a.two", {4.0, 5.0}), claim("a.none", {})});
  EXPECT_THAT(predictions, UnorderedElementsAre(Pair(of_1_kib, 2.0), Pair("a.one", 3.0), Pair("a.two low", 4.0),
                                                Pair("a.two high", 5.0)));
}

// Of errors of 0.1, -0.2 and 0.3 the middle one is 0.2 in size, nine in ten lie within 0.28 and the mean is 0.0667.
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
    return fault_of([&] { read_golden(file); });
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

TEST_F(GoldenFile, ThatIsNoneIsRefused) {
  EXPECT_THAT(fault("subject,predicted\na,1\n"),
              HasSubstr("g.csv: no file of predictions: c3sim validate --update-goldens and --out write them"));
  EXPECT_THAT(fault(""), HasSubstr("no file of predictions"));
  EXPECT_THAT(fault_of([&] { read_golden(folder_.path() / "absent.csv"); }), HasSubstr("No such file or directory"));
}

// The digest is no secret: whoever signs something else gets a fault, too.
TEST_F(GoldenFile, OfOtherColumnsIsRefused) {
  EXPECT_THAT(fault(signed_text("subject,value\na,1\n")), HasSubstr("predicted: this column is missing"));
  EXPECT_THAT(fault(signed_text("subject,predicted\na,one\n")),
              HasSubstr("g.csv:3:3: predicted: 'one' is not a decimal"));
}

TEST_F(GoldenFile, IsNamedByTheBeginningOfItsDigest) {
  const std::string text = to_golden({{"a", 1.5}});
  EXPECT_EQ(short_digest(folder_.write("g.csv", text)), study::sha256("subject,predicted\na,1.5\n").substr(0, 8));
}

std::vector<std::string> texts_of(const std::vector<Move>& moves) {
  std::vector<std::string> all;
  for (const Move& move : moves) all.push_back(std::string(to_string(move.change)) + " " + move.subject);
  return all;
}

// Measured 10, before 11 (10 % off): 12 is a regression, 10.5 a gain, and 9.05, off by 9.5 % to the other side,
// neither.
TEST(Moves, AreSortedIntoRegressionDriftGainNewAndGone) {
  const std::vector<Case> cases{gather(1024, 10.0, 10.5), gather(2048, 10.0, 9.05), gather(4096, 10.0, 12.0),
                                gather(8192, 10.0, 10.0)};
  const Predictions before{{of_1_kib, 11.0}, {of_2_kib, 11.0}, {of_4_kib, 11.0}, {"a.gone", 1.0}};
  const std::vector<Move> moves = moves_between(before, cases, {});
  EXPECT_THAT(texts_of(moves), ElementsAre("regression " + of_4_kib, "drift " + of_2_kib, "gain " + of_1_kib,
                                           "new " + of_8_kib, "gone a.gone"));
  EXPECT_NEAR(moves[0].error_before.value(), 0.1, 1e-12);
  EXPECT_NEAR(moves[0].error_after.value(), 0.2, 1e-12);
  EXPECT_NEAR(moves[0].size(), 1.0 / 12.0, 1e-12);
  EXPECT_EQ(moves[0].figure, &study::form_of(study::Figure::time));
}

TEST(Moves, OfOneKindAreSortedBySize) {
  const std::vector<Case> cases{gather(1024, 10.0, 12.0), gather(2048, 10.0, 14.0), gather(4096, 10.0, 13.0)};
  const Predictions before{{of_1_kib, 11.0}, {of_2_kib, 11.0}, {of_4_kib, 11.0}};
  EXPECT_THAT(texts_of(moves_between(before, cases, {})),
              ElementsAre("regression " + of_2_kib, "regression " + of_4_kib, "regression " + of_1_kib));
}

TEST(Moves, ByAThousandthAreNone) {
  const Predictions before{{of_1_kib, 1.0}};
  EXPECT_THAT(moves_between(before, std::vector{gather(1024, 1.0, 1.0009)}, {}), IsEmpty());
  EXPECT_THAT(moves_between(before, std::vector{gather(1024, 1.0, 1.0011)}, {}), SizeIs(1));
}

TEST(Moves, OfClaimsAreDrifts) {
  const std::vector<Move> moves = moves_between({{"a.one", 1.0}}, {}, std::vector{claim("a.one", {2.0})});
  EXPECT_THAT(texts_of(moves), ElementsAre("drift a.one"));
  EXPECT_EQ(moves[0].figure, nullptr);
}

// Who compares one suite has not lost the others.
TEST(Moves, KnowWhatIsGoneOnlyWhereAllIsCompared) {
  EXPECT_THAT(moves_between({{"a.gone", 1.0}}, {}, {}, Compared::some), IsEmpty());
  EXPECT_THAT(moves_between({{"a.gone", 1.0}}, {}, {}, Compared::all), SizeIs(1));
}

RC_GTEST_PROP(Moves, AgainstItsOwnGoldensAreNone, ()) {
  std::vector<Case> cases;
  const int count = *rc::gen::inRange(0, 20);
  for (int i = 0; i < count; ++i) cases.push_back(gather(1024 << i, 1.0, *rc::gen::inRange(1, 1000000) * 1e-6));
  RC_ASSERT(moves_between(predictions_of(cases, {}), cases, {}).empty());
}

}  // namespace
}  // namespace c3sim::validate
