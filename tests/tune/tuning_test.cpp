// These tests check whole tunings: bounds, threads, measured times and the files that a tuning writes.
#include "tune/tuning.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/study/test_platform.h"
#include "tests/testing.h"
#include "tune/decisions.h"

namespace c3sim::tune {

using namespace study;
namespace {

TuningQuestion small_question() {
  TuningQuestion question;
  question.name = "small";
  question.gemms = {{"a", {8192, 8192, 8192}}, {"b", {2048, 8192, 8192}}, {"c", {8192, 4096, 1024}}};
  question.collectives = {models::CollectiveKind::all_gather};
  question.sizes = {sim::Bytes(1048576.0), sim::Bytes(268435456.0)};
  return question;
}

TuningQuestion of_collectives(std::vector<models::CollectiveKind> kinds) {
  TuningQuestion question;
  question.collectives = std::move(kinds);
  return question;
}

const Decisions& kind_of(const Tuning& tuning, const std::string& key) {
  for (const Decisions& kind : tuning.kinds)
    if (kind.alternatives.key == key) return kind;
  throw std::out_of_range(key);
}

// Every alternative of every pair is simulated. None is faster than its bound, and none that was ruled out is the best.
TEST(Tuning, FullBoundsHoldAndRuleNoWinnerOut) {
  Testbed testbed(mi300x().spec);
  const Tuning tuning = tune(testbed, small_question());
  const Decisions& pairs = kind_of(tuning, "all_gather_beside_gemm");
  const auto is_ruled_out = [](const Attempted& one) { return one.is_possible && !one.time; };
  EXPECT_TRUE(std::ranges::any_of(pairs.all.front().attempts, is_ruled_out));
  for (const Decision& decision : pairs.all) {
    const sim::Time best = *decision.attempts[decision.best()].time;
    for (std::size_t i = 0; i < decision.attempts.size(); ++i) {
      if (!decision.attempts[i].is_possible) continue;
      const sim::Time time = pairs.alternatives.time(testbed, decision.sizes, i);
      EXPECT_GE(time, best) << decision.name << ": " << pairs.alternatives.all[i].name;
      EXPECT_GE(sim::to_microseconds(time), 0.999 * sim::to_microseconds(decision.attempts[i].bound))
          << decision.name << ": " << pairs.alternatives.all[i].name;
    }
  }
}

TEST(Tuning, FullDoesNotDependOnThreads) {
  TuningQuestion question = small_question();
  question.gemms = {{"a", {4096, 4096, 1024}}, {"b", {2048, 4096, 2048}}};
  question.sizes = {sim::Bytes(16777216.0)};
  question.schedules = true;
  question.drawn = 1;
  const auto text = [&](int jobs) {
    Testbed testbed(mi300x().spec);
    std::ostringstream out;
    write(tuning_results(tune(testbed, question, {}, jobs), testbed.platform()), Format::csv, out);
    return out.str();
  };
  EXPECT_EQ(text(1), text(3));
}

Tuning tuned(const TuningQuestion& question) {
  Testbed testbed(mi300x().spec);
  return tune(testbed, question);
}

std::string file_of(const Tuning& tuning, const std::string& name) {
  const std::vector<TextFile> files = tuning_files(tuning, mi300x().spec);
  const auto found = std::ranges::find(files, name, &TextFile::name);
  return found == files.end() ? "" : found->content;
}

// The question has three GEMMs, whose m takes two values from 2048 to 8192, and two sizes.
TEST(Tuning, TheRuleOfOneChoiceLosesNoMoreThanAnyOtherAndRulesSayWhatTheyStandOn) {
  const Tuning tuning = tuned(small_question());
  const Decisions& kind = kind_of(tuning, "all_gather_beside_gemm");
  ASSERT_THAT(kind.rules.front().rule, HasSubstr("always "));
  for (const RuleRecord& rule : kind.rules) {
    if (rule.rule == "c3_base" || rule.rule == "c3_sp" || rule.rule == "serial") {
      EXPECT_LE(kind.rules.front().mean_regret, rule.mean_regret + Decision::as_good) << rule.rule;
    }
  }
  EXPECT_THAT(file_of(tuning, "decisions.yaml"),
              HasSubstr("  fitted_to:\n    cases: 6\n    m: {values: 2, least: 2048, greatest: 8192}\n"));
}

TEST(Tuning, AMeasuredTimeStandsForThePredictedOne) {
  TuningQuestion question = small_question();
  const Sizes sizes{question.gemms.front().shape, question.sizes.front()};
  question.measured = {{"all_gather_beside_gemm", sizes, "serial", sim::Time(1000000)}};
  const Tuning tuning = tuned(question);
  const Decision& decision = kind_of(tuning, "all_gather_beside_gemm").all.front();
  EXPECT_EQ(decision.best(), 0u);
  EXPECT_TRUE(decision.attempts.front().is_measured);
  EXPECT_EQ(decision.attempts.front().time, sim::Time(1000000));
}

// Every alternative has a row in a table of measured pairs, and the row means only that alternative.
TEST(Tuning, PairsAreNamedInTablesAsTheyAreReadBack) {
  const Sizes sizes{{8192, 8192, 8192}, sim::Bytes(268435456.0)};
  for (const auto& [name, kind] : sim::choices_of<models::CollectiveKind>()) {
    const Alternatives pairs = pair_alternatives(kind, mi300x().spec);
    for (std::size_t i = 0; i < pairs.all.size(); ++i) {
      EXPECT_EQ(pairs.of_trial(pairs.trial_of(sizes, i)), i) << name << ": " << pairs.all[i].name;
    }
    C3Trial searched = pairs.trial_of(sizes, 0);
    for (const Strategy strategy : {Strategy::c3_rp, Strategy::conccl_rp, Strategy::c3_best, Strategy::heuristic}) {
      searched.strategy = strategy;
      EXPECT_EQ(pairs.of_trial(searched), std::nullopt) << "how many CUs were kept is not said";
    }
  }
}

// Reservations, engines of every variant, prelaunched or not, and CUs kept beside engines lie within 100 % of the best.
TEST(Tuning, ThePlanAsksForAllThatPredictionsLeaveOpen) {
  TuningQuestion question = small_question();
  question.error = 1.0;
  const std::string plan = file_of(tuned(question), "plan.csv");
  EXPECT_THAT(plan, StartsWith("gemm,collective,bytes,strategy,channels,reserved_cus,variant,prelaunch\n"));
  const std::string pair = "8192x8192x8192,all_gather,1048576,";
  for (const char* const row : {"c3_rp,,64,,\n", "c3_sp_rp,,8,,\n", "c3_base,8,0,,\n", "conccl,,0,pcpy,no\n",
                                "conccl,,0,bcst,yes\n", "conccl_rp,,8,b2b,no\n"}) {
    EXPECT_THAT(plan, HasSubstr(pair + row));
  }
}

// Engines do not reduce: the loss of rules that choose engines is unknown, however many cases there are.
TEST(Tuning, SaysNothingOfWhatRulesLoseThatChooseTheImpossible) {
  TuningQuestion question = small_question();
  question.collectives = {models::CollectiveKind::reduce_scatter};
  const Tuning tuning = tuned(question);
  const Decisions& kind = kind_of(tuning, "reduce_scatter_beside_gemm");
  const auto conccl = std::ranges::find(kind.rules, "conccl", &RuleRecord::rule);
  ASSERT_NE(conccl, kind.rules.end());
  EXPECT_EQ(conccl->possible, 0u);
  std::ostringstream out;
  const Results results = tuning_results(tuning, mi300x().spec);
  results.table("rules")->table.write_csv(out);
  EXPECT_THAT(out.str(), HasSubstr("\nreduce_scatter_beside_gemm,conccl,6,0,,,,\n"));
  EXPECT_THAT(out.str(), HasSubstr("\nreduce_scatter_beside_gemm,c3_base,6,6,"));
}

// The compiled functions of decisions.h choose what the trees choose.
TEST(Tuning, FullHeaderChoosesWhatTheTreesDo) {
  if (std::system("command -v c++ >/dev/null 2>&1") != 0) GTEST_SKIP() << "no compiler";
  TuningQuestion question = small_question();
  question.schedules = true;
  question.drawn = 8;
  question.collectives = {models::CollectiveKind::all_gather, models::CollectiveKind::all_reduce};
  const Tuning tuning = tuned(question);
  std::string checks = "#include \"decisions.h\"\nusing namespace c3sim_decisions;\n";
  for (const Decisions& kind : tuning.kinds) {
    const Alternatives& alternatives = kind.alternatives;
    const std::vector<TreeCase> cases = kind.tree_cases();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Sizes& sizes = kind.all[i].sizes;
      std::string arguments;
      for (const char* const name : {"m", "n", "k", "bytes"}) {
        for (const SizeFeature& feature : alternatives.features) {
          if (feature.name != name) continue;
          arguments += (arguments.empty() ? "" : ", ") + std::to_string(feature.of(sizes));
        }
      }
      checks += "static_assert(to_string(" + alternatives.key + "(" + arguments + "))[0] != 0);\n";
      checks += "static_assert(" + alternatives.key + "(" + arguments + ") == decltype(" + alternatives.key + "(" +
                arguments + "))::" + alternatives.all[kind.tree.choose(cases[i].features)].name + ");\n";
    }
  }
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "decisions.h") << file_of(tuning, "decisions.h");
  std::ofstream(folder + "check.cpp") << checks;
  const std::string compile = "c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only " + folder + "check.cpp";
  EXPECT_EQ(std::system(compile.c_str()), 0) << checks;
}

