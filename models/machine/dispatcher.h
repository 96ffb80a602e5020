// A Dispatcher places the workgroups of queued kernels on the CUs of one GPU. A kernel's workgroups are dealt to the
// XCDs in turn when it is enqueued; on each XCD the queues compete for CUs with room whenever workgroups arrive or
// retire. Workgroups that are placed together run alike; only those of a kernel's last wave end at different times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "models/machine/stream.h"
#include "models/platform/cu_resources.h"
#include "models/platform/gpu_spec.h"
#include "models/platform/interference.h"
#include "sim/gate.h"
#include "sim/simulator.h"
#include "sim/task.h"
#include "sim/units.h"

namespace c3sim::models {

// A KernelSpec is a kernel as the dispatcher sees it: the number of workgroups, what each needs of a CU, and what a
// group of them does once it has been placed.
struct KernelSpec {
  std::string name{};
  int gpu = 0;              // the GPU on which it runs
  int workgroups = 0;       // pieces of work; with per_xcd dealing also workgroups
  CuResources workgroup{};  // what each workgroup needs of its CU
  Dealing dealing = Dealing::per_xcd;
  Stream stream{};
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

  int size() const { return std::accumulate(per_xcd.begin(), per_xcd.end(), 0); }
  std::vector<Placement> placements() const;
  // Returns the share of the workgroups that is on the XCD with most of them.
  double busiest_share() const {
    return static_cast<double>(*std::max_element(per_xcd.begin(), per_xcd.end())) / static_cast<double>(size());
  }
};

// Runs the workgroups of a cohort to their end. Called once per cohort.
using CohortBody = std::function<sim::Task<>(const Cohort& cohort)>;

// A CuRoom holds what the CUs of one XCD have free, as stretches of neighbours with equal room, which are few.
class CuRoom {
 public:
  CuRoom(int cus, const CuResources& each) : stretches_{{0, cus, each}} {}

  struct Stretch {
    int begin;
    int end;
    CuResources room;  // on each of the CUs
  };
  std::span<const Stretch> stretches() const { return stretches_; }  // ordered by CU

  // Adds `each` to the room on each CU in [begin, end); it is negative when workgroups are placed.
  void add(int begin, int end, const CuResources& each);

 private:
  // Returns the index, from `place` on, of the stretch that begins with `cu`; splits one if needed.
  std::size_t split(int cu, std::size_t place);

  std::vector<Stretch> stretches_;
};

class Dispatcher {
 public:
  Dispatcher(sim::Simulator& simulator, const DispatchSpec& spec, int xcds, int cus_per_xcd, CuResources cu,
             std::string name, Mechanisms without = {});
  ~Dispatcher();

  // Queues the kernel, runs `body` for each cohort of its workgroups, and ends when the last one has retired. The
  // kernel's mask must leave it at least one CU per XCD.
  sim::Task<> run(KernelSpec kernel, CohortBody body);

  int xcds() const { return static_cast<int>(xcds_.size()); }
  int cus_per_xcd() const { return cus_per_xcd_; }
  sim::Simulator& simulator() { return simulator_; }

 private:
  struct Queue;
  struct Xcd {
    std::vector<CuRoom> room;  // by view: see view_of
    Queue* turn = nullptr;     // the queue whose turn it is
    sim::Time turn_began{0};
  };

  void request_dispatch();
  void dispatch();
  void dispatch_xcd(int index);
  Queue* turn_holder(Xcd& xcd);
  // Returns which record of the room on the CUs the kernel uses. There is one record, except on a machine without
  // cu_loss or dispatch_wait: there collectives see record 1, all other kernels 0.
  std::size_t view_of(const KernelSpec& kernel) const {
    return apart_.size() == 1 || !is_collective(kernel.tenant) ? 0 : 1;
  }
  // Gives workgroups that have finished a piece of work the next piece, on the CU where they are.
  void place_staying(Queue& queue, int xcd_index);
  // Places as many workgroups as find room in their turn.
  void place(Queue& queue, int xcd_index);
  // Sets due_ to how many of `left` workgroups go to each shader engine, given the room in places_. Turns go over the
  // CUs that the mask allows: a GEMM that is kept from 32 or 64 CUs loses what these are (ConCCL, Figure 5).
  void deal_in_turn(Queue& queue, std::size_t xcd, const CuMask& allowed, int left);
  std::size_t engine_of(int cu) const { return engines_[static_cast<std::size_t>(cu)]; }
  // Adds `each` to the room on each CU of the run; it is negative when workgroups are placed.
  void add_room(const KernelSpec& kernel, const Cohort::Run& run, const CuResources& each);
  // Runs the cohort, whose workgroups hold their CUs while they wait for the kernel's polled word.
  sim::Task<> run_cohort(Queue& queue, Cohort cohort);

  sim::Simulator& simulator_;
  DispatchSpec spec_;
  int cus_per_xcd_;
  CuResources cu_;
  // Maps CUs to shader engines. Neighbours belong to different ones; the last engines have one more if CUs are left.
  std::vector<std::size_t> engines_;
  std::vector<bool> apart_;  // by view: counts only its own workgroups, on all CUs
  std::string name_;
  std::vector<Xcd> xcds_;
  std::list<Queue> queues_;  // by priority, then arrival
  bool dispatch_requested_ = false;
  // A range of neighbouring CUs that have room for `fits` workgroups each. place() is called too often to allocate, so
  // places_, engine_room_ and due_ are kept between calls.
  struct Place {
    int begin;
    int end;
    int fits;
  };
  std::vector<Place> places_;
  std::vector<int> engine_room_;  // workgroups that still fit, by shader engine
  std::vector<int> due_;          // workgroups to place, by shader engine
};

}  // namespace c3sim::models
