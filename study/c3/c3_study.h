// A C3 study runs every pair of a GEMM and an array size with every collective under every strategy, and averages the
// results as the ConCCL paper does. This file also reads the files of other papers' studies.
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
#include "study/play/parallel.h"
#include "study/play/testbed.h"
#include "study/report/chart.h"
#include "study/report/results.h"
#include "study/report/table_of.h"

namespace c3sim::study {

// Tells which of the two isolated operations of a pair is the longer one, in the words of the ConCCL paper's Table II.
enum class LengthClass { g_long, c_long, gc_equal };
constexpr auto all_names(LengthClass) { return sim::names("G-long", "C-long", "GC-equal"); }
using sim::to_string;

// Returns the class of a pair: the longer operation takes more than `longer_by` (>= 1) times as long as the other.
LengthClass classify(sim::Time gemm, sim::Time collective, double longer_by);

struct StudyPair {
  std::string name;  // "mb1_896MiB"
  models::GemmShape gemm;
  sim::Bytes bytes;
  std::optional<LengthClass> length_class;  // as published, for the groups of averages; none: as predicted
};

// Figures published for a strategy, or for one collective under it; unpublished ones are absent. Fractions are relative
// to the ideal, normally 0 to 1; the lowest and the highest are over the three classes.
struct PublishedC3 {
  std::optional<double> fraction = {}, lowest_fraction = {}, highest_fraction = {}, speedup = {}, highest_speedup = {};
};

struct C3Study {
  std::string name;
  std::vector<StudyPair> pairs;
  std::vector<models::CollectiveKind> collectives;
  std::vector<Strategy> strategies;
  double longer_by = 1.15;
  // Holds published figures by strategy and collective; without a collective, those over all collectives.
  std::map<std::pair<Strategy, std::optional<models::CollectiveKind>>, PublishedC3> published;
  std::vector<std::string> warnings;  // what reading left out
};

// Reads the experiment file of a study for the testbed's platform: pairs, collectives, strategies and published
// figures; configs/experiments/conccl.yaml is an example. A pair without `class`, the published class, gets the class
// of its predicted times. Faults are recorded with the section. The caller has read `platform` and `protocol` and
// finishes the configuration.
C3Study read_c3_study(sim::Section root, const Testbed& testbed);

// Returns the published figures, all absent where nothing was published.
PublishedC3 published_of(const C3Study& study, Strategy strategy, std::optional<models::CollectiveKind> kind = {});

struct StudyResult {
  C3Result c3;
  LengthClass length_class = LengthClass::gc_equal;
};

// Runs trials, which must be possible on the platform. Results are in the order of the trials and do not depend on the
// number of threads, `jobs` (0: one per core).
std::vector<C3Result> run_all(Testbed& testbed, std::span<const C3Trial> trials, const Progress& progress = {},
                              int jobs = 1);

// Returns one result per pair, collective and strategy; the strategy varies fastest. Combinations that the platform
// cannot run are left out. Results do not depend on the number of threads, `jobs` (0: one per core). `progress`, if
// any, is called after each trial with the numbers of finished and of all trials.
std::vector<StudyResult> run_study(Testbed& testbed, const C3Study& study, const Progress& progress = {}, int jobs = 1);

// Selects the results that an average is taken over.
struct Selection {
  Strategy strategy = Strategy::serial;
  std::optional<models::CollectiveKind> collective;  // none: all
  std::optional<LengthClass> length_class;           // none: all
};

struct Average {
  double speedup = 0.0;
  double ideal_speedup = 0.0;
  double fraction_of_ideal = 0.0;  // of the two averages above
  double mean_fraction = 0.0;      // mean of the fractions of those scenarios that have a gain to be had; else 0
  double highest_speedup = 0.0;    // of a single scenario
  std::size_t scenarios = 0;
};

// Averages speedups within each group of a collective and a class, then over the groups: the paper's 1.13x = 21 % of
// 1.6x is a ratio of means, and its ideal of 1.6x is that of its plotted groups. All fields are 0 without a scenario.
Average average(std::span<const StudyResult> results, const Selection& selection);

// The functions below show a study of C3 in tables and charts: predicted figures and published ones.

// Returns the columns of a table of such results, without clock, power and fidelity. Texts mark results slower than
// serial execution.
std::vector<Shown<C3Result>> shown_of(std::span<const C3Result> results);

// Returns a sentence about results that are slower than serial execution; empty where none is.
std::string losses_of(std::span<const C3Result> results);

// Returns one row per strategy with averages over all scenarios.
ResultTable strategy_table(const C3Study& study, std::span<const StudyResult> results);

// Returns one row per collective and strategy: percent of ideal by class, and the published range over the classes.
ResultTable class_table(const C3Study& study, std::span<const StudyResult> results);

// Returns one row per pair: isolated times, and the predicted and the published class.
ResultTable pair_table(const C3Study& study, std::span<const StudyResult> results);

// Returns one row per collective: how often the heuristic reserves the number of CUs that the sweep of c3_sp_rp finds
// best, and its largest extra time over that sweep. A collective without both strategies has no row.
ResultTable heuristic_table(const C3Study& study, std::span<const StudyResult> results);

// Shows percent of ideal by strategy.
BarChart fraction_chart(const C3Study& study, std::span<const StudyResult> results, const std::string& platform);

// Shows mean speedups by collective and class, and over the classes, with the ideal: for strategies on kernels, or for
// c3_base and strategies on copy engines, like Figures 8 and 10 of the paper. The published range of fractions over the
// classes is converted to speedups by the ideal of each class.
enum class PaperFigure { kernels, copy_engines };
BarChart speedup_chart(const C3Study& study, std::span<const StudyResult> results, PaperFigure figure);

// Returns the table of all results, which texts leave out, followed by the tables above with their charts.
Results study_results(const C3Study& study, std::span<const StudyResult> results, const std::string& platform);

// A PaperStudy asks the many questions of an experiment file and compares the answers with published figures.
struct PaperStudy {
  std::string size;  // what would run: "conccl: 15 pairs with 2 collectives by 9 strategies"
  // Returns tables of predicted and published figures. `losses` asks for losses by cause as well, where they take extra
  // runs. Results do not depend on the number of threads, `jobs` (0: one per core).
  std::function<Results(Testbed& testbed, bool losses, const Progress& progress, int jobs)> run;
};

// Returns whether a file holds a paper's study rather than a list of operations.
bool holds_paper_study(sim::Section root);

// Reads the study in a file for the testbed's platform; faults are recorded with the section. The caller has read the
// machine and finishes the configuration.
PaperStudy read_paper_study(sim::Section root, const Testbed& testbed);

// Reads a study of FiCCO: name, gemms: {NAME: MxNxK} (per GPU; n counts tokens) and schedules: all, or a list of names.
// Its tables are "results", "best" and "heuristic".
PaperStudy read_finer_grain_study(sim::Section root, const Testbed& testbed);

// Reads a study of T3: name, tokens, models: {NAME: {hidden, gpus: [8, 16], large}}, sublayers: {NAME: contraction},
// fused: {NAME: {trigger, path, stores, tiles, near_memory, arbitration}}, cus_apart: [8, 16], published: {source,
// metrics: {NAME: {paper, and a figure of study/report/table_figure.h, by tokens}}}. Its tables are "results",
// "published" and "bytes".
PaperStudy read_sublayer_study(sim::Section root, const Testbed& testbed);

}  // namespace c3sim::study