// 19083264 bytes are 18.2 MiB. Digits beyond two say nothing of a threshold between two simulated sizes.
TEST(Tuning, ThresholdsAreWrittenInRoundNumbers) {
  EXPECT_EQ(to_two_digits(sim::Bytes(19083264.0)), sim::Bytes(18.0 * 1048576.0));
  EXPECT_EQ(to_two_digits(sim::Bytes(1024.0)), sim::Bytes(1024.0));
  EXPECT_EQ(to_two_digits(sim::Bytes(700.0 * 1024.0 + 1.0)), sim::Bytes(700.0 * 1024.0));
}

// If engines are slower, kernels win at larger sizes: the threshold moves up or disappears.
TEST(Tuning, FullThresholdsFollowTheEngines) {
  const TuningQuestion question = of_collectives({models::CollectiveKind::all_gather});
  Testbed slow(mi300x().spec, [](const Work& work, const Company&) {
    const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
    return collective != nullptr && collective->backend == models::Backend::sdma ? 1.05 : 1.0;
  });
  const EngineThreshold before = tuned(question).thresholds.front();
  const EngineThreshold after = tune(slow, question).thresholds.front();
  ASSERT_TRUE(before.from);
  EXPECT_TRUE(!after.from || *after.from > *before.from);
}

TEST(Tuning, FullAnUndecidedRangeHoldsTheThreshold) {
  const Tuning tuning = tuned(of_collectives({models::CollectiveKind::all_gather, models::CollectiveKind::all_reduce}));
  for (const EngineThreshold& one : tuning.thresholds) {
    if (!one.from || *one.from == sim::Bytes(1024.0)) continue;
    EXPECT_TRUE(std::ranges::any_of(
        one.undecided,
        [&](const EngineThreshold::Range& range) { return range.from <= *one.from && *one.from <= range.to; }))
        << to_string(one.kind) << one.prelaunch;
  }
}

