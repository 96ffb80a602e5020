#include "sim/loaded_fair_share.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace c3sim::sim {
namespace {
// These values were chosen by trial on 70000 parts of random networks, loosely and tightly coupled. Of the choices with
// which all but two searches ended within 100 steps, they need the fewest, 12 to 25 on average.
constexpr double first_step = 0.1;
constexpr double longest_step = 0.5;
constexpr double growth = 1.2;
constexpr double shrinkage = 0.4;
}  // namespace

void FixedPointSearch::start(std::span<const double> x) {
  x_.assign(x.begin(), x.end());
  dimensions_.assign(x.size(), {first_step, 0.0});
}

void FixedPointSearch::step(std::span<const double> image) {
  for (std::size_t i = 0; i < x_.size(); ++i) {
    Dimension& dimension = dimensions_[i];
    const double residual = image[i] - x_[i];
    const double turn = residual * dimension.last_residual;
    if (turn < 0.0) dimension.step *= shrinkage;
    if (turn > 0.0) dimension.step = std::min(longest_step, dimension.step * growth);
    dimension.last_residual = residual;
    x_[i] = std::clamp(x_[i] + std::clamp(residual, -dimension.step, dimension.step), 0.0, 1.0);
  }
}

namespace {
constexpr std::uint32_t known_latency = UINT32_MAX;
constexpr double nearly_full = 0.999;

// Returns the units of a resource that a unit of progress of one member takes.
double asked_of(const FlowClass& flow, ResourceId resource) {
  double asked = 0.0;
  for (const Usage& usage : flow.usages) asked += usage.resource == resource ? usage.coefficient : 0.0;
  return asked;
}
}  // namespace

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
    recall_or_search(graph, part);
  } else {
    solver_.connect(graph.capacities(), flows_);
    solve_once();
  }
  return rates_;
}

void LoadedFairShare::solve_once() {
  solver_.share(flows_, rates_);
  ++effort_.solves;
  effort_.classes += flows_.size();
}

void LoadedFairShare::recall_or_search(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  find_unknowns(graph, part);
  describe(graph, part);
  auto known = std::ranges::find(found_, description_, &Found::description);
  if (known == found_.end()) {
    const bool converged = search_latencies(graph, part);
    if (found_.size() == most_kept) found_.clear();
    if (found_.empty()) found_.reserve(most_kept);
    found_.push_back({description_, rates_, {}, {search_.point().begin(), search_.point().end()}, converged});
    known = std::prev(found_.end());
    known->caps.reserve(flows_.size());
    for (const FlowClass& flow : flows_) known->caps.push_back(flow.cap);
  } else {
    ++effort_.recalled;
  }
  const Found& found = *known;
  rates_ = found.rates;
  effort_.unconverged += found.converged ? 0 : 1;
  for (std::size_t i = 0; i < part.size(); ++i) graph.activity_class(part[i]).cap_in_force = found.caps[i];
  for (std::size_t k = 0; k < unknowns_.size(); ++k) {
    graph.resource(unknowns_[k]).searched_utilisation = found.searched[k];
    unknown_index_[unknowns_[k]] = known_latency;
  }
}

// Describes all that a search depends on and that may change: its starting point, the classes with their demands, and
// the capacities.
void LoadedFairShare::describe(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  description_.clear();
  const auto add = [this](double number) { description_.push_back(std::bit_cast<std::uint64_t>(number)); };
  for (const double utilisation : search_.point()) add(utilisation);  // first, because states differ most often here
  for (std::size_t i = 0; i < part.size(); ++i) {
    const ActivitySpec& spec = graph.activity_class(part[i]).spec;
    description_.push_back(spec.usages.size());
    for (const Usage& usage : spec.usages) {
      description_.push_back(usage.resource);
      add(usage.coefficient);
      add(graph.capacities()[usage.resource]);
    }
    add(flows_[i].cap);
    add(flows_[i].members);
    add(spec.weight);
    add(spec.in_flight);
    description_.push_back(static_cast<std::uint64_t>(spec.fixed_latency.count()));
    description_.push_back(spec.latency_path.size());
    description_.insert(description_.end(), spec.latency_path.begin(), spec.latency_path.end());
  }
}

