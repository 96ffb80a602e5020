// Fair rates of one connected part of an ActivityGraph, together with the loaded latencies that they cause and that cap
// some of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/activity_graph.h"
#include "sim/fair_share.h"
#include "sim/fixed_point_search.h"

namespace c3sim::sim {

class LoadedFairShare {
 public:
  // Work done so far, for benchmarks and tests.
  struct Effort {
    std::uint64_t parts = 0;
    std::uint64_t solves = 0;       // a part without varying latency limits takes one
    std::uint64_t classes = 0;      // summed over solves
    std::uint64_t unconverged = 0;  // parts whose latencies were still off by more than `tolerance` after max_solves
  };
  static constexpr int max_solves = 100;
  static constexpr double tolerance = 1e-6;  // of a latency cap

  // The rates of one member of each class of the part, in the part's order; valid until the next call. Leaves the
  // latency caps in the graph.
  std::span<const double> solve(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  const Effort& effort() const { return effort_; }

 private:
  using ActivityClass = ActivityGraph::ActivityClass;

  void solve_once(const ActivityGraph& graph);
  void search_latencies(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  void find_unknowns(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  void set_latency_caps(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  void measure_utilisations(const ActivityGraph& graph);
  bool consistent(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) const;
  bool held_by_cap(std::size_t i) const { return rates_[i] >= flows_[i].cap * (1.0 - tolerance); }
  double latency_cap(const ActivityGraph& graph, const ActivityClass& limited,
                     std::span<const double> utilisations) const;

  FairShareSolver solver_;
  std::vector<FlowClass> flows_;
  std::vector<double> rates_;
  // The search for latencies: its unknowns are the utilisations of the resources on which some latency limit depends.
  FixedPointSearch search_;
  std::vector<ResourceId> unknowns_;
  std::vector<std::uint32_t> unknown_index_;  // by resource, its place in unknowns_ if it is one
  std::vector<double> utilisations_;          // those that the rates cause
  Effort effort_;
};

}  // namespace c3sim::sim