// RCCL's reader coerces unknown words and ignores sizes without a line: the file must have neither.
TEST(Tuning, LinesForTheTunerCoverEverySizeInWordsThatItKnows) {
  const Tuning tuning = tuned(of_collectives({models::CollectiveKind::all_gather}));
  std::map<std::string, std::uint64_t> next;
  for (const TunerLine& line : tuning.lines) {
    std::uint64_t& from = next.try_emplace(std::string(line.collective), 0).first->second;
    EXPECT_EQ(line.low, from) << line.collective;
    EXPECT_LE(line.low, line.high);
    from = line.high + 1;
    EXPECT_THAT(line.protocol, AnyOf("ll", "ll128", "simple"));
    EXPECT_GE(line.channels, 1);
  }
  EXPECT_EQ(next.size(), 5u);
  for (const auto& [collective, end] : next) EXPECT_EQ(end, std::uint64_t{1} << 63) << collective;
  std::istringstream lines(file_of(tuning, "rccl_tuner_gfx942.csv"));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LT(line.size(), 256u);
    EXPECT_TRUE(line.starts_with('#') || std::ranges::count(line, ',') == 7) << line;
  }
}

TEST(TuningFile, ShippedQuestionsAreSound) {
  for (const auto& entry : std::filesystem::directory_iterator(C3SIM_SOURCE_DIR "/configs/tuning")) {
    sim::Config config = sim::Config::from_file(entry.path());
    EXPECT_EQ(config.root().text("platform"), "mi300x");
    const TuningQuestion question = read_tuning_question(config.root(), Testbed(mi300x().spec));
    EXPECT_NO_THROW(config.finish()) << entry.path();
    EXPECT_GE(question.gemms.size(), 16u);
  }
}

