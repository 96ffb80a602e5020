#include "validate/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validate/libraries.h"

namespace c3sim::validate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string heading = "title: t\nquestion: q?\nplatform: mi300x\n";
const std::string one_table = heading +
                              "tables:\n"
                              "  - file: t.csv\n"
                              "    band: 0.1\n";
const std::string one_row = one_table +
                            "    rows:\n"
                            "      - trial: gemm\n"
                            "        with: {gemm: \"{shape}\"}\n"
                            "        see: {time: \"{ms}ms\"}\n";

Suite read(const std::string& text) {
  return read_suite(sim::Config::from_text(text, "s.yaml"), "s", calibrate::Reader(shipped_library().formats),
                    ClaimBook(shipped_library().claims).papers());
}
std::string fault(const std::string& text) {
  return fault_of([&] { read(text); });
}

TEST(Suite, IsRead) {
  const Suite suite = read(heading +
                           "claims: [conccl, latte]\ntables:\n  - file: a/runs.csv\n    band: 0.15\n    format: runs\n"
                           "  - file: t.csv\n    band: 0.2\n    set: gpus=4\n    rows:\n      - trial: rest\n"
                           "        see: {power: {measured: \"{W}W\", band: 0.05}}\n");
  EXPECT_EQ(suite.name, "s");
  EXPECT_EQ(suite.title, "t");
  EXPECT_EQ(suite.question, "q?");
  EXPECT_EQ(suite.platform, "mi300x");
  EXPECT_THAT(suite.claims, ElementsAre("conccl", "latte"));
  ASSERT_THAT(suite.tables, SizeIs(2));
  EXPECT_EQ(suite.tables[0].file, "a/runs.csv");
  EXPECT_EQ(suite.tables[0].band, 0.15);
  EXPECT_EQ(suite.tables[0].format.name, "runs");
  EXPECT_EQ(suite.tables[1].format.name, "t");
  EXPECT_EQ(suite.tables[1].format.rows.at(0).see.at(0).band, 0.05);
}

TEST(Suite, MayDescribeATable) {
  const Suite suite = read(one_row + "    description: {what: GEMMs, machine: MI300X, protocol: loop, others: 5 %}\n");
  const TableAbout about = suite.tables.at(0).about.value();
  EXPECT_EQ(about.what, "GEMMs");
  EXPECT_EQ(about.machine, "MI300X");
  EXPECT_EQ(about.protocol, "loop");
  EXPECT_EQ(about.fitted, "");
  EXPECT_EQ(about.others, "5 %");
  EXPECT_FALSE(read(one_row).tables.at(0).about);
  EXPECT_THAT(fault(one_row + "    description: {what: GEMMs, machine: MI300X}\n"),
              HasSubstr("tables[0].description.protocol: is missing"));
}

TEST(Suite, SaysWhichKeyIsMissing) {
  EXPECT_THAT(fault("title: t\nplatform: mi300x\nclaims: [latte]\n"), HasSubstr("s.yaml:1:1: question: is missing"));
  EXPECT_THAT(fault("question: q\nplatform: mi300x\nclaims: [latte]\n"), HasSubstr("s.yaml:1:1: title: is missing"));
  EXPECT_THAT(fault("title: t\nquestion: q\nclaims: [latte]\n"), HasSubstr("s.yaml:1:1: platform: is missing"));
  EXPECT_THAT(fault(heading), HasSubstr("s.yaml:1:1: tables: a suite has tables or claims"));
  EXPECT_THAT(fault(heading + "tables:\n  - band: 0.1\n    format: runs\n"),
              HasSubstr("s.yaml:5:5: tables[0].file: is missing"));
  EXPECT_THAT(fault(heading + "tables:\n  - file: t.csv\n    format: runs\n"),
              HasSubstr("s.yaml:5:5: tables[0].band: is missing"));
  EXPECT_THAT(fault(one_table), HasSubstr("s.yaml:5:5: tables[0].rows: is missing"));
}

TEST(Suite, NamesTheNearestOfAnUnknownKey) {
  EXPECT_THAT(fault(heading + "table: []\n"), HasSubstr("s.yaml:4:1: table: unknown key; did you mean 'tables'?"));
  EXPECT_THAT(fault(one_row + "    bands: 0.1\n"),
              HasSubstr("s.yaml:11:5: tables[0].bands: unknown key; did you mean 'band'?"));
  EXPECT_THAT(fault(one_row + "        groop: g\n"),
              HasSubstr("s.yaml:11:9: tables[0].rows[0].groop: unknown key; did you mean 'group'?"));
  EXPECT_THAT(fault(heading + "claims: [late]\n"),
              HasSubstr("s.yaml:4:1: claims: nothing predicts claims of 'late'; did you mean 'latte'?"));
  EXPECT_THAT(fault(one_table + "    format: run\n"),
              HasSubstr("s.yaml:7:5: tables[0].format: no form of that name is known; did you mean 'runs'?"));
}

TEST(Suite, NamesTheNearestOfAnUnknownTrialFieldOrFigure) {
  const std::string rows = one_table + "    rows:\n      - ";
  EXPECT_THAT(fault(rows + "trial: gem\n        see: {time: 1us}\n"),
              HasSubstr("s.yaml:8:9: tables[0].rows[0].trial: 'gem' is no trial; did you mean 'gemm'?"));
  EXPECT_THAT(
      fault(rows + "trial: gemm\n        with: {cuss: 1}\n        see: {time: 1us}\n"),
      AllOf(HasSubstr("s.yaml:9:"), HasSubstr("tables[0].rows[0].with.cuss: no field of the trial 'gemm'; did you mean "
                                              "'cus'?")));
  EXPECT_THAT(
      fault(rows + "trial: rest\n        see: {pover: 1W}\n"),
      AllOf(HasSubstr("s.yaml:9:"), HasSubstr("tables[0].rows[0].see.pover"), HasSubstr("did you mean 'power'?")));
  EXPECT_THAT(fault(rows + "trial: rest\n        see: {power: {measured: 1W, lo: 1W}}\n"),
              HasSubstr("tables[0].rows[0].see.power.lo: unknown key; did you mean 'low'?"));
}

