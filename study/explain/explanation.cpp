#include "study/explain/explanation.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "models/node.h"
#include "sim/resource_network.h"
#include "study/explain/bottleneck.h"

namespace c3sim::study {

namespace {

using sim::ResourceNetwork;

// Kinds of work, told apart by what they use: copies an engine, a collective's kernels links and no engine.
enum class Worker { gemm, rccl, sdma };
constexpr std::array<std::string_view, 3> worker_names{"GEMM", "RCCL", "SDMA"};

constexpr std::size_t index(auto enumerator) { return static_cast<std::size_t>(enumerator); }

// What uses a resource of this kind and none of those that others use.
Worker user_of(Bottleneck bottleneck) {
  if (bottleneck == Bottleneck::engine) return Worker::sdma;
  return bottleneck == Bottleneck::link ? Worker::rccl : Worker::gemm;
}

struct Held {
  double seconds = 0.0;
  std::array<double, worker_names.size()> load{};  // of the bottleneck, by kind of work, times how long
};

class Watch {
 public:
  explicit Watch(models::Node& node) : network_(node.network()), bottlenecks_(node) {}

  void operator()(sim::Time since, sim::Time until);

  const std::map<std::pair<Worker, Bottleneck>, Held>& held() const { return held_; }

 private:
  // The HBMs that each activity uses.
  using Memories = std::map<ResourceNetwork::ActivityId, std::vector<sim::ResourceId>>;

  // What holds the activity back together with others: a full resource, or the HBMs whose load makes it wait.
  std::vector<sim::ResourceId> contended(ResourceNetwork::ActivityId activity, const Memories& memories) const;

  const ResourceNetwork& network_;
  Bottlenecks bottlenecks_;
  std::map<std::pair<Worker, Bottleneck>, Held> held_;
};

std::vector<sim::ResourceId> Watch::contended(ResourceNetwork::ActivityId activity, const Memories& memories) const {
  const sim::RateLimit limit = network_.limit(activity);
  if (limit.kind == sim::RateLimit::Kind::resource) return {limit.resource};
  const auto found = memories.find(activity);
  const bool waits_for_memory = limit.kind == sim::RateLimit::Kind::latency && found != memories.end();
  return waits_for_memory ? found->second : std::vector<sim::ResourceId>{};
}

void Watch::operator()(sim::Time since, sim::Time until) {
  std::map<ResourceNetwork::ActivityId, Worker> workers;
  Memories memories;
  for (const auto& [resource, bottleneck] : bottlenecks_.resources()) {
    for (const ResourceNetwork::Share& share : network_.shares(resource)) {
      Worker& worker = workers.emplace(share.activity, Worker::gemm).first->second;
      worker = std::max(worker, user_of(bottleneck));
      if (bottleneck == Bottleneck::hbm) memories[share.activity].push_back(resource);
    }
  }
  std::array<double, worker_names.size()> activities{};
  for (const auto& [activity, worker] : workers) activities[index(worker)] += 1.0;

  const double seconds = sim::to_seconds(until - since).value();
  for (const auto& [activity, worker] : workers) {
    Held& held = held_[{worker, bottlenecks_.of(activity)}];
    held.seconds += seconds / activities[index(worker)];
    for (const sim::ResourceId resource : contended(activity, memories)) {
      for (const ResourceNetwork::Share& share : network_.shares(resource)) {
        const auto sharer = workers.find(share.activity);
        if (sharer != workers.end()) held.load[index(sharer->second)] += share.load * seconds;
      }
    }
  }
}

void add_rows(ResultTable& table, const std::string& run, const Watch& watch) {
  for (const auto& [key, held] : watch.held()) {
    const auto& [worker, bottleneck] = key;
    double all = 0.0;
    std::string others;
    for (std::size_t i = 0; i < held.load.size(); ++i) {
      all += held.load[i];
      if (i == index(worker) || held.load[i] == 0.0) continue;
      others += (others.empty() ? "" : ", ") + std::string(worker_names[i]);
    }
    std::vector<Cell> row(6);
    row[0] = run;
    row[1] = std::string(worker_names[index(worker)]);
    row[2] = std::string(to_string(bottleneck));
    row[3] = held.seconds * 1e6;
    row[4] = others;
    if (all > 0.0) row[5] = 100.0 * (1.0 - held.load[index(worker)] / all);
    table.add_row(std::move(row));
  }
}

}  // namespace

ResultTable explain(Testbed& testbed, std::span<const NamedRun> runs) {
  ResultTable table({{"run", "run", ""},
                     {"work", "work", ""},
                     {"bottleneck", "bottleneck", ""},
                     {"time_us", "time", "us"},
                     {"others", "shared with", ""},
                     {"others_percent", "their part", "%", 0}});
  for (const NamedRun& run : runs) {
    std::optional<Watch> watch;
    testbed.watch(run.schedule, [&watch](models::Node& node, sim::Time) {
      watch.emplace(node);
      node.network().add_observer(std::ref(*watch));
    });
    add_rows(table, run.name, *watch);
  }
  return table;
}

}  // namespace c3sim::study
