#include "sim/fair_share.h"

#include <algorithm>
#include <limits>

#include "sim/check.h"

namespace c3sim::sim {

// Textbook filling closes one bottleneck per round. This solver closes in one round every resource that is the tightest
// for each of its unsettled classes: levels only rise as others close, so that no other resource stops these classes
// earlier. A symmetric network takes one round, a random one a few, and only a chain one per resource.
//
// The loops below are the innermost of the engine. They select values instead of branching, because a processor cannot
// predict which class settles when.
void FairShareSolver::share(std::span<const FlowClass> classes, std::span<double> rates) {
  open(classes);
  while (unsettled_count_ > 0) {
    const std::size_t before = unsettled_count_;
    raise_levels();
    find_tightest();
    settle();
    SIM_CHECK(unsettled_count_ < before && "capacities, coefficients, weights and caps are positive numbers");
  }
  for (std::size_t i = 0; i < classes.size(); ++i) rates[i] = classes[i].weight * flows_[i].level;
}

void FairShareSolver::add_up_claims(std::span<const double> capacities, std::span<const FlowClass> classes) {
  if (claims_.size() < capacities.size()) claims_.resize(capacities.size());
  Claim* const claims = claims_.data();
  std::size_t usages = 0;
  for (const FlowClass& flow : classes) {
    const double per_coefficient = flow.members * flow.weight;
    for (const Usage& usage : flow.usages) {
      claims[usage.resource].demand += usage.coefficient * per_coefficient;
      ++claims[usage.resource].usages;
    }
    usages += flow.usages.size();
  }
  if (edges_.size() < usages) edges_.resize(usages);
  if (shared_.size() < usages) shared_.resize(usages);
  if (flows_.size() < classes.size()) {
    flows_.resize(classes.size());
    unsettled_.resize(classes.size());
  }
}

// A resource with a single usage only caps its class. shared_ and edges_ hold the resources that classes compete for.
void FairShareSolver::connect(std::span<const double> capacities, std::span<const FlowClass> classes) {
  add_up_claims(capacities, classes);
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  Claim* const claims = claims_.data();
  Shared* next_shared = shared_.data();
  Edge* next_edge = edges_.data();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const FlowClass& flow = classes[i];
    const double per_coefficient = flow.members * flow.weight;
    double own_level = unbounded;
    double first_level = unbounded;
    const Edge* const edges = next_edge;
    for (const Usage& usage : flow.usages) {
      Claim& claim = claims[usage.resource];
      const double capacity = capacities[usage.resource];
      if (claim.usages == 1) {
        own_level = std::min(own_level, capacity / claim.demand);
        claim = {};
        continue;
      }
      if (claim.shared == nullptr) {
        *next_shared = {capacity, 0.0, 0.0, true, usage.resource, capacity, capacity / claim.demand};
        claim.shared = next_shared++;
      }
      first_level = std::min(first_level, claim.shared->first_level);
      *next_edge++ = {usage.coefficient * per_coefficient, claim.shared};
    }
    flows_[i].edges = edges;
    flows_[i].edge_count = static_cast<std::size_t>(next_edge - edges);
    flows_[i].own_level = own_level;
    flows_[i].first_level = first_level;
  }
  shared_count_ = static_cast<std::size_t>(next_shared - shared_.data());
  for (const Shared& shared : std::span(shared_).first(shared_count_)) claims[shared.resource] = {};
}

// Settles classes that stop at a cap before any of their resources could fill.
void FairShareSolver::open(std::span<const FlowClass> classes) {
  for (Shared& shared : std::span(shared_).first(shared_count_)) {
    shared.remaining = shared.capacity;
    shared.level = shared.first_level;
    shared.demand = 0.0;
  }
  std::uint32_t* left = unsettled_.data();
  for (std::uint32_t i = 0; i < classes.size(); ++i) {
    Flow& flow = flows_[i];
    flow.cap_level = std::min(classes[i].cap / classes[i].weight, flow.own_level);
    flow.level = std::min(flow.cap_level, flow.first_level);
    const bool settled = flow.cap_level <= flow.first_level;
    settle_edges(flow, settled);
    *left = i;
    left += settled ? 0 : 1;
  }
  unsettled_count_ = static_cast<std::size_t>(left - unsettled_.data());
}

// std::max keeps levels from falling by rounding; in exact arithmetic they never fall.
void FairShareSolver::raise_levels() {
  for (Shared& shared : std::span(shared_).first(shared_count_)) {
    if (shared.demand > 0.0) shared.level = std::max(shared.level, shared.remaining / shared.demand);
    shared.demand = 0.0;
    shared.tightest = true;
  }
}

void FairShareSolver::find_tightest() {
  for (const std::uint32_t i : std::span(unsettled_).first(unsettled_count_)) {
    Flow& flow = flows_[i];
    const std::span<const Edge> edges(flow.edges, flow.edge_count);
    double level = flow.cap_level;
    for (const Edge& edge : edges) level = std::min(level, edge.shared->level);
    flow.level = level;
    for (const Edge& edge : edges) edge.shared->tightest &= edge.shared->level <= level;
  }
}

// A class settles at its cap or with a resource that is the tightest for all of its classes, which share that level.
void FairShareSolver::settle() {
  std::uint32_t* left = unsettled_.data();
  for (const std::uint32_t i : std::span(unsettled_).first(unsettled_count_)) {
    const Flow& flow = flows_[i];
    bool settled = flow.level == flow.cap_level;
    for (const Edge& edge : std::span(flow.edges, flow.edge_count)) settled |= edge.shared->tightest;
    settle_edges(flow, settled);
    *left = i;
    left += settled ? 0 : 1;
  }
  unsettled_count_ = static_cast<std::size_t>(left - unsettled_.data());
}

// Multiplies by 0 or 1 where a branch would be mispredicted half of the time. Demands are summed afresh over unsettled
// classes, as subtracting settled ones would leave rounding errors of large demands in small ones.
inline void FairShareSolver::settle_edges(const Flow& flow, bool settled) {
  const auto taken = static_cast<double>(settled);
  const double going_on = 1.0 - taken;
  const double level = flow.level * taken;
  for (const Edge& edge : std::span(flow.edges, flow.edge_count)) {
    edge.shared->remaining -= edge.demand * level;
    edge.shared->demand += edge.demand * going_on;
  }
}

}  // namespace c3sim::sim