// Returns false if the search did not converge.
bool LoadedFairShare::search_latencies(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  solver_.connect(graph.capacities(), flows_);
  find_backlog_makers(graph, part);
  constexpr int soon = 20;  // solves after which waits are averaged with the previous ones, lest they alternate
  for (int solves = 1;; ++solves) {
    set_latency_caps(graph, part);
    solve_once();
    measure_utilisations(graph);
    find_latencies(graph, utilisations_);
    const std::vector<Backlog> before = solves > soon ? backlogs_ : std::vector<Backlog>{};
    measure_backlogs(graph, part);
    for (std::size_t k = 0; k < before.size(); ++k) {
      backlogs_[k].seconds = 0.5 * (before[k].seconds + backlogs_[k].seconds);
    }
    if (consistent(graph, part)) return true;
    if (solves == max_solves) return false;
    search_.step(utilisations_);
  }
}

void LoadedFairShare::find_unknowns(ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  unknowns_.clear();
  utilisations_.clear();
  unknown_index_.resize(graph.capacities().size(), known_latency);
  for (const ActivityGraph::ClassId id : part) {
    const ActivityClass& one = graph.activity_class(id);
    if (!one.depends_on_load) continue;
    for (const ResourceId on_path : one.spec.latency_path) {
      const ActivityGraph::Resource& resource = graph.resource(on_path);
      if (!resource.spec.latency.depends_on_load() || unknown_index_[on_path] != known_latency) continue;
      unknown_index_[on_path] = static_cast<std::uint32_t>(unknowns_.size());
      unknowns_.push_back(on_path);
      utilisations_.push_back(resource.searched_utilisation);
    }
  }
  search_.start(utilisations_);
}

void LoadedFairShare::find_latencies(const ActivityGraph& graph, std::span<const double> utilisations) {
  latencies_.clear();
  for (std::size_t k = 0; k < unknowns_.size(); ++k) {
    latencies_.push_back(graph.resource(unknowns_[k]).spec.latency.at(utilisations[k]));
  }
}

double LoadedFairShare::latency_cap(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part,
                                    std::size_t i) const {
  const ActivitySpec& limited = graph.activity_class(part[i]).spec;
  Seconds latency = to_seconds(limited.fixed_latency);
  for (const ResourceId on_path : limited.latency_path) {
    const std::uint32_t unknown = unknown_index_[on_path];
    if (unknown == known_latency) {
      latency += to_seconds(graph.resource(on_path).spec.latency.unloaded);
      continue;
    }
    latency += latencies_[unknown];
    const Backlog& backlog = backlogs_[unknown];
    if (backlog.maker != i) latency += Seconds(backlog.seconds);
  }
  return limited.in_flight / latency.value();
}

void LoadedFairShare::set_latency_caps(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  find_latencies(graph, search_.point());
  for (std::size_t i = 0; i < part.size(); ++i) {
    const ActivityClass& one = graph.activity_class(part[i]);
    if (one.depends_on_load) flows_[i].cap = std::min(one.fixed_cap, latency_cap(graph, part, i));
  }
}

void LoadedFairShare::measure_utilisations(const ActivityGraph& graph) {
  std::fill(utilisations_.begin(), utilisations_.end(), 0.0);
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    for (const Usage& usage : flows_[i].usages) {
      const std::uint32_t unknown = unknown_index_[usage.resource];
      if (unknown != known_latency) utilisations_[unknown] += usage.coefficient * flows_[i].members * rates_[i];
    }
  }
  for (std::size_t k = 0; k < unknowns_.size(); ++k) {
    utilisations_[k] = std::min(1.0, utilisations_[k] / graph.capacities()[unknowns_[k]]);
  }
}

