// The design space of FiCCO (arXiv 2512.10236): GEMMs whose operand is gathered, or whose result is scattered, under
// every schedule of study/program/dependent.h, and what each schedule loses where.
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
  std::vector<DependentSchedule> schedules;  // besides serial_rccl, or scatter_serial_rccl, which all are compared with
};

// One GEMM under one schedule. With nothing lost it would take as long as the longer of its GEMM and its collective by
// the schedule's means, each alone; what it takes longer is lost
//   by decomposition  on a machine without interference: small GEMMs and transfers, filling and draining the pipeline
//   by contention     what interference adds to that
struct FinerGrainResult {
  std::string gemm;
  models::GemmShape shape;
  DependentSchedule schedule;
  sim::Time gemm_alone{0};
  sim::Time rccl_alone{0};        // the collective by kernels
  sim::Time collective_alone{0};  // by the means of the schedule
  sim::Time serial{0};            // serial_rccl
  sim::Time time{0};
  sim::Time apart{0};  // on a machine without interference

  sim::Time ideal() const { return std::max(gemm_alone, collective_alone); }
  sim::Time decomposition() const { return apart - ideal(); }
  sim::Time contention() const { return time - apart; }
  double speedup() const { return sim::to_seconds(serial) / sim::to_seconds(time); }
  // Of hiding the shorter one altogether, over the collective by kernels and the GEMM one after the other.
  double ideal_speedup() const {
    return sim::to_seconds(gemm_alone + rccl_alone) / sim::to_seconds(std::max(gemm_alone, rccl_alone));
  }
};

// Which schedule a heuristic names for a GEMM that it has not seen, from those that it has.
struct NamedSchedule {
  std::string gemm;
  DependentSchedule best;   // the fastest
  DependentSchedule named;  // that of the nearest other GEMM
  double lost = 0.0;        // what the named one takes longer than the best, relative to that
};

// The schedule of shards or of finer pieces that the machine does fastest, of those that it can: each is run, alone.
DependentSchedule fastest_finer(const models::PlatformSpec& platform, DependentSchedule::Collective collective,
                                const models::GemmShape& shape);

// name, gemms: {NAME: MxNxK} (of one GPU: n are tokens), schedules: all or a list of names. What is wrong is recorded;
// the caller has read the machine and finishes the configuration.
FinerGrainStudy read_finer_grain_study(sim::Section root, const Testbed& testbed);

// By GEMM and schedule, in the order of the study. `losses`: run the machine without interference, too; else `apart` is
// `time`.
std::vector<FinerGrainResult> run_finer_grain_study(Testbed& testbed, const FinerGrainStudy& study, bool losses,
                                                    const Progress& progress = {}, int jobs = 1);

// For each GEMM the schedule that is best for that one of the others whose sizes are nearest, as the sum of squares of
// the logarithms of their ratios: a rule on static sizes that is tried on cases it has not seen. Of schedules of one
// collective.
std::vector<NamedSchedule> name_by_nearest(const std::vector<FinerGrainResult>& results);

// Tables "results", "best" and "heuristic".
Results finer_grain_results(const FinerGrainStudy& study, const std::vector<FinerGrainResult>& results,
                            std::string platform);

}  // namespace c3sim::study