// The tests below check cost-sensitive trees, and rules on cases that they have not seen.

// Alternative 0 is right up to 10, alternative 1 above. Each value has two cases of one group.
std::vector<TreeCase> one_threshold() {
  std::vector<TreeCase> cases;
  for (const double value : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0}) {
    for (int twice = 0; twice < 2; ++twice) {
      cases.push_back(
          {{value, 3.0}, value < 10.0 ? std::vector{0.0, 0.5} : std::vector{0.2, 0.0}, std::to_string(value)});
    }
  }
  return cases;
}

TEST(DecisionTree, SplitsMidwayWhereTheChoiceChanges) {
  const DecisionTree tree = fit_tree(one_threshold());
  ASSERT_EQ(tree.leaves.size(), 2u);
  ASSERT_THAT(tree.leaves.front().conditions, SizeIs(1));
  EXPECT_EQ(tree.leaves.front().conditions.front().feature, 0u);
  // The root of 8 * 16 is 11.3. With one digit it is 10, which lies between 8 and 16.
  EXPECT_EQ(tree.leaves.front().conditions.front().threshold, 10.0);
  EXPECT_EQ(tree.choose(std::vector{9.0, 3.0}), 0u);
  EXPECT_EQ(tree.choose(std::vector{12.0, 3.0}), 1u);
}

// The root of 32 MiB times 256 MiB is 94.9e6. The root of 10.2 times 10.8 is 10.496: with one and two digits it is 10,
// which lies below both values, and with three 10.5. If no rounding lies between, the lower value is used.
TEST(DecisionTree, HasThresholdsOfAsFewDigitsAsTellTwoCasesApart) {
  EXPECT_EQ(round_between(33554432.0, 268435456.0), 9e7);
  EXPECT_EQ(round_between(10.2, 10.8), 10.5);
  EXPECT_EQ(round_between(7.0, 7.0 + 1e-15), 7.0);
}

// Three cases lose a little by alternative 0 and one loses much by alternative 1: a count of cases would choose 1.
TEST(DecisionTree, ChoosesWhatCostsLeastNotWhatIsRightMostOften) {
  std::vector<TreeCase> cases;
  for (int i = 0; i < 4; ++i) {
    cases.push_back({{1.0}, i < 3 ? std::vector{0.01, 0.0} : std::vector{0.0, 1.0}, std::to_string(i)});
  }
  EXPECT_EQ(fit_tree(cases).choose(std::vector{1.0}), 0u);
}

TEST(DecisionTree, StaysALeafWhereAllIsAlike) {
  std::vector<TreeCase> cases = one_threshold();
  for (TreeCase& one : cases) one.costs = {0.0, 0.1};
  const DecisionTree tree = fit_tree(cases);
  EXPECT_EQ(tree.leaves.size(), 1u);
  EXPECT_EQ(tree.leaves.front().cases, 16u);
}

// The other groups alone do not tell where the threshold lies, so that only the cases next to it are at risk.
TEST(DecisionTree, IsTriedOnGroupsThatItHasNotSeen) {
  const std::vector<TreeCase> cases = one_threshold();
  const std::vector<std::size_t> chosen = unseen_by_tree(cases);
  ASSERT_EQ(chosen.size(), cases.size());
  int wrong = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) wrong += cases[i].costs[chosen[i]] > 0.0 ? 1 : 0;
  EXPECT_LE(wrong, 2);
}

// A group whose choice no other group shares is never right, because its cases are held out.
TEST(DecisionTree, LearnsNothingFromTheGroupThatIsHeldOut) {
  std::vector<TreeCase> cases;
  for (int i = 0; i < 6; ++i) {
    cases.push_back({{static_cast<double>(1 + i / 2)},
                     i < 2 ? std::vector{1.0, 0.0} : std::vector{0.0, 1.0},
                     i < 2 ? "odd" : std::to_string(i)});
  }
  const std::vector<std::size_t> chosen = unseen_by_tree(cases);
  EXPECT_EQ(chosen[0], 0u);
  EXPECT_EQ(chosen[1], 0u);
}

TEST(DecisionTree, OneGroupCannotBeHeldOut) {
  std::vector<TreeCase> cases = one_threshold();
  for (TreeCase& one : cases) one.group = "one";
  EXPECT_TRUE(unseen_by_tree(cases).empty());
}

}  // namespace
}  // namespace c3sim::tune
