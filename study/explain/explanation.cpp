#include "study/explain/explanation.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/machine/activity_tag.h"
#include "models/node.h"
#include "sim/config/choice.h"
#include "sim/overloaded.h"
#include "sim/resource_network.h"
#include "study/explain/run_record.h"

namespace c3sim::study {

namespace {

using models::ActivityTag;
using sim::ResourceNetwork;

// What does the work of an operation, or a part of it.
enum class Worker { gemm, rccl, sdma, elementwise, attention, remote, host, peer_loads };
constexpr auto all_names(Worker) {
  return sim::names("GEMM", "RCCL", "SDMA", "element-wise kernel", "attention", "remote access", "host",
                    "kernel over peer memory");
}

// A collective may be done by kernels and by engines, one after the other, and so may what is fused.
Worker worker_of(const Work& work, models::Tenant tenant) {
  if (tenant == models::Tenant::sdma) return Worker::sdma;
  return std::visit(
      sim::Overloaded{
          [](const models::GemmShape&) { return Worker::gemm; },
          [&](const models::FusedSpec&) { return tenant == models::Tenant::gemm ? Worker::gemm : Worker::remote; },
          [](const models::CollectiveSpec& spec) {
            const bool by_library = spec.backend == models::Backend::rccl || !models::by_kernels(spec.backend);
            return by_library ? Worker::rccl : Worker::peer_loads;
          },
          [](const models::ElementwiseSpec&) { return Worker::elementwise; },
          [](const models::AttentionShape&) { return Worker::attention; },
          [](const models::RemoteKernelSpec&) { return Worker::remote; },
          [&](const auto&) { return kind_of(work).doer == Doer::host ? Worker::host : Worker::sdma; }},
      work);
}

// What one kind of worker does for one operation, by its place in the schedule.
using Part = std::pair<Worker, std::size_t>;

struct Held {
  double seconds = 0.0;
  std::map<Part, double> load;  // of the bottleneck, by whose it is, times how long
};

class Watch {
 public:
  Watch(models::Node& node, const Schedule& schedule) : network_(node.network()), schedule_(schedule) {}

  void operator()(sim::Time since, sim::Time until);

  const std::map<std::pair<Part, Bottleneck>, Held>& held() const { return held_; }

 private:
  // The HBMs that each activity uses.
  using Memories = std::map<ResourceNetwork::ActivityId, std::vector<sim::ResourceId>>;

  Part part_of(std::uint32_t tag) const {
    const ActivityTag whose = ActivityTag::of(tag);
    return {worker_of(schedule_[whose.operation].work, whose.tenant), whose.operation};
  }
  // What holds the activity back together with others: a full resource, or the HBMs whose load makes it wait.
  std::vector<sim::ResourceId> contended(ResourceNetwork::ActivityId activity, const Memories& memories) const;

  const ResourceNetwork& network_;
  const Schedule& schedule_;
  std::vector<sim::ResourceId> resources_ = network_.whole_resources();
  std::map<std::pair<Part, Bottleneck>, Held> held_;
};

std::vector<sim::ResourceId> Watch::contended(ResourceNetwork::ActivityId activity, const Memories& memories) const {
  const sim::RateLimit limit = network_.limit(activity);
  if (limit.kind == sim::RateLimit::Kind::resource) return {limit.resource};
  const auto found = memories.find(activity);
  const bool waits_for_memory = limit.kind == sim::RateLimit::Kind::latency && found != memories.end();
  return waits_for_memory ? found->second : std::vector<sim::ResourceId>{};
}

void Watch::operator()(sim::Time since, sim::Time until) {
  std::map<ResourceNetwork::ActivityId, Part> activities;
  Memories memories;
  for (const sim::ResourceId resource : resources_) {
    const bool is_hbm = models::kind_of(network_, resource) == models::ResourceKind::hbm;
    for (const ResourceNetwork::Share& share : network_.shares(resource)) {
      activities.emplace(share.activity, part_of(share.tag));
      if (is_hbm) memories[share.activity].push_back(resource);
    }
  }
  std::map<Part, double> count;
  for (const auto& [activity, part] : activities) count[part] += 1.0;

  const double seconds = sim::to_seconds(until - since).value();
  for (const auto& [activity, part] : activities) {
    Held& held = held_[{part, bottleneck_of(network_, activity)}];
    held.seconds += seconds / count[part];
    for (const sim::ResourceId resource : contended(activity, memories)) {
      for (const ResourceNetwork::Share& share : network_.shares(resource)) {
        held.load[part_of(share.tag)] += share.load * seconds;
      }
    }
  }
}

// The kind of work, with the operation's name where the schedule has several of that kind.
std::string words(const Part& part, const Schedule& schedule, const std::set<Part>& all) {
  const std::string kind(sim::to_string(part.first));
  const auto same = std::ranges::count(all, part.first, &Part::first);
  return same > 1 ? kind + " " + schedule[part.second].name : kind;
}

void add_rows(ResultTable& table, const NamedRun& run, const Watch& watch) {
  std::set<Part> parts;
  for (const auto& [key, held] : watch.held()) parts.insert(key.first);
  for (const auto& [key, held] : watch.held()) {
    const auto& [part, bottleneck] = key;
    double all = 0.0;
    double own = 0.0;
    std::string others;
    for (const auto& [whose, load] : held.load) {
      all += load;
      if (whose == part) own = load;
      if (whose == part || load == 0.0) continue;
      others += (others.empty() ? "" : ", ") + words(whose, run.schedule, parts);
    }
    table.add_row({run.name, words(part, run.schedule, parts), std::string(to_string(bottleneck)), held.seconds * 1e6,
                   others, all > 0.0 ? Cell(100.0 * (1.0 - own / all)) : Cell()});
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
    const auto attach = [&](models::Node& node, sim::Time) {
      watch.emplace(node, run.schedule);
      node.network().add_observer(std::ref(*watch));
    };
    testbed.watch(run.schedule, attach, nullptr, run.between);
    add_rows(table, run, *watch);
  }
  return table;
}

}  // namespace c3sim::study
