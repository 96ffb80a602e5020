// The plain questions and their answers, as structs that a program fills and reads. Tables of the answers are made
// in study/ask/answers.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "sim/config/config_error.h"
#include "study/ask/trial.h"
#include "study/c3/strategy.h"
#include "study/run/parallel.h"
#include "study/run/testbed.h"
#include "study/uncertainty/interval.h"

namespace c3sim::study {

// How long does a GEMM take alone, after what its GPU has done before?
struct GemmQuestion {
  models::GemmShape gemm;
  std::vector<int> cus{};  // of every GPU, each count a result of its own; empty: all of them
  Before before = Before::loop;
  models::CollectiveSpec collective{};  // that came before, of bytes from 1, over all GPUs
  std::optional<Operands> operands{};   // of a loop; none: as `before` leaves them
};

// How long does a collective take alone? One result for each variant, prelaunched or not, and size.
struct CollectiveQuestion {
  models::CollectiveKind collective = models::CollectiveKind::all_gather;
  models::Backend backend = models::Backend::rccl;
  std::vector<sim::Bytes> sizes;  // of the whole array of one GPU
  std::optional<int> gpus{};      // that take part; none: all of the node
  int first = 0;                  // of these
  // Of copy engines.
  std::vector<models::SdmaVariant> variants{};  // empty: pcpy
  bool all_variants = false;                    // all that the collective has, instead
  std::vector<bool> prelaunch{};                // empty: not prelaunched
  std::optional<int> engines{};                 // of each GPU, for b2b; none: one
  std::optional<models::HostThreads> host_threads{};
  // Of RCCL's kernels.
  std::optional<int> cus{};
  std::optional<int> channels{};
  bool graph = false;
  std::optional<models::RcclAlgorithm> algorithm{};
  models::ElementType dtype = models::ElementType::bf16;
};
// Of what it says several of, the first; of all GPUs, 0 of them.
models::CollectiveSpec spec_of(const CollectiveQuestion& question);

// How long does one copy take alone, and each of its phases? One result for each size.
struct CopyQuestion {
  models::SdmaCopySpec copy;  // but for its size
  std::vector<sim::Bytes> sizes;
  bool phases = false;  // shown to people, too
};

// How long does a kernel take alone that streams through memory on every GPU, attention there, or one that reaches from
// one GPU into others?
struct KernelQuestion {
  std::variant<models::ElementwiseSpec, models::AttentionShape, models::RemoteKernelSpec> kernel;
  std::vector<int> cus{};  // of each GPU that it runs on, each count a result of its own; empty: all of them
};

// How long one run of such work took.
struct WorkResult {
  Work work;
  Schedule schedule;                               // what was run, last of all the work ...
  int cus = 0;                                     // ... on so many CUs of each GPU, where that was asked ...
  Between between = Between::nothing;              // ... and between that and the next
  sim::Time time{0};                               // of the work, from its launch to its end
  std::optional<models::SdmaCopyPhases> phases{};  // of a copy
  Means means{};                                   // over the run
};

// How do a GEMM and a collective fare together? One C3Result for each strategy.
struct C3Question {
  Scenario scenario;
  std::vector<Strategy> strategies{};  // empty: all that the collective permits
  int jobs = 1;                        // threads; the answer does not depend on it
};

// Where the times of a result lie, in seconds: its time, or its makespan, its GEMM's and its collective's end. None
// where the platform tells of no errors that they follow from.
using Intervals = std::vector<std::optional<Interval>>;

template <class Result>
struct Answer {
  std::vector<Result> results;
  std::vector<Means> means{};           // by result; empty where they were not asked for
  std::vector<Intervals> intervals{};   // likewise: study/ask/uncertainty.h adds them
  std::vector<std::string> warnings{};  // what was left out of the question, and why
};

// What the platform cannot do of a question, all of it: `where` is the option of the command line, without dashes, that
// asks for it. Empty where the question can be asked.
std::vector<sim::Fault> faults_of(const GemmQuestion& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const CollectiveQuestion& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const CopyQuestion& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const KernelQuestion& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const C3Question& question, const Testbed& testbed);

// Throws sim::ConfigError with the question's faults, if it has any. A scenario without a name gets one.
// `progress` is told of results. Arrays beyond the HBM of a GPU are answered, with a warning.
Answer<WorkResult> ask(Testbed& testbed, const GemmQuestion& question, const Progress& progress = {});
Answer<WorkResult> ask(Testbed& testbed, const CollectiveQuestion& question, const Progress& progress = {});
Answer<WorkResult> ask(Testbed& testbed, const CopyQuestion& question, const Progress& progress = {});
Answer<WorkResult> ask(Testbed& testbed, const KernelQuestion& question, const Progress& progress = {});
Answer<C3Result> ask(Testbed& testbed, const C3Question& question, const Progress& progress = {});

// Any collectives that are possible.
Answer<WorkResult> run_collectives(Testbed& testbed, std::span<const models::CollectiveSpec> collectives,
                                   const Progress& progress = {});

}  // namespace c3sim::study
