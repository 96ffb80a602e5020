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

namespace c3sim::sim {

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
  double cap = 0.0;      // largest rate of one member, > 0, may be infinite
  double members = 1.0;  // > 0
};

class FairShareSolver {
 public:
  // Fills rates[i] with the rate of one member of classes[i]. capacities[r] > 0 belongs to resource r; only resources
  // that some class uses are looked at. A class without usages runs at its cap. Exact but for rounding, which is kept
  // from growing: 1e-9 relative unless weights or coefficients that meet lie more than 1e6 apart. The same input gives
  // the same bits. Allocates only to grow its own scratch memory.
  void solve(std::span<const double> capacities, std::span<const FlowClass> classes, std::span<double> rates) {
    connect(capacities, classes);
    share(classes, rates);
  }
  // The same in two steps, of which the second may be repeated with other caps.
  void connect(std::span<const double> capacities, std::span<const FlowClass> classes);
  void share(std::span<const FlowClass> classes, std::span<double> rates);

 private:
  // A resource with several usages. `remaining` and `demand` are kept apart: side by side GCC 12 makes one vector of
  // them in settle_edges(), which was measured to be slower.
  struct Shared {
    double remaining;  // capacity that settled classes leave
    double level;      // the rate per weight at which the unsettled classes would fill it
    double demand;     // of the unsettled ones, at level 1
    bool tightest;     // for each of its unsettled classes
    std::uint32_t resource;
    double capacity;
    double first_level;  // at which all classes would fill it
  };
  // What all classes together ask of one resource; as here by default once they are connected.
  struct Claim {
    double demand = 0.0;  // units per second at level 1, that is, a rate of 1 per weight
    std::size_t usages = 0;
    Shared* shared = nullptr;
  };
  struct Edge {
    double demand;
    Shared* shared;
  };
  // A class. Whatever the shared resources do, it stops at `cap_level`.
  struct Flow {
    double cap_level;
    double level;  // final once the class is settled
    const Edge* edges;
    std::size_t edge_count;
    double own_level;    // the highest that resources which no other class uses allow
    double first_level;  // the lowest of the first levels of its shared resources
  };

  void add_up_claims(std::span<const double> capacities, std::span<const FlowClass> classes);
  void open(std::span<const FlowClass> classes);
  void raise_levels();
  void find_tightest();
  void settle();
  static void settle_edges(const Flow& flow, bool settled);

  std::vector<Claim> claims_;  // by resource
  // Of the classes connected last; where there is a count, that many entries are in use and the rest is memory to grow
  // into.
  std::vector<Edge> edges_;
  std::vector<Flow> flows_;
  std::vector<Shared> shared_;
  std::size_t shared_count_ = 0;
  std::vector<std::uint32_t> unsettled_;  // indices of flows
  std::size_t unsettled_count_ = 0;
};

}  // namespace c3sim::sim
