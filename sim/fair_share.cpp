#include "sim/fair_share.h"

#include <algorithm>

#include "sim/check.h"

namespace sim {

// Textbook filling closes one bottleneck per round. Here every resource that is the tightest one for each of its
// unsettled classes is closed in the same round: levels only rise as others are closed, so none of its classes can be
// stopped earlier elsewhere. A symmetric network takes one round, a random one a few, only a chain one per resource.
//
// The loops below are the engine's innermost. Which class settles when is as good as random to a processor, so that
// they select between values where they could branch.
void FairShareSolver::solve(std::span<const double> capacities, std::span<const FlowClass> classes,
                            std::span<double> rates) {
  add_up_claims(capacities, classes);
  open(capacities, classes);
  while (!unsettled_.empty()) {
    const std::size_t before = unsettled_.size();
    raise_levels();
    find_tightest();
    settle(rates);
    SIM_CHECK(unsettled_.size() < before && "capacities, coefficients, weights and caps are positive numbers");
  }
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
  edges_.resize(usages);
  shared_.resize(usages / 2);
  unsettled_.resize(classes.size());
}

// A resource used but once only caps that class. What is left in shared_ and edges_ is what classes compete for.
void FairShareSolver::open(std::span<const double> capacities, std::span<const FlowClass> classes) {
  Claim* const claims = claims_.data();
  std::uint32_t edges = 0;
  std::uint32_t shared = 0;
  for (std::uint32_t i = 0; i < classes.size(); ++i) {
    const FlowClass& flow = classes[i];
    const double per_coefficient = flow.members * flow.weight;
    Unsettled& opened = unsettled_[i];
    opened = {flow.cap / flow.weight, 0.0, flow.weight, i, edges, edges};
    for (const Usage& usage : flow.usages) {
      Claim& claim = claims[usage.resource];
      if (claim.usages == 1) {
        opened.cap_level = std::min(opened.cap_level, capacities[usage.resource] / claim.demand);
        claim = {};
        continue;
      }
      if (claim.shared_index == UINT32_MAX) {
        shared_[shared] = {0.0, capacities[usage.resource], claim.demand, usage.resource, true};
        claim.shared_index = shared++;
      }
      edges_[edges++] = {usage.coefficient * per_coefficient, claim.shared_index};
    }
    opened.last_edge = edges;
  }
  shared_.resize(shared);
  for (const Shared& one : shared_) claims[one.resource] = {};
}

// In exact arithmetic levels never fall; rounding must not make them.
void FairShareSolver::raise_levels() {
  for (Shared& shared : shared_) {
    if (shared.demand > 0.0) shared.level = std::max(shared.level, shared.remaining / shared.demand);
    shared.demand = 0.0;
    shared.tightest = true;
  }
}

void FairShareSolver::find_tightest() {
  Shared* const all_shared = shared_.data();
  const Edge* const edges = edges_.data();
  for (Unsettled& flow : unsettled_) {
    double level = flow.cap_level;
    for (std::uint32_t e = flow.first_edge; e != flow.last_edge; ++e) {
      level = std::min(level, all_shared[edges[e].shared_index].level);
    }
    flow.level = level;
    for (std::uint32_t e = flow.first_edge; e != flow.last_edge; ++e) {
      Shared& shared = all_shared[edges[e].shared_index];
      shared.tightest &= shared.level <= level;
    }
  }
}

// Demands are added up afresh from those who go on: taking away what settled would leave the rounding of large demands
// behind in small ones.
void FairShareSolver::settle(std::span<double> rates) {
  Shared* const all_shared = shared_.data();
  const Edge* const edges = edges_.data();
  Unsettled* left = unsettled_.data();
  for (const Unsettled& flow : unsettled_) {
    bool settled = flow.level == flow.cap_level;
    for (std::uint32_t e = flow.first_edge; e != flow.last_edge; ++e) {
      const Shared& shared = all_shared[edges[e].shared_index];
      settled |= shared.tightest & (shared.level == flow.level);
    }
    const double taken = settled ? flow.level : 0.0;
    const double waiting = settled ? 0.0 : 1.0;
    for (std::uint32_t e = flow.first_edge; e != flow.last_edge; ++e) {
      Shared& shared = all_shared[edges[e].shared_index];
      shared.remaining -= edges[e].demand * taken;
      shared.demand += edges[e].demand * waiting;
    }
    rates[flow.index] = flow.weight * flow.level;  // overwritten until it is settled
    *left = flow;
    left += settled ? 0 : 1;
  }
  unsettled_.resize(static_cast<std::size_t>(left - unsettled_.data()));
}

}  // namespace sim
