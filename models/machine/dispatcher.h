// Places the workgroups of queued kernels on the CUs of one GPU. A kernel's workgroups are dealt to the XCDs in turn
// when it is enqueued; on each XCD the queues compete for the CUs that have room whenever workgroups arrive or retire.
// Workgroups that are placed together run alike; only the last of a kernel come to their ends apart.
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
    std::vector<CuRoom> room;  // by view
    Queue* turn = nullptr;     // rotation: whose turn it is
    sim::Time turn_began{0};
  };

  void request_dispatch();
  void dispatch();
  void dispatch_xcd(int index);
  Queue* turn_holder(Xcd& xcd);
  bool runs_gemm() const;
  // The room on the CUs is kept once; where a machine has it apart, once per view: as GEMMs see it, and as collectives
  // do.
  std::size_t view_of(const KernelSpec& kernel) const;
  // Workgroups that have done a piece go on with the next on the CU where they are.
  void place_staying(Queue& queue, int xcd_index);
  // As many workgroups as find room in their turn.
  void place(Queue& queue, int xcd_index);
  // Of `left` workgroups, how many go to each shader engine, by the room that places_ says; into due_. Turns count the
  // CUs that the mask allows: a GEMM that is kept from 32 or 64 CUs loses what these are (ConCCL, Figure 5).
  void deal_in_turn(Queue& queue, std::size_t xcd, const CuMask& allowed, int left);
  std::size_t engine_of(int cu) const { return engines_[static_cast<std::size_t>(cu)]; }
  // So much more is free on each CU of the run; what its workgroups take is less than nothing.
  void add_room(const KernelSpec& kernel, const Cohort::Run& run, const CuResources& each);
  sim::Task<> run_cohort(Queue& queue, Cohort cohort);
  // Its workgroups hold their CUs meanwhile.
  sim::Task<> poll(const Queue& queue, const Cohort& cohort);
  void retire(Queue& queue, const Cohort& cohort);

  sim::Simulator& simulator_;
  DispatchSpec spec_;
  int cus_per_xcd_;
  CuResources cu_;
  // By CU, the shader engine that it belongs to: neighbours belong to different ones, and the last ones have one more
  // where that does not come out even.
  std::vector<std::size_t> engines_;
  std::vector<bool> apart_;  // by view: sees its own workgroups alone, on all CUs
  std::string name_;
  std::vector<Xcd> xcds_;
  std::list<Queue> queues_;  // by priority, then arrival
  bool dispatch_requested_ = false;
  // Scratch of place(), which is asked too often to allocate: neighbouring CUs that have room for as many workgroups
  // each.
  struct Place {
    int begin;
    int end;
    int fits;
  };
  std::vector<Place> places_;
  std::vector<int> engine_room_;  // workgroups that find room, by shader engine
  std::vector<int> due_;          // workgroups to place, by shader engine
};

}  // namespace c3sim::models
