// What a shared resource of the machine is. Each is told when it is added, so that explanations, traces and machines
// without a mechanism ask the resource and no list beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/platform/interference.h"
#include "sim/config/choice.h"
#include "sim/resource_network.h"

namespace c3sim::models {

enum class ResourceKind : std::uint32_t {
  l2,
  l2_bursts,  // what kernels ask of the L2s many lines at a time: others wait behind it
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

constexpr auto all_names(ResourceKind) {  // for people
  return sim::names("L2", "bursts at the L2", "XCD ports", "Infinity Cache", "HBM", "link",
                    "reads of other GPUs under way", "host link", "engine payload rate", "turns of pulls",
                    "adders near memory", "meter");
}
using sim::to_string;

// The mechanism by which tenants slow each other down there; none where they do even on a machine without any.
std::optional<Mechanism> mechanism_of(ResourceKind kind);

// Its bandwidth is apart on a machine without its mechanism.
sim::ResourceNetwork::Apart apart(ResourceKind kind, Mechanisms without);

// The one way in which the machine adds a resource. `rate` in units per second, > 0.
sim::ResourceId add_resource(sim::ResourceNetwork& network, ResourceKind kind, std::string name, double rate,
                             const sim::LoadedLatency& latency = {}, const sim::ResourceNetwork::Apart& apart = {});
ResourceKind kind_of(const sim::ResourceNetwork& network, sim::ResourceId resource);

}  // namespace c3sim::models
