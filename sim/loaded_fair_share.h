// A LoadedFairShare computes the fair rates of one connected part of an ActivityGraph, together with the loaded
// latencies that these rates cause and that cap some of them.
//
// A full resource with a backlog serves requests in order of arrival, so that each waits the same time Q for those in
// flight there. An activity with F units in flight that passes the resource n times has the rate F / (L + n Q), where L
// is its latency without the wait. Q makes the sum of these rates what the resource can serve, as in a closed network
// of queues (Denning and Buzen, ACM Computing Surveys 10(3), 1978). The activity with most units in flight makes the
// queue and takes what the others leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/activity_graph.h"
#include "sim/fair_share.h"

namespace c3sim::sim {

// FixedPointSearch finds x in [0, 1]^n with g(x) = x, one evaluation of g at a time. It is made for a continuous g that
// falls as x rises, steeply in places, and has kinks.
// Each dimension moves towards g by its own step length, which grows while the direction stays and shrinks when it
// turns (after Rprop: Riedmiller and Braun, IEEE Int. Conf. on Neural Networks 1993). Secant and Newton methods take
// half as many evaluations where g is smooth, but circled around kinks for ever in up to a fifth of the busy networks
// tried. This search extrapolates nothing, so that it also settles at kinks and in dimensions that oppose each other.
class FixedPointSearch {
 public:
  void start(std::span<const double> x);
  // Returns the point at which the caller evaluates g next.
  std::span<const double> point() const { return x_; }
  // Takes the next step, given `image` = g(point()).
  void step(std::span<const double> image);

 private:
  struct Dimension {
    double step;
    double last_residual;
  };
  std::vector<double> x_;
  std::vector<Dimension> dimensions_;
};

class LoadedFairShare {
 public:
  // Effort counts the work done so far, for benchmarks and tests.
  struct Effort {
    std::uint64_t parts = 0;
    std::uint64_t solves = 0;       // a part without latency limits that vary takes one
    std::uint64_t classes = 0;      // summed over solves
    std::uint64_t unconverged = 0;  // parts whose latencies were still off by more than `tolerance` after max_solves
    std::uint64_t recalled = 0;     // parts solved before in the same state, without a new solve
  };
  static constexpr int max_solves = 100;
  static constexpr double tolerance = 1e-6;  // relative to a latency cap

  // Returns the rate of one member of each class of the part, in the part's order; valid until the next call. Sets the
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
  // The unknowns of the search are the utilisations of the resources on whose load some latency limit depends.
  FixedPointSearch search_;
  std::vector<ResourceId> unknowns_;
  std::vector<std::uint32_t> unknown_index_;  // index in unknowns_ by resource, or known_latency
  std::vector<double> utilisations_;          // of the unknowns at the present rates
  std::vector<Seconds> latencies_;            // of the unknowns at the utilisations last evaluated
  // A Backlog is the queue at the resource of an unknown.
  struct Backlog {
    double seconds = 0.0;   // how long a request waits at the present rates
    std::size_t maker = 0;  // the class that does not wait, by its place in the part
  };
  std::vector<Backlog> backlogs_;
  std::vector<double> most_under_way_;
  // A Waiting is a class that waits at one resource.
  struct Waiting {
    double under_way;  // units of the resource in flight
    double latency;    // without the wait
    double visits;
    double most;  // the highest rate, in units of the resource per second
  };
  std::vector<Waiting> waiting_;
  Effort effort_;

  // A machine that runs wave after wave returns to the same few states, bit by bit. The results of a search are kept
  // with all that it depended on.
  using Words = std::vector<std::uint64_t>;
  struct Found {
    Words description;
    std::vector<double> rates;
    std::vector<double> caps;
    std::vector<double> searched;  // utilisations at which the search ended
    bool converged;
  };
  static constexpr std::size_t most_kept = 64;  // few enough for a linear search; when full, all are dropped
  Words description_;
  std::vector<Found> found_;
};

}  // namespace c3sim::sim
