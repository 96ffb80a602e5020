// A Dispatcher places the workgroups of queued kernels on the CUs of one GPU. A kernel's workgroups are dealt to the
// XCDs in turn when it is enqueued; on each XCD the queues compete for CUs with room whenever workgroups arrive or
// retire. Workgroups that are placed together run alike; only those of a kernel's last wave end at different times.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "models/machine/cu_room.h"
#include "models/machine/kernel.h"
#include "models/platform/dispatch_spec.h"
#include "sim/gate.h"
#include "sim/simulator.h"

namespace c3sim::models {

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
  bool runs_gemm() const;
  // Returns which record of the room on the CUs the kernel uses. There is one record, except on a machine without
  // cu_loss or dispatch_wait: there collectives see record 1, all other kernels 0.
  std::size_t view_of(const KernelSpec& kernel) const;
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
  sim::Task<> run_cohort(Queue& queue, Cohort cohort);
  // Waits for the kernel's polled word. The cohort's workgroups hold their CUs meanwhile.
  sim::Task<> poll(const Queue& queue, const Cohort& cohort);
  void retire(Queue& queue, const Cohort& cohort);

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
