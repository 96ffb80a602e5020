// A network for tests: it records when the activities that are started through it end.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/resource_network.h"

namespace c3sim::sim::testing {

inline ActivitySpec transfer(double amount, std::vector<Usage> usages) {
  ActivitySpec spec{.amount = amount, .usages = std::move(usages)};
  return spec;
}
// A World holds a network of resources r0, r1, … and the end times of the activities started through it.
struct World {
  Simulator simulator;
  ResourceNetwork network{simulator};
  std::map<std::uint64_t, Time> ended;  // The key is the number of the start.
  std::uint64_t starts = 0;
  int resources = 0;

  explicit World(const std::vector<double>& capacities) {
    for (const double capacity : capacities) network.add_resource({"r" + std::to_string(resources++), capacity, {}});
  }
  ResourceNetwork::ActivityId start(const ActivitySpec& spec) {
    return network.start(spec, [this, number = starts++] { ended[number] = simulator.now(); });
  }
  void at(Time time, std::function<void()> action) {
    simulator.schedule(time, [kept = &actions.emplace_back(std::move(action))] { (*kept)(); });
  }
  std::deque<std::function<void()>> actions;
};

}  // namespace c3sim::sim::testing
