// Fair rates of one connected part of an ActivityGraph, together with the loaded latencies that they cause and that cap
// some of them.
//
// A full resource with a backlog serves requests in the order in which they come, so that each waits the same time Q
// behind those under way. An activity that keeps F units under way and finds the resource n times on its way comes to
// F / (L + n Q), L without the wait, and Q is what makes all of these together what the resource can serve, as in a
// closed network of queues (Denning and Buzen, ACM Computing Surveys 10(3), 1978). Who keeps most under way there makes
// the queue, and takes what the others leave.
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
  void find_backlog_makers(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  void measure_backlogs(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part);
  double backlog_at(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part, std::size_t unknown);
  bool full_elsewhere(std::size_t i, ResourceId resource) const;
  bool consistent(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) const;
  bool held_by_cap(std::size_t i) const { return rates_[i] >= flows_[i].cap * (1.0 - tolerance); }
  void find_latencies(const ActivityGraph& graph, std::span<const double> utilisations);
  double latency_cap(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part, std::size_t i) const;

  FairShareSolver solver_;
  std::vector<FlowClass> flows_;
  std::vector<double> rates_;
  // The search for latencies: its unknowns are the utilisations of the resources on which some latency limit depends.
  FixedPointSearch search_;
  std::vector<ResourceId> unknowns_;
  std::vector<std::uint32_t> unknown_index_;  // by resource, its place in unknowns_ if it is one
  std::vector<double> utilisations_;          // those that the rates cause
  std::vector<Seconds> latencies_;            // of the unknowns' resources, at the utilisations last looked at
  // Of the unknowns' resources.
  struct Backlog {
    double seconds = 0.0;   // that a request waits, as the rates last found cause it
    std::size_t maker = 0;  // who does not wait, by its place in the part
  };
  std::vector<Backlog> backlogs_;
  std::vector<double> most_under_way_;
  // Of the classes that wait at one resource.
  struct Waiting {
    double under_way;  // units of the resource
    double latency;    // without the wait, over how often the resource is on the way
    double visits;
    double most;  // units of the resource per second
  };
  std::vector<Waiting> waiting_;
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
