#include "study/explanation.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "models/node.h"
#include "sim/resource_network.h"

namespace study {

namespace {

using sim::ResourceNetwork;

// Kinds of work, told apart by what they use: copies an engine, a collective's kernels links and no engine.
enum class Worker { gemm, rccl, sdma };
constexpr std::array<std::string_view, 3> worker_names{"GEMM", "RCCL", "SDMA"};

enum class Bottleneck { own_rate, latency, l2, infinity_cache, hbm, link, engine, other };
constexpr std::array<std::string_view, 8> bottleneck_names{"own rate: CUs, clock or engine set-up",
                                                           "latency of memory under load",
                                                           "L2",
                                                           "Infinity Cache",
                                                           "HBM",
                                                           "link",
                                                           "engine payload rate",
                                                           "XCD ports or host link"};

constexpr std::size_t index(auto enumerator) { return static_cast<std::size_t>(enumerator); }

struct Held {
  double seconds = 0.0;
  std::array<double, worker_names.size()> load{};  // of the bottleneck, by kind of work, times how long
};

class Watch {
 public:
  explicit Watch(models::Node& node) : node_(node) {
    for (int gpu = 0; gpu < node.simulated(); ++gpu) {
      const models::Memory& memory = node.gpu(gpu).memory();
      add(memory.l2(), Bottleneck::l2, Worker::gemm);
      add(memory.cache(), Bottleneck::infinity_cache, Worker::gemm);
      add(memory.hbm(), Bottleneck::hbm, Worker::gemm);
    }
    for (int from = 0; from < node.simulated(); ++from) {
      for (int to = 0; to < node.gpus(); ++to) {
        if (from != to) add(node.fabric().link(from, to), Bottleneck::link, Worker::rccl);
      }
    }
    for (models::SdmaComplex* const engines : node.copy_engines()) {
      for (int engine = 0; engine < engines->spec().engines; ++engine) {
        add(engines->engine(engine).payload(), Bottleneck::engine, Worker::sdma);
      }
    }
  }

  void operator()(sim::Time since, sim::Time until);

  const std::map<std::pair<Worker, Bottleneck>, Held>& held() const { return held_; }

 private:
  struct Watched {
    Bottleneck bottleneck;
    Worker worker;  // what uses this resource and none of those watched after it
  };

  void add(sim::ResourceId resource, Bottleneck bottleneck, Worker worker) {
    watched_.emplace(resource, Watched{bottleneck, worker});
  }
  // The HBMs that each activity uses.
  using Memories = std::map<ResourceNetwork::ActivityId, std::vector<sim::ResourceId>>;

  Bottleneck bottleneck_of(ResourceNetwork::ActivityId activity) const;
  // What holds the activity back together with others: a full resource, or the HBMs whose load makes it wait.
  std::vector<sim::ResourceId> contended(ResourceNetwork::ActivityId activity, const Memories& memories) const;

  models::Node& node_;
  std::map<sim::ResourceId, Watched> watched_;
  std::map<std::pair<Worker, Bottleneck>, Held> held_;
};

Bottleneck Watch::bottleneck_of(ResourceNetwork::ActivityId activity) const {
  const sim::RateLimit limit = node_.network().limit(activity);
  if (limit.kind == sim::RateLimit::Kind::cap) return Bottleneck::own_rate;
  if (limit.kind == sim::RateLimit::Kind::latency) return Bottleneck::latency;
  const auto found = watched_.find(limit.resource);
  return found == watched_.end() ? Bottleneck::other : found->second.bottleneck;
}

std::vector<sim::ResourceId> Watch::contended(ResourceNetwork::ActivityId activity, const Memories& memories) const {
  const sim::RateLimit limit = node_.network().limit(activity);
  if (limit.kind == sim::RateLimit::Kind::resource) return {limit.resource};
  const auto found = memories.find(activity);
  const bool waits_for_memory = limit.kind == sim::RateLimit::Kind::latency && found != memories.end();
  return waits_for_memory ? found->second : std::vector<sim::ResourceId>{};
}

void Watch::operator()(sim::Time since, sim::Time until) {
  const ResourceNetwork& network = node_.network();
  std::map<ResourceNetwork::ActivityId, Worker> workers;
  Memories memories;
  for (const auto& [resource, watched] : watched_) {
    for (const ResourceNetwork::Share& share : network.shares(resource)) {
      Worker& worker = workers.emplace(share.activity, watched.worker).first->second;
      worker = std::max(worker, watched.worker);
      if (watched.bottleneck == Bottleneck::hbm) memories[share.activity].push_back(resource);
    }
  }
  std::array<double, worker_names.size()> activities{};
  for (const auto& [activity, worker] : workers) activities[index(worker)] += 1.0;

  const double seconds = sim::to_seconds(until - since).value();
  for (const auto& [activity, worker] : workers) {
    const Bottleneck bottleneck = bottleneck_of(activity);
    Held& held = held_[{worker, bottleneck}];
    held.seconds += seconds / activities[index(worker)];
    for (const sim::ResourceId resource : contended(activity, memories)) {
      for (const ResourceNetwork::Share& share : network.shares(resource)) {
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
    row[2] = std::string(bottleneck_names[index(bottleneck)]);
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

}  // namespace study
