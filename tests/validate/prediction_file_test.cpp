#include "validate/prediction_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "study/run/digest.h"
#include "tests/validate/cases.h"
#include "tests/validate/libraries.h"

namespace c3sim::validate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using Json = nlohmann::ordered_json;

Case case_of_gather(double bytes, double measured_value, std::optional<double> predicted) {
  Case one = measured(measured_value, predicted);
  one.machine = {"mi300x", {}};
  one.trial = all_gather(bytes);
  one.id = "m.csv:2/time";
  one.where = "m.csv:2";
  return one;
}
const std::string gather_of_1_kib = "mi300x: rccl all_gather of 1KiB over all GPUs: time";

class PredictionFileTest : public testing::Test {
 protected:
  std::filesystem::path written(const std::string& text) const { return folder_.write("p.json", text); }
  std::string fault(const std::string& text) const {
    return fault_of([&] { read_prediction_json(written(text)); });
  }
  static std::string text() {
    Case impossible = case_of_gather(4, 1.0, {});
    impossible.why_not_predicted = "too small";
    const Machine machine{"mi300x", {}, {"gpu.power.cap=700 W"}};
    return to_prediction_json(std::vector{case_of_gather(1024, 1.0, 18e-6), impossible}, "0.2.0", machine,
                              "resolved: yes\n");
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
  EXPECT_EQ(content["cases"][0]["subject"], gather_of_1_kib);
  EXPECT_EQ(content["cases"][0]["figure"], "time");
  EXPECT_EQ(content["cases"][0]["unit"], "us");
  EXPECT_DOUBLE_EQ(content["cases"][0]["predicted"], 18.0);
  EXPECT_EQ(content["cases"][0]["command"], "c3sim collective --collective all_gather --backend rccl --bytes 1KiB");
  EXPECT_TRUE(content["cases"][1]["predicted"].is_null());
  EXPECT_EQ(content["cases"][1]["why_not"], "too small");
  // Of all else, without blanks.
  const std::string digest = content["sha256"];
  content.erase("sha256");
  EXPECT_EQ(digest, study::sha256(content.dump()));
}

TEST_F(PredictionFileTest, IsReadAsItWasWritten) {
  const PredictionFile read = read_prediction_json(written(text()));
  EXPECT_EQ(read.version, "0.2.0");
  EXPECT_EQ(read.platform, "mi300x");
  EXPECT_THAT(read.changes, ElementsAre("gpu.power.cap=700 W"));
  EXPECT_THAT(read.predicted, ElementsAre(Pair(gather_of_1_kib, testing::DoubleEq(18e-6))));
  EXPECT_EQ(read.digest, Json::parse(text())["sha256"]);
}

// Layout is no part of what was said; a digit is.
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

TEST_F(PredictionFileTest, ThatIsNoneIsRefused) {
  const std::string none = "p.json: no file of predictions: c3sim validate --predict writes them";
  for (const char* const other : {"", "[]", "{", "{\"cases\": [], \"sha256\": 5}", "a,b\n1,2\n"}) {
    EXPECT_THAT(fault(other), HasSubstr(none)) << other;
  }
  // Signed, but without what a file must hold.
  Json content{{"cases", Json::array()}};
  content["sha256"] = study::sha256(content.dump());
  EXPECT_THAT(fault(content.dump()), HasSubstr(none));
  EXPECT_THAT(fault_of([&] { read_prediction_json(folder_.path() / "absent.json"); }), HasSubstr("No such file"));
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
      .version = "", .platform = "mi300x", .changes = {"gpus=4"}, .digest = "", .predicted = {{gather_of_1_kib, 2.0}}};
};

// Nothing is simulated: 2 s is no time of an all-gather of 1 KiB.
TEST_F(Scoring, JoinsBySubject) {
  const Validation validation = scored({case_of_gather(1024, 4.0, {}), case_of_gather(2048, 4.0, {})});
  EXPECT_EQ(validation.cases[0].predicted, 2.0);
  EXPECT_NEAR(validation.cases[0].error(), -0.5, 1e-12);
  EXPECT_THAT(validation.cases[0].machine.changes, ElementsAre("gpus=4"));
  EXPECT_EQ(validation.cases[1].predicted, std::nullopt);
  EXPECT_EQ(validation.cases[1].why_not_predicted, "the file of predictions has none of it");
  EXPECT_THAT(validation.remarks, IsEmpty());
}

// Who predicts much and measures what came out well is seen.
TEST_F(Scoring, TellsWhatWasPredictedAndNotMeasured) {
  predictions_.predicted["mi300x: rccl all_gather of 2KiB over all GPUs: time"] = 3.0;
  EXPECT_THAT(scored({case_of_gather(1024, 4.0, {})}).remarks,
              ElementsAre("1 of 2 predictions of the file were not measured"));
}

TEST_F(Scoring, OfNothingThatWasPredictedIsAFault) {
  EXPECT_THAT(fault_of([&] { scored({case_of_gather(2048, 4.0, {})}); }),
              HasSubstr("m.csv:2: time: cannot be compared: the file of predictions has none of it"));
}

TEST_F(Scoring, TakesTheToleranceAsked) {
  Options options;
  options.tolerance = 0.3;
  EXPECT_EQ(scored({case_of_gather(1024, 4.0, {})}, options).cases[0].band, 0.3);
}

class Planning : public testing::Test {
 protected:
  Validation predicted(const std::string& rows, const Options& options = {}) const {
    return predict_file(library_, folder_.write("plan.csv", "kind,gemm,collective,bytes,how,limit,all_us\n" + rows),
                        options);
  }
  Folder folder_{"planning_test"};
  Library library_ = shipped_library();
};

TEST_F(Planning, NeedsNoMeasuredFigure) {
  const Validation validation = predicted("gemm,cb1,-,0,all,304,\ncoll,-,all_gather,1048576,nccl,0,-\n");
  ASSERT_THAT(validation.cases, SizeIs(2));
  EXPECT_GT(validation.cases[0].predicted.value(), 0.0);
  EXPECT_EQ(subject_of(validation.cases[1]), "mi300x: rccl all_gather of 1MiB over all GPUs: time");
}

TEST_F(Planning, TellsWhatItLeavesOutAndWhatItCannotPredict) {
  const Validation validation =
      predicted("gemm,cb1,-,0,all,304,\ngemm,cb1,-,0,all,305,\ncoll,-,-,1,copy_engine_graph,0,\n");
  ASSERT_THAT(validation.cases, SizeIs(2));
  EXPECT_THAT(validation.cases[1].why_not_predicted, HasSubstr("multiples of 8"));
  ASSERT_THAT(validation.left_out, SizeIs(1));
  EXPECT_EQ(validation.left_out[0].why, "copies replayed from a graph have no model");
}

TEST_F(Planning, OfNothingIsAFault) {
  EXPECT_THAT(fault_of([&] { predicted(""); }), HasSubstr("plan.csv: nothing in it can be compared: it has no rows"));
  EXPECT_THAT(fault_of([&] { predicted("gemm,cb1,-,0,all,305,\n"); }),
              HasSubstr("plan.csv:2: time: cannot be compared"));
  EXPECT_THAT(fault_of([&] { predicted("gemm,cb9,-,0,all,304,\n"); }), HasSubstr("plan.csv:2:6: gemm: 'cb9'"));
}

}  // namespace
}  // namespace c3sim::validate
