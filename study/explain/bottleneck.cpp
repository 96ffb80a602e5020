#include "study/explain/bottleneck.h"

namespace c3sim::study {

std::string_view to_string(const Bottleneck& bottleneck) {
  switch (bottleneck.limit) {
    case sim::RateLimit::Kind::cap:
      return "own rate: CUs, clock or engine set-up";
    case sim::RateLimit::Kind::latency:
      return "latency of its loop, links and memories";
    case sim::RateLimit::Kind::resource:
      return models::to_string(bottleneck.resource);
  }
  return "";
}

Bottleneck bottleneck_of(const sim::ResourceNetwork& network, sim::ResourceNetwork::ActivityId activity) {
  const sim::RateLimit limit = network.limit(activity);
  if (limit.kind != sim::RateLimit::Kind::resource) return {limit.kind};
  return {limit.kind, models::kind_of(network, limit.resource)};
}

std::string bottleneck_words(const sim::ResourceNetwork& network, sim::ResourceNetwork::ActivityId activity) {
  const sim::RateLimit limit = network.limit(activity);
  std::string text(to_string(bottleneck_of(network, activity)));
  if (limit.kind == sim::RateLimit::Kind::resource) text += ' ' + network.name(limit.resource);
  return text;
}

}  // namespace c3sim::study
