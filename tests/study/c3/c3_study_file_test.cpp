#include <algorithm>
#include <sstream>

#include "sim/config/config.h"
#include "study/c3/c3_study.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

class C3StudyFileTest : public testing::Test {
 protected:
  C3Study read(sim::Config config) {
    sim::Section root = config.root();
    root.text("platform");
    C3Study study = read_c3_study(root, testbed_);
    config.finish();
    return study;
  }

  // What is said of the smallest study after a replacement in its text.
  std::string faults(const std::string& from, const std::string& to) {
    std::string text =
        "name: small\nplatform: mi300x\nlonger_by: 1.15\ngemms: {cb1: 8192x8192x8192}\ncollectives: [all_gather]\n"
        "strategies: [c3_base]\npairs:\n  - {gemm: cb1, bytes: 896MiB, class: C-long}\n";
    text.replace(text.find(from), from.size(), to);
    try {
      read(sim::Config::from_text(text, "test.yaml"));
    } catch (const sim::ConfigError& error) {
      return error.what();
    }
    return {};
  }

  Testbed testbed_{mi300x().spec};
};

TEST_F(C3StudyFileTest, TheStudyOfThePaperHasItsThirtyScenariosUnderAllStrategies) {
  const C3Study study = read(sim::Config::from_file(C3SIM_SOURCE_DIR "/configs/experiments/conccl.yaml"));
  EXPECT_EQ(study.pairs.size() * study.collectives.size(), 30U);
  EXPECT_EQ(study.strategies.size(), all_strategies().size());
  // Table II: eight G-long pairs, five C-long ones, two GC-equal ones.
  const auto pairs_of = [&](LengthClass length_class) {
    return std::count_if(study.pairs.begin(), study.pairs.end(),
                         [&](const StudyPair& pair) { return pair.length_class == length_class; });
  };
  EXPECT_EQ(pairs_of(LengthClass::g_long), 8);
  EXPECT_EQ(pairs_of(LengthClass::c_long), 5);
  EXPECT_EQ(pairs_of(LengthClass::gc_equal), 2);
}

TEST_F(C3StudyFileTest, ClassAndRatioMayBeLeftOut) {
  EXPECT_EQ(faults(", class: C-long", ""), "");
  EXPECT_EQ(faults("longer_by: 1.15\n", ""), "");
}

TEST_F(C3StudyFileTest, APairWithoutAClassBelongsToTheOneOfItsTimes) {
  C3Study study;
  study.pairs = {{"long", {8192, 8192, 8192}, sim::Bytes(1048576.0), {}}};
  study.collectives = {models::CollectiveKind::all_gather};
  study.strategies = {Strategy::serial};
  EXPECT_EQ(run_study(testbed_, study).front().length_class, LengthClass::g_long);
}

TEST_F(C3StudyFileTest, WhatAStrategyCannotDoIsLeftOutWithAWarning) {
  const C3Study study = read(sim::Config::from_text(
      "name: small\nplatform: mi300x\ngemms: {cb1: 2048x2048x2048}\ncollectives: [all_gather, reduce_scatter]\n"
      "strategies: [serial, conccl]\npairs:\n  - {gemm: cb1, bytes: 64MiB}\n  - {gemm: cb1, bytes: 8MiB}\n",
      "test.yaml"));
  ASSERT_EQ(study.warnings.size(), 1u);
  EXPECT_THAT(study.warnings.front(), HasSubstr("reduce_scatter is left out of conccl: copy engines do not reduce"));
  const std::vector<StudyResult> results = run_study(testbed_, study);
  EXPECT_EQ(results.size(), 6u);  // two pairs: all-gather twice, reduce-scatter once
  const ResultTable classes = class_table(study, results);
  const std::vector<Cell>& conccl = classes.rows().at(3);
  EXPECT_EQ(conccl.at(0), Cell(std::string("reduce_scatter")));
  EXPECT_EQ(conccl.at(7), Cell()) << "no speedup of what was not run";
}

TEST_F(C3StudyFileTest, SplitsAreThoseOfThePaperUnlessAsked) {
  EXPECT_EQ(faults("longer_by: 1.15\n", "splits: fine\n"), "");
  EXPECT_THAT(faults("longer_by: 1.15\n", "splits: coarse\n"), HasSubstr("test.yaml:3:9: splits: 'coarse'"));
}

// Threads share no state that an answer depends on.
TEST_F(C3StudyFileTest, AStudyIsTheSameOnAnyNumberOfThreads) {
  C3Study study;
  study.pairs = {{"a", {4096, 4096, 4096}, sim::Bytes(67108864.0), {}},
                 {"b", {2048, 8192, 2048}, sim::Bytes(16777216.0), LengthClass::c_long}};
  study.collectives = {models::CollectiveKind::all_gather, models::CollectiveKind::all_to_all};
  study.strategies.assign(all_strategies().begin(), all_strategies().end());
  const auto csv = [&](int jobs) {
    Testbed testbed(testbed_.platform());
    std::ostringstream out;
    write(study_results(study, run_study(testbed, study, {}, jobs), "mi300x"), Format::json, out);
    return out.str();
  };
  const std::string on_one = csv(1);
  EXPECT_EQ(csv(2), on_one);
  EXPECT_EQ(csv(5), on_one);
}

}  // namespace
}  // namespace c3sim::study
