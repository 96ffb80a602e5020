// Tests suites from tables to verdicts; each test writes its own.
#include "validate/validation.h"

#include "tests/testing.h"
#include "tests/validate/libraries.h"

namespace c3sim::validate {
namespace {

class SuiteValidation : public testing::Test {
 protected:
  SuiteValidation() {
    for (const char* const name : {"gemms", "rest"})
      folder_.write(std::string("suites/") + name + ".yaml", suite(name));
    folder_.write("reference/gemms.csv",
                  "what,shape,ms\ngemm,8192x8192x8192,1.7\ngemm,16384x8192x16384,6.5\nodd,-,1\nodd,-,2\n");
    folder_.write("reference/rest.csv", "what,W\nrest,160\n");
    folder_.write("reference/claims.csv", "id,paper,metric,value,low,high,role\n");
    folder_.write("deviations.yaml", "deviations: []\n");
  }
  static std::string suite(const std::string& name) {
    const std::string heading =
        "title: T\nquestion: Q\nplatform: mi300x\ntables:\n  - file: " + name + ".csv\n    band: 0.5\n";
    if (name == "rest") {
      return heading + "    rows:\n      - trial: rest\n        where: {what: rest}\n        see: {power: \"{W}W\"}\n";
    }
    return heading +
           "    rows:\n      - where: {what: gemm}\n        group: g\n        trial: gemm\n"
           "        with: {gemm: \"{shape}\"}\n        see: {time: \"{ms}ms\"}\n"
           "      - where: {what: odd}\n        leave_out: odd\n";
  }
  Validation validated(const std::vector<std::string>& names, const Options& options = {}) const {
    return validate_suites(library_in(folder_), names, options);
  }
  std::string fault(const std::vector<std::string>& names, const Options& options = {}) const {
    return config_fault([&] { validated(names, options); });
  }
  Folder folder_{"validation_test"};
};

TEST_F(SuiteValidation, AreAllComparedWhereNoneIsNamed) {
  const Validation validation = validated({});
  EXPECT_THAT(validation.suites, SizeIs(2));
  EXPECT_THAT(validation.cases, SizeIs(3));
  EXPECT_THAT(validated({"rest"}).cases, SizeIs(1));
  EXPECT_THAT(validated({"rest", "rest"}).cases, SizeIs(1));
}

TEST_F(SuiteValidation, CountWhatTheyLeaveOutByReason) {
  const Validation validation = validated({"gemms"});
  ASSERT_THAT(validation.left_out, SizeIs(1));
  EXPECT_EQ(validation.left_out[0].suite, "gemms");
  EXPECT_EQ(validation.left_out[0].file, "gemms.csv");
  EXPECT_EQ(validation.left_out[0].why, "odd");
  EXPECT_EQ(validation.left_out[0].rows, 2);
}

// Shipped data belong to the project: no row is left out in silence.
TEST_F(SuiteValidation, WithRowsAtFaultAreRefused) {
  folder_.write("reference/rest.csv", "what,W\nrest,-1\nsleep,5\n");
  EXPECT_THAT(fault({"rest"}), AllOf(HasSubstr("rest.csv:2:6: W: '-1W' is negative"),
                                     HasSubstr("rest.csv:3:1: what: 'sleep' is not known")));
  folder_.write("reference/rest.csv", "what,kW\nrest,1\n");
  EXPECT_THAT(fault({"rest"}), HasSubstr("rest.csv:1:1: W: this column is missing"));
}

TEST_F(SuiteValidation, TakeAnotherPlatformAnotherToleranceAndChanges) {
  Options options;
  options.platform = "h200";
  options.tolerance = 0.01;
  options.changes = {"gpu.power.idle=100 W"};
  const Validation validation = validated({"rest"}, options);
  EXPECT_EQ(validation.suites[0].platform, "h200");
  EXPECT_EQ(validation.cases[0].machine, (Machine{"h200", {}, {"gpu.power.idle=100 W"}}));
  EXPECT_EQ(validation.cases[0].band, 0.01);
  EXPECT_NE(validation.cases[0].predicted, validated({"rest"}).cases[0].predicted);
  options.changes = {"gpu.power.idel=100 W"};
  EXPECT_THAT(fault({"rest"}, options), HasSubstr("did you mean 'gpu.power.idle'?"));
}

// One of two GEMMs without calibrate rows tells the constant factor of the other, even if only one is shown.
TEST_F(SuiteValidation, ShowOnlySomeCasesButFitRulesToAll) {
  Options options;
  options.only = "csv:2";
  const Validation some = validated({}, options);
  ASSERT_THAT(some.cases, SizeIs(2));  // one case of each suite
  EXPECT_TRUE(some.cases[0].baselines.constant.has_value());
  EXPECT_EQ(some.cases[0].baselines.constant, validated({}).cases[0].baselines.constant);
  EXPECT_THAT(some.left_out, IsEmpty());
  options.only = "nowhere";
  EXPECT_THAT(fault({}, options),
              HasSubstr("--case: no case has 'nowhere' in its name: such as gemms/gemms.csv:2/time"));
}

TEST_F(SuiteValidation, ShowDeviationsThatTheirCasesTellOf) {
  const std::string words = "    title: t\n    cause: c\n    decides: d\n    error: median\n    above: 0\n";
  folder_.write("deviations.yaml", "deviations:\n  - number: 1\n    suite: gemms\n    group: g\n" + words +
                                       "  - number: 2\n    suite: rest\n    group: g\n" + words);
  const Validation validation = validated({"gemms"});
  ASSERT_THAT(validation.gaps, SizeIs(1));
  EXPECT_EQ(validation.gaps[0].deviation.number, 1);
  EXPECT_TRUE(validation.gaps[0].open);
}

}  // namespace
}  // namespace c3sim::validate
