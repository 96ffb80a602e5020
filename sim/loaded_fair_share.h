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
    std::uint64_t recalled = 0;     // parts that were found as they had been before: no solve
  };
  static constexpr int max_solves = 100;
  static constexpr double tolerance = 1e-6;  // of a latency cap

  // The rates of one member of each class of the part, in the part's order; valid until the next call. Leaves the
  // latency caps in the graph.
  std::span<const double> solve(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  const Effort& effort() const { return effort_; }

 private:
  using ActivityClass = ActivityGraph::ActivityClass;

  void solve_once();
  void recall_or_search(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  void describe(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  bool search_latencies(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  void find_unknowns(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  void set_latency_caps(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  void measure_utilisations(const ActivityGraph& graph);
  bool consistent(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  bool held_by_cap(std::size_t i) const { return rates_[i] >= flows_[i].cap * (1.0 - tolerance); }
  void find_latencies(const ActivityGraph& graph, std::span<const double> utilisations);
  double latency_cap(const ActivityGraph& graph, const ActivityClass& limited) const;

  FairShareSolver solver_;
  std::vector<FlowClass> flows_;
  std::vector<double> rates_;
  // The search for latencies: its unknowns are the utilisations of the resources on which some latency limit depends.
  FixedPointSearch search_;
  std::vector<ResourceId> unknowns_;
  std::vector<std::uint32_t> unknown_index_;  // by resource, its place in unknowns_ if it is one
  std::vector<double> utilisations_;          // those that the rates cause
  std::vector<Seconds> latencies_;            // of the unknowns' resources, at the utilisations last looked at
  Effort effort_;

  // A machine that goes through wave after wave comes back to the same few states, to the last bit. What a search found
  // is kept with all that it depended on.
  using Words = std::vector<std::uint64_t>;
  struct Found {
    Words description;
    std::vector<double> rates;
    std::vector<double> caps;
    std::vector<double> searched;  // where the search ended
    bool converged;
  };
  static constexpr std::size_t most_kept = 64;  // few enough to look through; then all are forgotten
  Words description_;
  std::vector<Found> found_;
};

}  // namespace c3sim::sim
