// What holds an activity of a node back, in words that people use.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "models/node.h"
#include "sim/resource_network.h"

namespace c3sim::study {

enum class Bottleneck { own_rate, latency, l2, xcd_port, infinity_cache, hbm, link, remote_reads, host_link, engine };

std::string_view to_string(Bottleneck bottleneck);

// The shared resources of a node whose names mean something to its users: memories, links, copy engines.
class Bottlenecks {
 public:
  explicit Bottlenecks(models::Node& node);

  const std::map<sim::ResourceId, Bottleneck>& resources() const { return resources_; }
  // What holds a live activity back at the rates now held, and with the name of the resource, if it is one: "link
  // gpu0.link_to_gpu1".
  Bottleneck of(sim::ResourceNetwork::ActivityId activity) const;
  std::string words(sim::ResourceNetwork::ActivityId activity) const;

 private:
  const sim::ResourceNetwork& network_;
  std::map<sim::ResourceId, Bottleneck> resources_;
};

}  // namespace c3sim::study
