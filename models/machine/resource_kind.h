// ResourceKind says what a shared resource of the machine is. It is set when the resource is added, so explanations,
// traces and machines without a mechanism ask the resource and need no list of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/platform/interference.h"
#include "sim/config/choice.h"
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
std::optional<Mechanism> mechanism_of(ResourceKind kind);

// Returns how tenants divide such a resource: each has its own bandwidth if `without` names the kind's mechanism.
sim::ResourceNetwork::Apart apart(ResourceKind kind, Mechanisms without);

// Adds a resource; the machine has no other way to do so. `rate` is in units per second, > 0.
sim::ResourceId add_resource(sim::ResourceNetwork& network, ResourceKind kind, std::string name, double rate,
                             const sim::LoadedLatency& latency = {}, const sim::ResourceNetwork::Apart& apart = {});
ResourceKind kind_of(const sim::ResourceNetwork& network, sim::ResourceId resource);

}  // namespace c3sim::models
