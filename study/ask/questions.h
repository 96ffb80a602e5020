// The plain questions and their answers, as structs that a program fills and reads. Tables of the answers are made
// in study/ask/answers.h.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/config_error.h"
#include "study/ask/trial.h"
#include "study/c3/strategy.h"
#include "study/play/parallel.h"
#include "study/play/testbed.h"
#include "study/report/statistics.h"

namespace c3sim::study {

// How long does a kernel take alone that streams through memory on every GPU, attention there, or one that reaches from
// one GPU into others?
struct KernelTrial {
  Work kernel;                         // element-wise, attention or remote
  std::optional<int> cus{};            // of each GPU that it runs on; none: all of them
  std::optional<Operands> operands{};  // in its GPU's own memory; none: cold
};

// A plain question: a trial (study/ask/trial.h), or several of one kind, each of which has a result of its own.
template <class Asked>
struct Question {
  Question() : points(1) {}
  Question(Asked one) : points{std::move(one)} {}
  Question(std::vector<Asked> several, bool all = false) : points(std::move(several)), those_possible(all) {}

  std::vector<Asked> points;
  bool those_possible = false;  // what the platform cannot do is left out with a warning, unless that is everything
};

// How long one run of such work took.
struct WorkResult {
  Work work;
  Schedule schedule;                               // what was run, last of all the work ...
  int cus = 0;                                     // ... on so many CUs of each GPU, where that was asked ...
  Between between = Between::nothing;              // ... and between that and the next
  std::size_t timed = 1;                           // so many operations, the last ones of the schedule
  sim::Time time{0};                               // of these, from the first one's launch to the work's end
  std::optional<models::SdmaCopyPhases> phases{};  // of a copy
  std::optional<Means> means{};                    // over the run; none where something else came before
};

// Where the times of a result lie, in seconds: its time, or its makespan, its GEMM's and its collective's end. None
// where the platform tells of no errors that they follow from.
using Intervals = std::vector<std::optional<Interval>>;

// What a kernel reads and writes in its GPU's own memory, or what it moves to or from all its peers together.
sim::Bytes bytes_of(const Work& kernel);

template <class Result>
struct Answer {
  std::vector<Result> results;
  std::vector<Intervals> intervals{};   // by result, where study/ask/uncertainty.h has added them
  std::vector<std::string> warnings{};  // what was left out of the question, and why
};

// What the platform cannot do of a question, all of it: `where` is the option of the command line, without dashes, that
// asks for it. Empty where the question can be asked.
std::vector<sim::Fault> faults_of(const Question<GemmTrial>& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const Question<CollectiveTrial>& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const Question<CopyTrial>& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const Question<KernelTrial>& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const Question<C3Trial>& question, const Testbed& testbed);

// Throws sim::ConfigError with the question's faults, if it has any. GPUs are all of the platform unless a collective
// says how many; a scenario without a name gets one. `progress` is told of results. Arrays beyond the HBM of a GPU are
// answered, with a warning.
Answer<WorkResult> ask(Testbed& testbed, const Question<GemmTrial>& question, const Progress& progress = {});
Answer<WorkResult> ask(Testbed& testbed, const Question<CollectiveTrial>& question, const Progress& progress = {});
Answer<WorkResult> ask(Testbed& testbed, const Question<CopyTrial>& question, const Progress& progress = {});
Answer<WorkResult> ask(Testbed& testbed, const Question<KernelTrial>& question, const Progress& progress = {});
// `jobs`: threads, on which the answer does not depend.
Answer<C3Result> ask(Testbed& testbed, const Question<C3Trial>& question, const Progress& progress = {}, int jobs = 1);

}  // namespace c3sim::study
