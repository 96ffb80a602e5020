// Weighted max-min fair rates with caps for activities that use several resources at once. Pure: no time, no events.
//
// The allocation is the one of Bertsekas and Gallager (Data Networks, 2nd ed., section 6.5.2) with weights: the rates
// of all activities rise together, in proportion to their weights, until an activity reaches its cap or a resource that
// it uses is full; those stop there and the others go on. No rate can then be raised without lowering one that is, per
// weight, no larger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sim {

// One unit of an activity's progress takes `coefficient` units of resource `resource`. A resource listed twice counts
// twice.
struct Usage {
  std::uint32_t resource;
  double coefficient;  // > 0
  bool operator==(const Usage&) const = default;
};

// `members` equal activities that share fate: same usages, weight and cap; they get the same rate.
struct FlowClass {
  std::span<const Usage> usages;
  double weight = 1.0;   // > 0: rates rise in proportion to it
  double cap;            // largest rate of one member, > 0, may be infinite
  double members = 1.0;  // > 0
};

class FairShareSolver {
 public:
  // Fills rates[i] with the rate of one member of classes[i]. capacities[r] > 0 belongs to resource r; only resources
  // that some class uses are looked at. A class without usages runs at its cap. Exact but for rounding, which is kept
  // from growing: 1e-9 relative unless weights or coefficients that meet lie more than 1e6 apart. The same input gives
  // the same bits. Allocates only to grow its own scratch memory.
  void solve(std::span<const double> capacities, std::span<const FlowClass> classes, std::span<double> rates);

 private:
  // What all classes together ask of one resource; as here by default between solves.
  struct Claim {
    double demand = 0.0;  // units per second at level 1, that is, a rate of 1 per weight
    std::uint32_t usages = 0;
    std::uint32_t shared_index = UINT32_MAX;
  };
  // A resource with several usages.
  struct Shared {
    double level;      // the rate per weight at which the unsettled classes would fill it
    double remaining;  // capacity that settled classes leave
    double demand;     // of the unsettled ones, at level 1
    std::uint32_t resource;
    bool tightest;  // for each of its unsettled classes
  };
  struct Edge {
    double demand;
    std::uint32_t shared_index;
  };
  // A class whose rate is not settled: it stops at `cap_level` whatever the shared resources do.
  struct Unsettled {
    double cap_level;
    double level;
    double weight;
    std::uint32_t index;
    std::uint32_t first_edge;
    std::uint32_t last_edge;
  };

  void add_up_claims(std::span<const double> capacities, std::span<const FlowClass> classes);
  void open(std::span<const double> capacities, std::span<const FlowClass> classes);
  void raise_levels();
  void find_tightest();
  void settle(std::span<double> rates);

  std::vector<Claim> claims_;  // by resource
  std::vector<Shared> shared_;
  std::vector<Edge> edges_;
  std::vector<Unsettled> unsettled_;
};

}  // namespace sim