TEST(Suite, RefusesValuesThatCannotBeMeant) {
  EXPECT_THAT(fault(heading + "tables:\n  - file: t.csv\n    band: 11\n    format: runs\n"),
              HasSubstr("s.yaml:6:11: tables[0].band: '11' must lie between 0 and 10"));
  EXPECT_THAT(fault(heading + "tables:\n  - file: t.csv\n    band: 10 %\n    format: runs\n"),
              HasSubstr("s.yaml:6:11: tables[0].band"));
  EXPECT_THAT(fault(heading + "tables: t.csv\n"), HasSubstr("s.yaml:4:1: tables"));
  EXPECT_THAT(fault(one_row + "        decision: \"{shape}\"\n"), HasSubstr("decision: goes with alternative"));
  EXPECT_THAT(fault("title: [t\n"), HasSubstr("s.yaml:"));
}

TEST(Suite, TellsAllFaultsAtOnce) {
  const std::string text = fault("titel: t\nquestion: q\nclaims: [late]\n");
  EXPECT_THAT(text, AllOf(HasSubstr("titel"), HasSubstr("platform: is missing"), HasSubstr("did you mean 'latte'?")));
}

TEST(Suites, AreReadInAlphabeticalOrder) {
  Folder folder("suites_test");
  folder.write("suites/b.yaml", one_row);
  folder.write("suites/a.yaml", one_row);
  folder.write("suites/notes.txt", "no suite");
  const std::vector<Suite> suites = read_suites(folder.library(), {});
  ASSERT_THAT(suites, SizeIs(2));
  EXPECT_EQ(suites[0].name, "a");
  EXPECT_EQ(suites[1].name, "b");
}

// Of a machine that is another in one line: what the form sets comes first.
TEST(Suite, MaySetParametersOfATableInAKnownForm) {
  Folder folder("set_test");
  folder.write("suites/mine.yaml", heading +
                                       "tables:\n  - file: mine/gemms.csv\n    band: 0.2\n    format: gemms\n"
                                       "    set: [gpu.memory.hbm.capacity=80 GB]\n");
  folder.write("reference/mine/gemms.csv", "gemm,gpus,time_us\n512x512x512,2,10\n");
  const calibrate::Reader reader = reader_of_forms(folder.library());
  const std::vector<Suite> suites = read_suites(folder.library(), reader);
  const calibrate::Reading reading = reading_of(suites.at(0).tables.at(0), folder.library(), reader);
  EXPECT_THAT(reading.measurements.at(0).assignments, testing::ElementsAre("gpus=2", "gpu.memory.hbm.capacity=80 GB"));
  EXPECT_THAT(reader.table("gemms")->assignments, SizeIs(1)) << "of other tables nothing is set";
}

// What the project promises: a new measurement is a table and ten lines.
TEST(Suite, OfTenLinesIsAllThatANewMeasurementNeeds) {
  Folder folder("ten_lines_test");
  folder.write("suites/mine.yaml",
               "title: GEMMs of my node\n"
               "question: How long do they take?\n"
               "platform: mi300x\n"
               "tables:\n"
               "  - file: mine/gemms.csv\n"
               "    band: 0.2\n"
               "    rows:\n"
               "      - trial: gemm\n"
               "        with: {gemm: \"{m}x{n}x{k}\"}\n"
               "        see: {time: {measured: \"{ms}ms\", low: \"{least}ms\", high: \"{most}ms\"}}\n");
  folder.write("reference/mine/gemms.csv", "# measured yesterday\nm,n,k,ms,least,most\n8192,8192,8192,1.7,1.6,1.8\n");
  folder.write("reference/mine/roles.csv", "file,rows,role,spread\ngemms.csv,,predict,\n");
  folder.write("reference/claims.csv", "id,paper,metric,value,low,high,role\n");
  folder.write("deviations.yaml", "deviations: []\n");
  const Validation validation = validate_suites(folder.library(), {}, {});
  ASSERT_THAT(validation.cases, SizeIs(1));
  const Case& one = validation.cases[0];
  EXPECT_EQ(one.id, "mine/gemms.csv:3/time");
  EXPECT_EQ(one.where, "gemms.csv:3");
  EXPECT_EQ(one.role, calibrate::Role::predict);
  EXPECT_DOUBLE_EQ(one.measured, 1.7e-3);
  EXPECT_DOUBLE_EQ(one.low.value(), 1.6e-3);
  EXPECT_DOUBLE_EQ(one.high.value(), 1.8e-3);
  EXPECT_EQ(one.band, 0.2);
  EXPECT_EQ(subject_of(one), "mi300x: gemm 8192x8192x8192: time");
  EXPECT_EQ(command_of(one), "c3sim gemm --gemm 8192x8192x8192");
  // The largest known rate of the MI300X for bf16 is 708 TFLOP/s, which takes 1.55 ms; half of it is beyond any doubt.
  EXPECT_GT(one.predicted.value(), 1.5e-3);
  EXPECT_LT(one.predicted.value(), 3.1e-3);
}

}  // namespace
}  // namespace c3sim::validate
