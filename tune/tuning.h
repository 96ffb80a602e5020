// Offline tuning: what to choose for GEMMs and collectives on one platform, and how good simple rules would be.
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
  // The median error of predicted concurrent runs, according to docs/accuracy.md.
  static constexpr double usual_error = 0.05;

  std::string name = "tuning";
  std::vector<study::NamedGemm> gemms;
  std::vector<models::CollectiveKind> collectives;  // tuned with every GEMM, and alone
  std::vector<sim::Bytes> sizes;                    // of the arrays that run with every GEMM
  bool schedules = false;                           // whether GEMMs that depend on a collective are tuned, too
  // The number of further decisions of each kind about GEMMs. Their shapes and sizes are drawn between the least and
  // the greatest of those above, and rules are fitted to them as well.
  int drawn = 0;
  double error = usual_error;  // two predictions that differ by less do not tell which is faster
  std::vector<MeasuredChoice> measured{};
};

// The array size from which a collective alone is faster by copy engines than by kernels.
struct EngineThreshold {
  models::CollectiveKind kind = models::CollectiveKind::all_gather;
  bool prelaunch = false;          // whether commands of engines are queued beforehand
  std::optional<sim::Bytes> from;  // holds up to the largest size; none: kernels are faster at that size
  // Ranges of sizes in which engines and kernels differ by less than the error of predictions.
  struct Range {
    sim::Bytes from, to;
  };
  std::vector<Range> undecided{};
};

// A line of RCCL's own CSV tuner: its choice for sizes from `low` to `high`, both included.
struct TunerLine {
  std::string_view collective{};  // in RCCL's words: "allgather"
  std::uint64_t low = 0, high = 0;
  std::string_view protocol{};  // "ll", "ll128", "simple"
  int channels = 0;
};

struct Tuning {
  TuningQuestion question;
  std::vector<Decisions> kinds{};
  std::vector<EngineThreshold> thresholds{};
  std::vector<TunerLine> lines{};
};

// Returns what is wrong with a question on this platform, by the words of the question's file: "gemms", "bytes".
std::vector<sim::Fault> faults_of(const TuningQuestion& question, const study::Testbed& testbed);

// Tunes each decision and reports each to `progress`. The answer does not depend on `jobs`.
Tuning tune(study::Testbed& testbed, const TuningQuestion& question, const study::Progress& progress = {},
            int jobs = 1);

// Returns a size to the two digits that files state: 18 MiB for 18.2 MiB.
sim::Bytes to_two_digits(sim::Bytes bytes);

// An example of a file that asks for tuning:
//
//   name: llm_layers
//   platform: mi300x
//   gemms: {up: 8192x57344x8192, down: 8192x8192x28672}     # sizes on one GPU, in BLAS order
//   collectives: [all_gather, all_to_all]                   # tuned with every GEMM, and alone
//   bytes: [64MiB, 512MiB]                                  # sizes of the array of one GPU
//   schedules: true       # also tune GEMMs with a dependent all-gather or reduce-scatter; default: false
//   drawn: 200            # number of random cases between the sizes above, to fit rules to; default: 0
//   error: 0.05           # smaller differences of predictions decide nothing; default: 0.05

// Reads such a file and records what is wrong. The caller has read `platform` and finishes the configuration.
TuningQuestion read_tuning_question(sim::Section root, const study::Testbed& testbed);

// Returns tables "choices" and "alone" (every decision with and without a GEMM), "rules" (how good simple rules are),
// "thresholds" (engines or kernels), "tuner" (lines for RCCL) and "measure" (what predictions leave open, with the
// commands that would decide), and the files of tuning_files().
study::Results tuning_results(const Tuning& tuning, const models::PlatformSpec& platform);

// Returns files for other programs:
// decisions.yaml, decisions.h   the rules on static sizes, leaf by leaf, and as functions of C++17
// rccl_tuner_gfx942.csv (nccl_tuner.csv unless the fabric is a mesh)   lines for the library's own CSV tuner
// measure.sh       the runs that would decide what predictions leave open; plan.csv lists those of pairs
std::vector<study::TextFile> tuning_files(const Tuning& tuning, const models::PlatformSpec& platform);

}  // namespace c3sim::tune
