#include "tests/calibrate/script.h"
#include "tests/testing.h"
#include "tests/validate/libraries.h"
#include "validate/claim.h"
#include "validate/validation.h"

namespace c3sim::validate {
namespace {

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
  return config_fault([&] { read(text); });
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

// Tests the faults of suites, of lists of deviations, of claims, and of what predicts claims; of the last also what is
// predicted.
TEST(ValidationSamples, SayWhatIsWrong) {
  const Folder folder("validation_samples_test");
  expect_samples("validation_files.samples", [&](const Sample& sample) {
    const std::string& kind = sample.inputs.at(0).first;
    const std::string& text = sample.inputs.at(0).second;
    if (kind == "suite") return fault(text) + '\n';
    const std::filesystem::path file = folder.write(kind, text);
    std::vector<std::string> told;
    std::string said = config_fault([&] {
      if (kind == "deviations") read_deviations(file);
      if (kind == "claims.csv") read_claims(file);
      if (kind != "claims.yaml") return;
      const study::Platform platform = shipped_library().platforms({"mi300x", {}});
      study::Testbed testbed(platform.spec);
      const ClaimValues values = ClaimBook(file).predict(
          std::vector<std::string>{"a"}, {testbed, platform, shipped_library().experiments, {}, false, &told});
      for (const auto& [id, of_claim] : values)
        told.push_back(fmt::format("{}: {:g}", id, fmt::join(of_claim, " to ")));
    });
    if (said.empty()) said = fmt::format("{}", fmt::join(told, "\n"));
    return boost::replace_all_copy(boost::replace_all_copy(said, folder.path().string() + "/", ""), C3SIM_SOURCE_DIR,
                                   "$SOURCE") +
           '\n';
  });
}

TEST(Suites, AreReadInAlphabeticalOrder) {
  Folder folder("suites_test");
  folder.write("suites/b.yaml", one_row);
  folder.write("suites/a.yaml", one_row);
  folder.write("suites/notes.txt", "no suite");
  const std::vector<Suite> suites = read_suites(library_in(folder), {});
  ASSERT_THAT(suites, SizeIs(2));
  EXPECT_EQ(suites[0].name, "a");
  EXPECT_EQ(suites[1].name, "b");
}

// The table's machine differs in one parameter; assignments of the form come first.
TEST(Suite, MaySetParametersOfATableInAKnownForm) {
  Folder folder("set_test");
  folder.write("suites/mine.yaml", heading +
                                       "tables:\n  - file: mine/gemms.csv\n    band: 0.2\n    format: gemms\n"
                                       "    set: [gpu.memory.hbm.capacity=80 GB]\n");
  folder.write("reference/mine/gemms.csv", "gemm,gpus,time_us\n512x512x512,2,10\n");
  const calibrate::Reader reader = reader_of_forms(library_in(folder));
  const std::vector<Suite> suites = read_suites(library_in(folder), reader);
  const calibrate::Reading reading = reading_of(suites.at(0).tables.at(0), library_in(folder), reader);
  EXPECT_THAT(reading.measurements.at(0).assignments, testing::ElementsAre("gpus=2", "gpu.memory.hbm.capacity=80 GB"));
  EXPECT_THAT(reader.table("gemms")->assignments, SizeIs(3)) << "of other tables nothing is set";
}

// The project promises that a new measurement is a table and ten lines.
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
  const Validation validation = validate_suites(library_in(folder), {}, {});
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
