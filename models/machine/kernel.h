// A kernel as the dispatcher sees it: how many workgroups, what each needs of a CU, and what a group of them does once
// it has been placed.
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
  int gpu = 0;            // on which it runs
  int workgroups = 0;     // pieces of work, whoever takes them
  CuResources workgroup;  // what each of them needs of its CU
  Dealing dealing = Dealing::per_xcd;
  Stream stream;
  Tenant tenant = Tenant::stream;
  double time_spread = 0.0;  // of the times of a workgroup on different CUs: standard deviation over mean
};

// Workgroups of one kernel that were placed at the same instant on one GPU: they run alike and retire together.
struct Cohort {
  struct Placement {
    int workgroup;
    int xcd;
    int cu;
  };
  // Workgroups on CUs of one XCD at equal distances: the i-th is workgroup + i * workgroup_step, on cu + i * cu_step.
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
  bool amid_gemm = false;    // of a collective: placed on the first CUs of a GEMM that fell free, while it holds others
  double lateness = 0.0;     // of its CUs at the end of the kernel: so much longer than a workgroup's time it takes

  int size() const;
  std::vector<Placement> placements() const;
  int last_workgroup() const;
  // The share of the workgroups that sits on the XCD with most of them.
  double busiest_share() const;
};

// Runs the workgroups of a cohort to their end. Called once per cohort.
using CohortBody = std::function<sim::Task<>(const Cohort& cohort)>;

}  // namespace c3sim::models
