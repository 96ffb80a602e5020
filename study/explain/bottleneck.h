// What holds an activity of a node back, in words that people use.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "models/machine/resource_kind.h"
#include "sim/resource_network.h"

namespace c3sim::study {

// Its own rate or latency, or a resource of some kind.
struct Bottleneck {
  sim::RateLimit::Kind limit = sim::RateLimit::Kind::cap;
  models::ResourceKind resource{};  // where the limit is a resource
  auto operator<=>(const Bottleneck&) const = default;
};

std::string_view to_string(const Bottleneck& bottleneck);

// What holds a live activity back at the rates now held, and with the name of the resource, if it is one: "link
// gpu0.link_to_gpu1".
Bottleneck bottleneck_of(const sim::ResourceNetwork& network, sim::ResourceNetwork::ActivityId activity);
std::string bottleneck_words(const sim::ResourceNetwork& network, sim::ResourceNetwork::ActivityId activity);

}  // namespace c3sim::study
