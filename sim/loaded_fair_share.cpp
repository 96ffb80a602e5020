#include "sim/loaded_fair_share.h"

#include <algorithm>

namespace c3sim::sim {

namespace {
constexpr std::uint32_t known = UINT32_MAX;
}

std::span<const double> LoadedFairShare::solve(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  flows_.resize(part.size());
  bool depends_on_load = false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const ActivityClass& one = graph.activity_class(part[i]);
    flows_[i] = {one.spec.usages, one.spec.weight, one.fixed_cap, static_cast<double>(one.clock.members())};
    depends_on_load |= one.depends_on_load;
  }
  rates_.resize(part.size());
  ++effort_.parts;
  if (depends_on_load) {
    search_latencies(graph, part);
  } else {
    solve_once(graph);
  }
  return rates_;
}

void LoadedFairShare::solve_once(const ActivityGraph& graph) {
  solver_.solve(graph.capacities(), flows_, rates_);
  ++effort_.solves;
  effort_.classes += flows_.size();
}

void LoadedFairShare::search_latencies(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  find_unknowns(graph, part);
  for (int solves = 1;; ++solves) {
    set_latency_caps(graph, part);
    solve_once(graph);
    measure_utilisations(graph);
    if (consistent(graph, part)) break;
    if (solves == max_solves) {
      ++effort_.unconverged;
      break;
    }
    search_.step(utilisations_);
  }
  for (std::size_t i = 0; i < part.size(); ++i) graph.activity_class(part[i]).cap_in_force = flows_[i].cap;
  for (std::size_t k = 0; k < unknowns_.size(); ++k) {
    graph.resource(unknowns_[k]).searched_utilisation = search_.point()[k];
    unknown_index_[unknowns_[k]] = known;
  }
}

void LoadedFairShare::find_unknowns(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  unknowns_.clear();
  utilisations_.clear();
  unknown_index_.resize(graph.capacities().size(), known);
  for (const ActivityGraph::ClassId id : part) {
    const ActivityClass& one = graph.activity_class(id);
    if (!one.depends_on_load) continue;
    for (const ResourceId on_path : one.spec.latency_path) {
      const ActivityGraph::Resource& resource = graph.resource(on_path);
      if (!resource.spec.latency.depends_on_load() || unknown_index_[on_path] != known) continue;
      unknown_index_[on_path] = static_cast<std::uint32_t>(unknowns_.size());
      unknowns_.push_back(on_path);
      utilisations_.push_back(resource.searched_utilisation);
    }
  }
  search_.start(utilisations_);
}

double LoadedFairShare::latency_cap(const ActivityGraph& graph, const ActivityClass& limited,
                                    std::span<const double> utilisations) const {
  Seconds latency = to_seconds(limited.spec.fixed_latency);
  for (const ResourceId on_path : limited.spec.latency_path) {
    const std::uint32_t unknown = unknown_index_[on_path];
    latency += graph.resource(on_path).spec.latency.at(unknown == known ? 0.0 : utilisations[unknown]);
  }
  return limited.spec.in_flight / latency.value();
}

void LoadedFairShare::set_latency_caps(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    const ActivityClass& one = graph.activity_class(part[i]);
    if (one.depends_on_load) flows_[i].cap = std::min(one.fixed_cap, latency_cap(graph, one, search_.point()));
  }
}

void LoadedFairShare::measure_utilisations(const ActivityGraph& graph) {
  std::fill(utilisations_.begin(), utilisations_.end(), 0.0);
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    for (const Usage& usage : flows_[i].usages) {
      const std::uint32_t unknown = unknown_index_[usage.resource];
      if (unknown != known) utilisations_[unknown] += usage.coefficient * flows_[i].members * rates_[i];
    }
  }
  for (std::size_t k = 0; k < unknowns_.size(); ++k) {
    utilisations_[k] = std::min(1.0, utilisations_[k] / graph.capacities()[unknowns_[k]]);
  }
}

// The latency caps at the utilisations that the rates cause are those that the rates were found with, or hold nobody
// back.
bool LoadedFairShare::consistent(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) const {
  for (std::size_t i = 0; i < part.size(); ++i) {
    const ActivityClass& one = graph.activity_class(part[i]);
    if (!one.depends_on_load) continue;
    const double caused = std::min(one.fixed_cap, latency_cap(graph, one, utilisations_));
    if (rates_[i] > caused * (1.0 + tolerance)) return false;
    if (held_by_cap(i) && flows_[i].cap < caused * (1.0 - tolerance)) return false;
  }
  return true;
}

}  // namespace c3sim::sim
