// Declares the plain questions and their answers as structs that a program fills in and reads. study/ask/answers.h
// turns the answers into tables.
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

// A KernelTrial asks how long a kernel takes alone: one that streams through memory, or attention, on every GPU; or one
// on a single GPU that accesses the memory of others.
struct KernelTrial {
  Work kernel;                         // element-wise, attention or remote
  std::optional<int> cus{};            // of each GPU; none: all of them
  std::optional<Operands> operands{};  // whether caches hold the arrays in the GPU's own memory; none: cold
};

// A plain question is one trial (study/ask/trial.h), or several of one kind, each with a result of its own.
template <class Asked>
struct Question {
  Question() : points(1) {}
  Question(Asked one) : points{std::move(one)} {}
  Question(std::vector<Asked> several, bool all = false) : points(std::move(several)), those_possible(all) {}

  std::vector<Asked> points;
  bool those_possible = false;  // points that the platform cannot run are left out with a warning, unless all are
};

// A WorkResult says how long one run of one piece of work took.
struct WorkResult {
  Work work;
  Schedule schedule;                   // all that ran; the work comes last
  int cus = 0;                         // of each GPU, if the question has a number of CUs
  Between between = Between::nothing;  // what the node does from this run to the next
  std::size_t timed = 1;               // operations at the end of the schedule
  sim::Time time{0};                   // from the launch of the first timed operation to the end of the last
  std::optional<models::SdmaCopyPhases> phases{};  // of a copy
  std::optional<Means> means{};                    // over the run; none if operations that are not timed came first
};

// Intervals holds an interval, in seconds, for each time of a result: its time, or its makespan and the ends of its
// GEMM and its collective. An interval is missing if the platform states no error that the time depends on.
using Intervals = std::vector<std::optional<Interval>>;

// Returns the bytes that a kernel reads and writes in its own GPU's memory, or that it moves to or from all its peers.
sim::Bytes bytes_of(const Work& kernel);

template <class Result>
struct Answer {
  std::vector<Result> results;
  std::vector<Intervals> intervals{};   // one per result, once study/ask/answers.h has added them
  std::vector<std::string> warnings{};  // such as points that were left out, and why
};

// Returns everything that the platform cannot do; empty if the question can be asked. `where` of a fault is the
// command-line option, without dashes, that asks for the impossible.
std::vector<sim::Fault> faults_of(const Question<GemmTrial>& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const Question<CollectiveTrial>& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const Question<CopyTrial>& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const Question<KernelTrial>& question, const Testbed& testbed);
std::vector<sim::Fault> faults_of(const Question<C3Trial>& question, const Testbed& testbed);

// Answers the question. Throws sim::ConfigError with the question's faults, if it has any; arrays beyond the HBM of a
// GPU are a fault. A collective of 0 GPUs runs on all GPUs, and a scenario without a name gets one. `progress` counts
// results.
Answer<WorkResult> ask(Testbed& testbed, const Question<GemmTrial>& question, const Progress& progress = {});
Answer<WorkResult> ask(Testbed& testbed, const Question<CollectiveTrial>& question, const Progress& progress = {});
Answer<WorkResult> ask(Testbed& testbed, const Question<CopyTrial>& question, const Progress& progress = {});
Answer<WorkResult> ask(Testbed& testbed, const Question<KernelTrial>& question, const Progress& progress = {});
// Uses `jobs` threads; the answer does not depend on their number.
Answer<C3Result> ask(Testbed& testbed, const Question<C3Trial>& question, const Progress& progress = {}, int jobs = 1);

}  // namespace c3sim::study
