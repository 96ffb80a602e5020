// Explores the design space of FiCCO (arXiv 2512.10236): GEMMs whose operand is gathered or whose result is scattered,
// under every schedule of study/program/dependent.h, and what each schedule loses to which cause.
#pragma once

#include <string>
#include <vector>

#include "sim/config/config_section.h"
#include "study/play/parallel.h"
#include "study/play/testbed.h"
#include "study/program/dependent.h"
#include "study/program/scenario.h"
#include "study/report/results.h"

namespace c3sim::study {

struct FinerGrainStudy {
  std::string name;
  std::vector<NamedGemm> gemms;
  std::vector<DependentSchedule> schedules;  // compared with serial_rccl or scatter_serial_rccl
};

// A FinerGrainResult is one GEMM under one schedule. Without losses the schedule would take as long as the longer of
// its GEMM and its collective, each alone. `decomposition` is what it loses on a machine without interference, to small
// GEMMs and transfers and to filling and draining the pipeline. `contention` is what interference adds.
struct FinerGrainResult {
  std::string gemm;
  models::GemmShape shape;
  DependentSchedule schedule;
  sim::Time gemm_alone{0};
  sim::Time rccl_alone{0};        // the collective by kernels
  sim::Time collective_alone{0};  // by the schedule's own backend
  sim::Time serial{0};            // serial_rccl or scatter_serial_rccl
  sim::Time time{0};
  sim::Time apart{0};  // `time` on a machine without interference

  sim::Time ideal() const { return std::max(gemm_alone, collective_alone); }
  sim::Time decomposition() const { return apart - ideal(); }
  sim::Time contention() const { return time - apart; }
  double speedup() const { return sim::to_seconds(serial) / sim::to_seconds(time); }
  // Returns the speedup over serial execution by RCCL if the shorter of the two were hidden entirely.
  double ideal_speedup() const {
    return sim::to_seconds(gemm_alone + rccl_alone) / sim::to_seconds(std::max(gemm_alone, rccl_alone));
  }
};

// Compares the best schedule of a GEMM with the one that a heuristic names from the results of other GEMMs.
struct NamedSchedule {
  std::string gemm;
  DependentSchedule best;   // the fastest
  DependentSchedule named;  // the best one of the nearest other GEMM
  double lost = 0.0;        // extra time of `named` over `best`, relative to `best`
};

// Runs each possible schedule with shards or finer pieces on the machine and returns the fastest.
DependentSchedule fastest_finer(const models::PlatformSpec& platform, DependentSchedule::Collective collective,
                                const models::GemmShape& shape);

// Reads a file with name, gemms: {NAME: MxNxK} (per GPU; n counts tokens) and schedules: all, or a list of names.
// Faults are recorded. The caller has read the machine and finishes the configuration.
FinerGrainStudy read_finer_grain_study(sim::Section root, const Testbed& testbed);

// Returns results by GEMM and schedule, in the study's order. With `losses` each schedule also runs on a machine
// without interference; otherwise `apart` equals `time`.
std::vector<FinerGrainResult> run_finer_grain_study(Testbed& testbed, const FinerGrainStudy& study, bool losses,
                                                    const Progress& progress = {}, int jobs = 1);

// Names for each GEMM the best schedule of the nearest other GEMM with the same collective, by the sum of squared
// logarithms of ratios of m, n and k: a rule on static sizes, tested on cases that it has not seen.
std::vector<NamedSchedule> name_by_nearest(const std::vector<FinerGrainResult>& results);

// Returns tables "results", "best" and "heuristic".
Results finer_grain_results(const FinerGrainStudy& study, const std::vector<FinerGrainResult>& results,
                            std::string platform);

}  // namespace c3sim::study