// Finds, for each resource with a backlog, the class with most units in flight there.
void LoadedFairShare::find_backlog_makers(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  backlogs_.assign(unknowns_.size(), {});
  most_under_way_.assign(unknowns_.size(), 0.0);
  for (std::size_t i = 0; i < part.size(); ++i) {
    const ActivityClass& one = graph.activity_class(part[i]);
    if (!one.depends_on_load) continue;
    for (const ResourceId on_path : one.spec.latency_path) {
      const std::uint32_t unknown = unknown_index_[on_path];
      if (unknown == known_latency || !graph.resource(on_path).spec.latency.backlog) continue;
      const double under_way = asked_of(flows_[i], on_path) * flows_[i].members * one.spec.in_flight;
      if (under_way <= most_under_way_[unknown]) continue;
      most_under_way_[unknown] = under_way;
      backlogs_[unknown].maker = i;
    }
  }
}

// Returns whether a resource other than this one holds the class back.
bool LoadedFairShare::full_elsewhere(std::size_t i, ResourceId resource) const {
  if (held_by_cap(i)) return false;
  return std::ranges::any_of(flows_[i].usages, [&](const Usage& usage) {
    if (usage.resource == resource) return false;
    const std::uint32_t unknown = unknown_index_[usage.resource];
    return unknown != known_latency && utilisations_[unknown] >= 1.0 - tolerance;
  });
}

// Returns the wait at which the waiting classes ask for exactly what the others leave.
double LoadedFairShare::backlog_at(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part,
                                   std::size_t unknown) {
  const ResourceId resource = unknowns_[unknown];
  const LoadedLatency& law = graph.resource(resource).spec.latency;
  double left = graph.capacities()[resource] * law.full_at;
  double under_way = 0.0;
  waiting_.clear();
  for (std::size_t i = 0; i < part.size(); ++i) {
    const ActivityClass& one = graph.activity_class(part[i]);
    const double asked = asked_of(flows_[i], resource) * flows_[i].members;
    if (asked <= 0.0) continue;
    const double visits = static_cast<double>(std::ranges::count(one.spec.latency_path, resource));
    if (!one.depends_on_load || visits == 0.0 || full_elsewhere(i, resource)) {
      left -= asked * rates_[i];
      continue;
    }
    const double waits = backlogs_[unknown].maker == i ? 0.0 : visits * backlogs_[unknown].seconds;
    const double latency = one.spec.in_flight / latency_cap(graph, part, i) - waits;
    waiting_.push_back({asked * one.spec.in_flight, latency, visits, asked * one.fixed_cap});
    under_way += waiting_.back().under_way / visits;
  }
  const auto too_much = [&](double wait) {
    double asked = 0.0;
    for (const Waiting& one : waiting_) {
      asked += std::min(one.most, one.under_way / (one.latency + one.visits * wait));
    }
    return asked > left;
  };
  if (waiting_.empty() || left <= 0.0 || !too_much(0.0)) return 0.0;
  double low = 0.0, high = under_way / left;  // `high` would be the wait without other latency
  constexpr int halvings = 50;
  for (int i = 0; i < halvings; ++i) (too_much(0.5 * (low + high)) ? low : high) = 0.5 * (low + high);
  return high;
}

void LoadedFairShare::measure_backlogs(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) {
  for (std::size_t k = 0; k < unknowns_.size(); ++k) {
    if (!graph.resource(unknowns_[k]).spec.latency.backlog) continue;
    const bool none = utilisations_[k] < nearly_full && backlogs_[k].seconds == 0.0;
    backlogs_[k].seconds = none ? 0.0 : backlog_at(graph, part, k);
  }
}

// Returns whether the rates agree with the latency caps that they cause: no rate exceeds its cap, and no cap that holds
// a rate back is too low.
bool LoadedFairShare::consistent(const ActivityGraph& graph, std::span<const ActivityGraph::ClassId> part) const {
  for (std::size_t i = 0; i < part.size(); ++i) {
    const ActivityClass& one = graph.activity_class(part[i]);
    if (!one.depends_on_load) continue;
    const double caused = std::min(one.fixed_cap, latency_cap(graph, part, i));
    if (rates_[i] > caused * (1.0 + tolerance)) return false;
    if (held_by_cap(i) && flows_[i].cap < caused * (1.0 - tolerance)) return false;
  }
  return true;
}

}  // namespace c3sim::sim
