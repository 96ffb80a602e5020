#include "sim/fair_share.h"

#include <algorithm>
#include <limits>

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
  reserve(capacities, classes);
  add_up_claims(capacities, classes);
  settle_capped(classes.size());
  while (unsettled_count_ > 0) {
    const std::size_t before = unsettled_count_;
    raise_levels();
    find_tightest();
    settle();
    SIM_CHECK(unsettled_count_ < before && "capacities, coefficients, weights and caps are positive numbers");
  }
  for (std::size_t i = 0; i < classes.size(); ++i) rates[i] = classes[i].weight * flows_[i].level;
}

void FairShareSolver::reserve(std::span<const double> capacities, std::span<const FlowClass> classes) {
  std::size_t usages = 0;
  for (const FlowClass& flow : classes) usages += flow.usages.size();
  if (claim_of_.size() < capacities.size()) claim_of_.resize(capacities.size(), nullptr);
  if (edges_.size() < usages) {
    edges_.resize(usages);
    claimed_.resize(usages);
    contested_.resize(usages);
  }
  if (flows_.size() < classes.size()) {
    flows_.resize(classes.size());
    unsettled_.resize(classes.size());
  }
}

void FairShareSolver::add_up_claims(std::span<const double> capacities, std::span<const FlowClass> classes) {
  Claimed** const claim_of = claim_of_.data();
  Claimed* next_claimed = claimed_.data();
  Claimed** next_contested = contested_.data();
  Edge* next_edge = edges_.data();
  Flow* next_flow = flows_.data();
  for (const FlowClass& flow : classes) {
    *next_flow++ = {flow.cap / flow.weight, 0.0, next_edge, flow.usages.size()};
    const double per_coefficient = flow.members * flow.weight;
    for (const Usage& usage : flow.usages) {
      const double demand = usage.coefficient * per_coefficient;
      Claimed* claimed = claim_of[usage.resource];
      if (claimed == nullptr) {
        claim_of[usage.resource] = claimed = next_claimed++;
        *claimed = {0.0, capacities[usage.resource], demand, 1, true};
      } else {
        claimed->demand += demand;
        if (++claimed->usages == 2) *next_contested++ = claimed;
      }
      *next_edge++ = {demand, claimed};
    }
  }
  contested_count_ = static_cast<std::size_t>(next_contested - contested_.data());
  for (Claimed* claimed = claimed_.data(); claimed != next_claimed; ++claimed) {
    claimed->level = claimed->remaining / claimed->demand;
  }
  for (Claimed* claimed : std::span(contested_).first(contested_count_)) claimed->demand = 0.0;
  for (const FlowClass& flow : classes) {
    for (const Usage& usage : flow.usages) claim_of[usage.resource] = nullptr;
  }
}

// A resource used but once only caps its class and is forgotten. Classes that stop at a cap before any of their
// contested resources could fill are settled at once.
void FairShareSolver::settle_capped(std::size_t classes) {
  std::uint32_t* left = unsettled_.data();
  for (std::uint32_t i = 0; i < classes; ++i) {
    Flow& flow = flows_[i];
    double level = std::numeric_limits<double>::infinity();
    Edge* contested = flow.edges;
    for (const Edge& edge : std::span(flow.edges, flow.edge_count)) {
      if (edge.claimed->usages == 1) {
        flow.cap_level = std::min(flow.cap_level, edge.claimed->level);
      } else {
        level = std::min(level, edge.claimed->level);
        *contested++ = edge;
      }
    }
    flow.edge_count = static_cast<std::size_t>(contested - flow.edges);
    flow.level = std::min(level, flow.cap_level);
    const bool settled = flow.cap_level <= level;
    settle_edges(flow, settled);
    *left = i;
    left += settled ? 0 : 1;
  }
  unsettled_count_ = static_cast<std::size_t>(left - unsettled_.data());
}

// In exact arithmetic levels never fall; rounding must not make them.
void FairShareSolver::raise_levels() {
  for (Claimed* claimed : std::span(contested_).first(contested_count_)) {
    if (claimed->demand > 0.0) claimed->level = std::max(claimed->level, claimed->remaining / claimed->demand);
    claimed->demand = 0.0;
    claimed->tightest = true;
  }
}

void FairShareSolver::find_tightest() {
  for (const std::uint32_t i : std::span(unsettled_).first(unsettled_count_)) {
    Flow& flow = flows_[i];
    const std::span<const Edge> edges(flow.edges, flow.edge_count);
    double level = flow.cap_level;
    for (const Edge& edge : edges) level = std::min(level, edge.claimed->level);
    flow.level = level;
    for (const Edge& edge : edges) edge.claimed->tightest &= edge.claimed->level <= level;
  }
}

// A resource that is the tightest for all of its classes is so for this one: they have the same level.
void FairShareSolver::settle() {
  std::uint32_t* left = unsettled_.data();
  for (const std::uint32_t i : std::span(unsettled_).first(unsettled_count_)) {
    const Flow& flow = flows_[i];
    bool settled = flow.level == flow.cap_level;
    for (const Edge& edge : std::span(flow.edges, flow.edge_count)) settled |= edge.claimed->tightest;
    settle_edges(flow, settled);
    *left = i;
    left += settled ? 0 : 1;
  }
  unsettled_count_ = static_cast<std::size_t>(left - unsettled_.data());
}

// Multiplies where a branch would be wrong half of the time. Demands are added up afresh from those who go on: taking
// away what settled would leave the rounding of large demands behind in small ones.
inline void FairShareSolver::settle_edges(const Flow& flow, bool settled) {
  const auto taken = static_cast<double>(settled);
  const double going_on = 1.0 - taken;
  const double level = flow.level * taken;
  for (const Edge& edge : std::span(flow.edges, flow.edge_count)) {
    edge.claimed->remaining -= edge.demand * level;
    edge.claimed->demand += edge.demand * going_on;
  }
}

}  // namespace sim
