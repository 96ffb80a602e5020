// A study of C3: every pair of a GEMM and an array size, with every collective, under every strategy; and the averages
// by which the paper sums it up. Files of other papers' studies are told apart here.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/config_section.h"
#include "study/c3/strategy.h"
#include "study/c3/variation.h"
#include "study/play/parallel.h"
#include "study/play/testbed.h"
#include "study/report/chart.h"
#include "study/report/results.h"

namespace c3sim::study {

// Which of the two isolated operations of a pair is the longer one.
enum class LengthClass { g_long, c_long, gc_equal };
constexpr auto all_names(LengthClass) { return sim::names("G-long", "C-long", "GC-equal"); }  // as in its Table II
using sim::to_string;

// An operation is the longer one if it takes more than `longer_by` (>= 1) times as long as the other.
LengthClass classify(sim::Time gemm, sim::Time collective, double longer_by);

struct StudyPair {
  std::string name;  // "mb1_896MiB"
  models::GemmShape gemm;
  sim::Bytes bytes;
  std::optional<LengthClass> length_class;  // as published: the groups of the averages; none: as predicted
};

// What was published of a strategy, or of one collective under it; what was not is absent. Fractions are of ideal, 0 to
// 1 and beyond, the lowest and the highest over the three classes.
struct PublishedC3 {
  std::optional<double> fraction = {}, lowest_fraction = {}, highest_fraction = {}, speedup = {}, highest_speedup = {};
};

struct C3Study {
  std::string name;
  std::vector<StudyPair> pairs;
  std::vector<models::CollectiveKind> collectives;
  std::vector<Strategy> strategies;
  double longer_by = 1.15;
  Splits splits = Splits::paper;  // that sweeps of reservations try
  // By strategy, and by collective or, where there is none, over all.
  std::map<std::pair<Strategy, std::optional<models::CollectiveKind>>, PublishedC3> published;
  std::vector<std::string> warnings;  // of reading it: what is left out
};

// Reads the experiment file of a study for the platform of the testbed: pairs, collectives, strategies, and what was
// published of them; configs/experiments/conccl.yaml is the example. A pair may do without `class`, the published one:
// it then belongs to the class that its predicted times make it. `splits: fine` has sweeps of reservations try none and
// every multiple of the XCDs instead of the paper's powers of two. What is wrong is recorded with the section; the
// caller has read `platform` and `protocol` and finishes the configuration.
C3Study read_c3_study(sim::Section root, const Testbed& testbed);

// Nothing where nothing was published.
PublishedC3 published_of(const C3Study& study, Strategy strategy, std::optional<models::CollectiveKind> kind = {});

struct StudyResult {
  C3Result c3;
  LengthClass length_class = LengthClass::gc_equal;
};

// Each of the trials, which are possible on the platform. Results come in their order, whatever the number of threads
// (`jobs`, or one per core where that is 0).
std::vector<C3Result> run_all(Testbed& testbed, std::span<const C3Trial> trials, const Progress& progress = {},
                              int jobs = 1);

// One result per pair, collective and strategy, the strategy varying fastest and those left out that the platform
// cannot run, whatever the number of threads (`jobs`, or one per core where that is 0). `progress`, if any, is called
// after each with how many of how many are done.
std::vector<StudyResult> run_study(Testbed& testbed, const C3Study& study, const Progress& progress = {}, int jobs = 1);

// The scenarios of a study that an average is taken over.
struct Selection {
  Strategy strategy = Strategy::serial;
  std::optional<models::CollectiveKind> collective;  // none: all
  std::optional<LengthClass> length_class;           // none: all
};

struct Average {
  double speedup = 0.0;
  double ideal_speedup = 0.0;
  double fraction_of_ideal = 0.0;  // of these two
  double mean_fraction = 0.0;      // mean of the scenarios' own fractions
  double highest_speedup = 0.0;    // of one scenario
  std::size_t scenarios = 0;
};

// Speedups are averaged within each group of a collective and a class, then over the groups: the paper's stated 1.13x =
// 21 % of 1.6x is a ratio of means, and its ideal of 1.6x is that of the groups it plots. All zero without a scenario.
Average average(std::span<const StudyResult> results, const Selection& selection);

// What to ask of variations of a platform (study/c3/variation.h): the average fraction of each strategy of the
// study.
FractionsOf question_of(const C3Study& study, std::vector<Strategy> strategies);

// A study of C3 in tables and charts: what was predicted beside what was published.

// One row per result, without clock, power and fidelity; for people, rows that are slower than one after the other are
// marked.
ResultTable c3_table(std::span<const C3Result> results);

// A sentence about those that are; empty where none is.
std::string losses_of(std::span<const C3Result> results);

// One row per strategy: averages over all scenarios.
ResultTable strategy_table(const C3Study& study, std::span<const StudyResult> results);

// One row per collective and strategy: percent of ideal by class, beside the published range over the classes.
ResultTable class_table(const C3Study& study, std::span<const StudyResult> results);

// One row per pair: how long each operation takes alone, and which is the longer one as predicted and as published.
ResultTable pair_table(const C3Study& study, std::span<const StudyResult> results);

// One row per collective: for how many scenarios the heuristic reserves as many CUs as the sweep of c3_sp_rp finds
// best, and how much longer than that it takes at most. No row without both strategies.
ResultTable heuristic_table(const C3Study& study, std::span<const StudyResult> results);

// Percent of ideal by strategy.
BarChart fraction_chart(const C3Study& study, std::span<const StudyResult> results, const std::string& platform);

// Mean speedup by collective and class, and over the classes, beside the ideal: of the strategies on kernels, or of
// those on copy engines beside c3_base, as Figures 8 and 10 of the paper show them. The published range of fractions
// over the classes becomes one of speedups by each class's own ideal.
enum class PaperFigure { kernels, copy_engines };
BarChart speedup_chart(const C3Study& study, std::span<const StudyResult> results, PaperFigure figure);

// The tables above behind that of all results, which text leaves out, with their charts.
Results study_results(const C3Study& study, std::span<const StudyResult> results, const std::string& platform);

// A study of a paper: an experiment file that asks many questions at once, with what was published of the same.
struct PaperStudy {
  std::string size;  // what would run, in words: "conccl: 15 pairs with 2 collectives by 9 strategies"
  // Tables of what was predicted beside what was published. `losses`: also what is lost to what, where that takes runs
  // of its own. Results do not depend on the number of threads (`jobs`, or one per core where that is 0).
  std::function<Results(Testbed& testbed, bool losses, const Progress& progress, int jobs)> run;
  // Of a study of C3, what to ask of variations of the platform (study/c3/variation.h).
  std::vector<Strategy> vary = {};
  FractionsOf question = {};
};

// Whether the file holds one, rather than a list of operations.
bool holds_paper_study(sim::Section root);

// The study of a file that holds one, for the platform of the testbed; what is wrong is recorded with the section. The
// caller has read the machine and finishes the configuration.
PaperStudy read_paper_study(sim::Section root, const Testbed& testbed);

}  // namespace c3sim::study
