// What to choose for GEMMs and collectives on one platform, and how good simple rules would be: offline tuning.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_section.h"
#include "study/play/parallel.h"
#include "study/play/testbed.h"
#include "study/program/scenario.h"
#include "study/report/results.h"
#include "tune/decisions.h"

namespace c3sim::tune {

struct TuningQuestion {
  // How far predictions of concurrent runs are off at the median: docs/accuracy.md.
  static constexpr double usual_error = 0.05;

  std::string name = "tuning";
  std::vector<study::NamedGemm> gemms;
  std::vector<models::CollectiveKind> collectives;  // beside every GEMM, and alone
  std::vector<sim::Bytes> sizes;                    // beside every GEMM
  bool schedules = false;                           // of GEMMs that depend on a collective, too
  // So many further decisions of each kind, of shapes and sizes drawn between the least and the greatest of those
  // above: rules are fitted to them as well.
  int drawn = 0;
  double error = usual_error;  // within which two predictions do not tell who is faster
  std::vector<MeasuredChoice> measured{};
};

// Decisions of one kind, the rule fitted to them, and how good it and others are.
struct TunedDecisions {
  Decisions decisions;
  DecisionTree tree;
  // "best" in hindsight, then simple rules; last, where there is more than one GEMM or size, "tree" and "nearest" on
  // those that they have not seen.
  std::vector<RuleRecord> rules;
  std::size_t constant = 0;  // what the best of rules that always choose the same chooses
};

// From which size on a collective alone is faster by copy engines than by kernels.
struct EngineThreshold {
  models::CollectiveKind kind = models::CollectiveKind::all_gather;
  bool prelaunch = false;          // engines' commands are queued beforehand
  std::optional<sim::Bytes> from;  // up to the largest size; none: kernels are faster there
  // Ranges in which the two differ by less than the error of predictions.
  struct Range {
    sim::Bytes from, to;
  };
  std::vector<Range> undecided{};
};

// A line of RCCL's own CSV tuner: what it is to do of sizes from `low` to `high`, both included.
struct TunerLine {
  std::string_view collective;  // in its words: "allgather"
  std::uint64_t low = 0, high = 0;
  std::string_view protocol;  // "ll", "ll128", "simple"
  int channels = 0;
};

struct Tuning {
  TuningQuestion question;
  std::vector<TunedDecisions> kinds{};
  std::vector<EngineThreshold> thresholds{};
  std::vector<TunerLine> lines{};
  int ranks = 0;  // that the lines are for
};

// What is wrong with a question on this platform, by the words of its file: "gemms", "bytes".
std::vector<sim::Fault> faults_of(const TuningQuestion& question, const study::Testbed& testbed);

// `progress` is told of decisions. The answer does not depend on `jobs`.
Tuning tune(study::Testbed& testbed, const TuningQuestion& question, const study::Progress& progress = {},
            int jobs = 1);

// "18.2 MiB": of a size that is no more than a guess. And 18 MiB: what to write where a number of bytes is due.
std::string rounded(sim::Bytes bytes);
sim::Bytes to_two_digits(sim::Bytes bytes);

// Alternatives that take at most so much longer than the best that predictions cannot tell them apart, the fastest
// first.
std::vector<std::size_t> within_error(const Decision& decision, double error);

// The file of a question for tuning:
//
//   name: llm_layers
//   platform: mi300x
//   gemms: {up: 8192x57344x8192, down: 8192x8192x28672}     # of one GPU, in BLAS order
//   collectives: [all_gather, all_to_all]                   # beside every GEMM, and alone
//   bytes: [64MiB, 512MiB]                                  # of the array of one GPU, beside every GEMM
//   schedules: true       # of the GEMMs with a dependent all-gather or reduce-scatter, too; false unless given
//   drawn: 200            # further shapes and sizes between those above that rules are fitted to; 0 unless given
//   error: 0.05           # within which two predictions do not tell who is faster; 0.05 unless given

// What is wrong is recorded; the caller has read `platform` and finishes the configuration.
TuningQuestion read_tuning_question(sim::Section root, const study::Testbed& testbed);

// Tells what tuning found in tables "choices" (every decision), "rules" (how good simple rules are), "thresholds"
// (engines or kernels), "tuner" (lines for RCCL) and "measure" (what predictions cannot tell, and the command that
// would), and tuning_files().
study::Results tuning_results(const Tuning& tuning, const models::PlatformSpec& platform);

// Writes what tuning found into files that other programs read:
// decisions.yaml   the rules on static sizes, leaf by leaf
// decisions.h      the same as C++17 functions without any include
// rccl_tuner_gfx942.csv (of another fabric than MI300X's: nccl_tuner.csv)   lines for the library's own CSV tuner
// environment.sh   thresholds between kernels and engines
// measure.sh       the runs that would decide what predictions leave open, of pairs those in plan.csv
std::vector<study::TextFile> tuning_files(const Tuning& tuning, const models::PlatformSpec& platform);

// Commands that measure what predictions leave open, and what each would decide.
struct OpenQuestion {
  std::string about;    // "all_gather alone, 16 MiB to 40 MiB: by kernels"
  std::string command;  // of rccl-tests, TransferBench or c3sim-measure
};
std::vector<OpenQuestion> open_questions(const Tuning& tuning, const models::PlatformSpec& platform);

}  // namespace c3sim::tune
