// FairShareSolver computes weighted max-min fair rates with caps for activities that use several resources at once. It
// knows neither time nor events.
//
// The allocation is that of Bertsekas and Gallager (Data Networks, 2nd ed., section 6.5.2) with weights: all rates rise
// together, in proportion to the weights, until an activity reaches its cap or fills a resource. Such activities stop,
// the others go on. No rate can then be raised without lowering another that is, per weight, no larger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace c3sim::sim {

// One unit of an activity's progress takes `coefficient` units of `resource`. A resource listed twice counts twice.
struct Usage {
  std::uint32_t resource;
  double coefficient;  // > 0
  bool operator==(const Usage&) const = default;
};

// A FlowClass is `members` equal activities with the same usages, weight and cap, which get the same rate.
struct FlowClass {
  std::span<const Usage> usages;
  double weight = 1.0;   // > 0: rates rise in proportion to it
  double cap = 0.0;      // largest rate of one member, > 0, may be infinite
  double members = 1.0;  // > 0
};

class FairShareSolver {
 public:
  // Sets rates[i] to the rate of one member of classes[i]. capacities[r] > 0 belongs to resource r; the solver reads it
  // only for resources in use. A class without usages runs at its cap. The relative error is below 1e-9 unless weights
  // or coefficients that meet differ by more than 1e6. Equal input gives equal bits. Only scratch memory is allocated.
  void solve(std::span<const double> capacities, std::span<const FlowClass> classes, std::span<double> rates) {
    connect(capacities, classes);
    share(classes, rates);
  }
  // connect() and share() are the two steps of solve(). share() may be repeated with other caps.
  void connect(std::span<const double> capacities, std::span<const FlowClass> classes);
  void share(std::span<const FlowClass> classes, std::span<double> rates);

 private:
  // A Shared is a resource with several usages. `remaining` and `demand` are not neighbours, because GCC 12 would make
  // one vector of them in settle_edges(), which was measured to be slower.
  struct Shared {
    double remaining;  // capacity left by settled classes
    double level;      // the rate per weight at which the unsettled classes would fill the resource
    double demand;     // units per second of the unsettled classes at level 1
    bool tightest;     // whether it is the tightest resource of each unsettled class that uses it
    std::uint32_t resource;
    double capacity;
    double first_level;  // the level at which all classes would fill the resource
  };
  // A Claim sums up what all classes ask of one resource. connect() leaves every claim at its default value.
  struct Claim {
    double demand = 0.0;  // units per second at level 1, which is a rate of 1 per weight
    std::size_t usages = 0;
    Shared* shared = nullptr;
  };
  struct Edge {
    double demand;
    Shared* shared;
  };
  // A Flow is the solver's state of a class. The class stops at `cap_level`, whatever the shared resources allow.
  struct Flow {
    double cap_level;
    double level;  // final once the class is settled
    const Edge* edges;
    std::size_t edge_count;
    double own_level;    // the highest level allowed by resources that no other class uses
    double first_level;  // the lowest first_level of its shared resources
  };

  void add_up_claims(std::span<const double> capacities, std::span<const FlowClass> classes);
  void open(std::span<const FlowClass> classes);
  void raise_levels();
  void find_tightest();
  void settle();
  static void settle_edges(const Flow& flow, bool settled);

  std::vector<Claim> claims_;  // indexed by resource
  // The vectors below describe the classes connected last. Where a count follows, only that many entries are in use;
  // the others are spare memory.
  std::vector<Edge> edges_;
  std::vector<Flow> flows_;
  std::vector<Shared> shared_;
  std::size_t shared_count_ = 0;
  std::vector<std::uint32_t> unsettled_;  // indices into flows_
  std::size_t unsettled_count_ = 0;
};

}  // namespace c3sim::sim
