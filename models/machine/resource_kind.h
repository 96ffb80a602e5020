// ResourceKind says what a shared resource of the machine is. It is set when the resource is added, so explanations,
// traces and machines without a mechanism ask the resource and need no list of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/platform/interference.h"
#include "sim/config/choice.h"
#include "sim/fair_share.h"
#include "sim/resource_network.h"

namespace c3sim::models {

enum class ResourceKind : std::uint32_t {
  l2,
  l2_bursts,  // loads of many lines at once by matrix kernels, which delay other loads
  xcd_ports,
  infinity_cache,
  hbm,
  link,
  remote_reads,
  host_link,
  engine,
  pulls,
  adders,
  meter,
};

constexpr auto all_names(ResourceKind) {  // for output
  return sim::names("L2", "bursts at the L2", "XCD ports", "Infinity Cache", "HBM", "link",
                    "reads of other GPUs under way", "host link", "engine payload rate", "turns of pulls",
                    "adders near memory", "meter");
}
using sim::to_string;

// Returns the mechanism by which tenants slow each other down there; none if they share the resource on every machine.
constexpr std::optional<Mechanism> mechanism_of(ResourceKind kind) {
  using enum Mechanism;
  constexpr std::array<std::optional<Mechanism>, all_names(ResourceKind{}).size()> by_kind{
      l2, l2, l2, infinity_cache, hbm, link, link, link, std::nullopt, std::nullopt, std::nullopt, std::nullopt};
  return by_kind[static_cast<std::size_t>(kind)];
}

// Returns how tenants divide such a resource: each has its own bandwidth if `without` names the kind's mechanism.
inline sim::ResourceNetwork::Apart apart(ResourceKind kind, Mechanisms without) {
  const std::optional<Mechanism> mechanism = mechanism_of(kind);
  return {.bandwidth = mechanism && without.has(*mechanism)};
}

// Adds a resource; the machine has no other way to do so. `rate` is in units per second, > 0.
inline sim::ResourceId add_resource(sim::ResourceNetwork& network, ResourceKind kind, std::string name, double rate,
                                    const sim::LoadedLatency& latency = {},
                                    const sim::ResourceNetwork::Apart& apart = {}) {
  return network.add_resource({std::move(name), rate, latency, static_cast<std::uint32_t>(kind)}, apart);
}
inline ResourceKind kind_of(const sim::ResourceNetwork& network, sim::ResourceId resource) {
  return static_cast<ResourceKind>(network.kind(resource));
}

// An ActivityTag says which operation asked for an activity of the resource network, and which kind of tenant it is to
// a GPU. It travels with the activity, so that explanations, traces and counterfactual machines need not guess.
struct ActivityTag {
  std::uint32_t operation = 0;  // index in the schedule
  Tenant tenant = Tenant::stream;

  constexpr std::uint32_t packed() const {
    return operation * static_cast<std::uint32_t>(tenant_kinds) + static_cast<std::uint32_t>(tenant);
  }
  static constexpr ActivityTag of(std::uint32_t packed) {
    constexpr auto kinds = static_cast<std::uint32_t>(tenant_kinds);
    return {packed / kinds, static_cast<Tenant>(packed % kinds)};
  }
};

// A UsageList sums what one unit of an activity's progress takes from each shared resource.
class UsageList {
 public:
  UsageList() { usages_.reserve(most_usual); }
  // Adds `amount` (>= 0) units of `resource` per unit of progress.
  void add(std::uint32_t resource, double amount) {
    if (amount <= 0.0) return;
    const auto known = std::find_if(usages_.begin(), usages_.end(),
                                    [resource](const sim::Usage& usage) { return usage.resource == resource; });
    if (known != usages_.end()) {
      known->coefficient += amount;
    } else {
      usages_.push_back({resource, amount});
    }
  }
  std::vector<sim::Usage> take() && { return std::move(usages_); }
  const std::vector<sim::Usage>& usages() const { return usages_; }

 private:
  static constexpr std::size_t most_usual = 10;  // enough for a link and every level of two memories

  std::vector<sim::Usage> usages_;
};

}  // namespace c3sim::models
