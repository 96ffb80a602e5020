// This is a kernel as the dispatcher sees it: the number of workgroups, what each needs of a CU, and what a group of
// them does once it has been placed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/machine/stream.h"
#include "models/platform/cu_resources.h"
#include "models/platform/dispatch_spec.h"
#include "models/platform/interference.h"
#include "sim/task.h"
#include "sim/units.h"

namespace c3sim::models {

struct KernelSpec {
  std::string name;
  int gpu = 0;            // the GPU on which it runs
  int workgroups = 0;     // pieces of work; with per_xcd dealing also workgroups
  CuResources workgroup;  // what each workgroup needs of its CU
  Dealing dealing = Dealing::per_xcd;
  Stream stream;
  Tenant tenant = Tenant::stream;
  double time_spread = 0.0;  // standard deviation over mean of a workgroup's time on different CUs
};

// A Cohort is workgroups of one kernel that were placed at the same instant on one GPU and retire together.
struct Cohort {
  struct Placement {
    int workgroup;
    int xcd;
    int cu;
  };
  // A Run is workgroups on CUs of one XCD at equal distances: workgroup + i * workgroup_step is on cu + i * cu_step.
  struct Run {
    int xcd;
    int cu;
    int cu_step;
    int workgroup;
    int workgroup_step;
    int count;
    Placement at(int i) const { return {workgroup + i * workgroup_step, xcd, cu + i * cu_step}; }
    bool same_cus(const Run& other) const {
      return xcd == other.xcd && cu == other.cu && cu_step == other.cu_step && count == other.count;
    }
  };
  std::vector<Run> runs;
  std::vector<int> per_xcd;  // workgroups on each XCD
  bool amid_gemm = false;    // a collective's cohort that had to wait and was placed while a GEMM ran
  bool stays = false;        // its workgroups have done a piece of work on these CUs before
  double lateness = 0.0;     // how much longer than the mean its CUs take in the last wave, over a workgroup's time

  int size() const;
  std::vector<Placement> placements() const;
  int last_workgroup() const;
  // Returns the share of the workgroups that is on the XCD with most of them.
  double busiest_share() const;
};

// Runs the workgroups of a cohort to their end. Called once per cohort.
using CohortBody = std::function<sim::Task<>(const Cohort& cohort)>;

}  // namespace c3sim::models
