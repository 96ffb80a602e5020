#include "study/explain/run_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "models/machine/resource_kind.h"
#include "models/node.h"
#include "models/platform/device.h"
#include "sim/config/choice.h"
#include "sim/overloaded.h"
#include "sim/resource_network.h"
#include "sim/step_log.h"

namespace c3sim::study {

namespace {

// A Stretch is a time for which a link or an engine moved data at one rate.
struct Stretch {
  sim::Time since{0};
  sim::Time until{0};
  sim::BytesPerSecond rate;
  std::string bounded_by;  // what bounded its oldest transfer: "link gpu0.link_to_gpu1"
};
using Traffic = std::map<std::string, std::vector<Stretch>>;  // by name of the resource, in order of time

// A Bottleneck is what holds an activity of a node back: its own rate or latency, or a resource of some kind.
struct Bottleneck {
  sim::RateLimit::Kind limit = sim::RateLimit::Kind::cap;
  models::ResourceKind resource{};  // where the limit is a resource
  auto operator<=>(const Bottleneck&) const = default;
};

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

// Returns what holds a live activity back at its current rate.
Bottleneck bottleneck_of(const sim::ResourceNetwork& network, sim::ResourceNetwork::ActivityId activity) {
  const sim::RateLimit limit = network.limit(activity);
  if (limit.kind != sim::RateLimit::Kind::resource) return {limit.kind};
  return {limit.kind, models::kind_of(network, limit.resource)};
}

// Returns the bottleneck in words, with the name of the resource if it is one: "link gpu0.link_to_gpu1".
std::string bottleneck_words(const sim::ResourceNetwork& network, sim::ResourceNetwork::ActivityId activity) {
  const sim::RateLimit limit = network.limit(activity);
  std::string text(to_string(bottleneck_of(network, activity)));
  if (limit.kind == sim::RateLimit::Kind::resource) text += ' ' + network.name(limit.resource);
  return text;
}

void append(std::vector<Stretch>& stretches, Stretch next) {
  if (!stretches.empty()) {
    Stretch& last = stretches.back();
    if (last.until == next.since && last.rate.value() == next.rate.value() && last.bounded_by == next.bounded_by) {
      last.until = next.until;
      return;
    }
  }
  stretches.push_back(std::move(next));
}

// A TrafficWatch records what links and engines move in each interval of constant rates.
class TrafficWatch {
 public:
  TrafficWatch(models::Node& node, sim::Time origin, Traffic& links, Traffic& engines)
      : network_(node.network()), origin_(origin), links_(links), engines_(engines) {}

  void operator()(sim::Time since, sim::Time until) {
    for (const sim::ResourceId resource : resources_) {
      const models::ResourceKind kind = models::kind_of(network_, resource);
      if (kind == models::ResourceKind::link) note(links_, resource, since, until);
      if (kind == models::ResourceKind::engine) note(engines_, resource, since, until);
    }
  }

 private:
  void note(Traffic& traffic, sim::ResourceId resource, sim::Time since, sim::Time until) {
    const std::vector<sim::ResourceNetwork::Share> shares = network_.shares(resource);
    if (shares.empty()) return;
    append(traffic[network_.name(resource)],
           {std::max(since, origin_), until, sim::BytesPerSecond(network_.load(resource)),
            bottleneck_words(network_, shares.front().activity)});
  }

  const sim::ResourceNetwork& network_;
  std::vector<sim::ResourceId> resources_ = network_.whole_resources();
  sim::Time origin_;
  Traffic& links_;
  Traffic& engines_;
};

// A RunRecord replays one run. Times count from the start of the simulation, and [origin, end] is the timed part.
class RunRecord {
 public:
  RunRecord(const Testbed& testbed, const NamedRun& run, const Attach& attach = {}) {
    const auto watch = [this, &attach](models::Node& node, sim::Time origin) {
      origin_ = origin;
      node.network().add_observer(TrafficWatch(node, origin, links_, engines_));
      if (attach) attach(node, origin);
    };
    timeline_ = testbed.watch(run.schedule, watch, &steps_, run.between);
  }

  sim::Time origin() const { return origin_; }
  sim::Time end() const { return origin_ + timeline_.makespan(); }
  const Timeline& timeline() const { return timeline_; }
  const sim::StepLog& steps() const { return steps_; }
  const Traffic& links() const { return links_; }
  // Returns what bounded, for most of its time, a step that moved data; empty for other steps.
  std::string bounded_by(const sim::StepLog::Step& step) const {
    std::map<std::string, sim::Time> held;
    for (const Traffic* const traffic : {&engines_, &links_}) {
      const auto found = traffic->find(step.track);
      if (found == traffic->end()) continue;
      for (const Stretch& stretch : found->second) {
        const sim::Time overlap = std::min(stretch.until, step.end) - std::max(stretch.since, step.begin);
        if (overlap.count() > 0) held[stretch.bounded_by] += overlap;
      }
    }
    const auto longest = std::ranges::max_element(held, {}, [](const auto& one) { return one.second; });
    return longest == held.end() ? std::string() : longest->first;
  }

 private:
  sim::Time origin_{0};
  sim::StepLog steps_;
  Traffic links_;
  Traffic engines_;
  Timeline timeline_;
};

using Step = sim::StepLog::Step;

// Returns the path of a run from its origin to its end, with holes filled by steps of kind "not recorded".
std::vector<Step> path_of(const RunRecord& record) {
  std::vector<Step> path;
  sim::Time reached = record.origin();
  const auto fill_up_to = [&](sim::Time until) {
    if (until <= reached) return;
    Step hole;
    hole.kind = "not recorded";
    hole.begin = reached;
    hole.end = until;
    path.push_back(hole);
  };
  for (const sim::StepLog::StepId id : record.steps().critical_path(record.origin(), record.end())) {
    Step step = record.steps().step(id);
    fill_up_to(step.begin);
    step.begin = std::max(step.begin, reached);
    reached = step.end;
    path.push_back(std::move(step));
  }
  fill_up_to(record.end());
  return path;
}

struct StepKind {
  std::string kind;
  std::int64_t steps = 0;
  sim::Time time{0};
};

// Sums up the steps of each kind, in order of first appearance.
std::vector<StepKind> kinds_of(const std::vector<Step>& path) {
  std::vector<StepKind> parts;
  for (const Step& step : path) {
    auto part = std::ranges::find(parts, step.kind, &StepKind::kind);
    if (part == parts.end()) part = parts.insert(parts.end(), {step.kind, 0, sim::Time(0)});
    ++part->steps;
    part->time += step.end - step.begin;
  }
  return parts;
}

using models::ActivityTag;
using sim::ResourceNetwork;

// A Worker does the work of an operation, or a part of it.
enum class Worker { gemm, rccl, sdma, elementwise, attention, remote, host, peer_loads };
constexpr auto all_names(Worker) {
  return sim::names("GEMM", "RCCL", "SDMA", "element-wise kernel", "attention", "remote access", "host",
                    "kernel over peer memory");
}

// Kernels and engines may each do a part of a collective, or of what is fused, so the tenant decides.
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

// A Part is what one kind of worker does for one operation, given by its place in the schedule.
using Part = std::pair<Worker, std::size_t>;

struct Held {
  double seconds = 0.0;
  std::map<Part, double> load;  // on the bottleneck, times its duration, by the part that causes it
};

class Watch {
 public:
  Watch(models::Node& node, const Schedule& schedule) : network_(node.network()), schedule_(schedule) {}

  void operator()(sim::Time since, sim::Time until) {
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

  const std::map<std::pair<Part, Bottleneck>, Held>& held() const { return held_; }

 private:
  // Memories maps each activity to the HBMs that it uses.
  using Memories = std::map<ResourceNetwork::ActivityId, std::vector<sim::ResourceId>>;

  Part part_of(std::uint32_t tag) const {
    const ActivityTag whose = ActivityTag::of(tag);
    return {worker_of(schedule_[whose.operation].work, whose.tenant), whose.operation};
  }
  // Returns what holds the activity back together with others: a full resource, or the HBMs whose load makes it wait.
  std::vector<sim::ResourceId> contended(ResourceNetwork::ActivityId activity, const Memories& memories) const {
    const sim::RateLimit limit = network_.limit(activity);
    if (limit.kind == sim::RateLimit::Kind::resource) return {limit.resource};
    const auto found = memories.find(activity);
    const bool waits_for_memory = limit.kind == sim::RateLimit::Kind::latency && found != memories.end();
    return waits_for_memory ? found->second : std::vector<sim::ResourceId>{};
  }

  const ResourceNetwork& network_;
  const Schedule& schedule_;
  std::vector<sim::ResourceId> resources_ = network_.whole_resources();
  std::map<std::pair<Part, Bottleneck>, Held> held_;
};

// Returns the kind of worker, with the operation's name if the schedule has several of that kind.
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

// UtilisationCounters writes the utilisations of a node whenever they have changed.
class UtilisationCounters {
 public:
  UtilisationCounters(models::Node& node, sim::Time origin, sim::PerfettoTrace& sink, sim::PerfettoTrace::Track track)
      : node_(node), origin_(origin), sink_(sink), track_(track) {}

  void operator()(sim::Time since, sim::Time) {
    const sim::Time at = std::max(since, origin_) - origin_;
    for (int gpu = 0; gpu < node_.simulated(); ++gpu) {
      const std::string name = models::device_name(gpu);
      for (const models::Memory::Level& level : node_.gpu(gpu).memory().levels()) {
        const std::string counter = name + " " + std::string(level.spec.name) + " [%]";
        show(counter, at, node_.network().utilisation(level.resource));
      }
      show(name + " busiest link out [%]", at, busiest_link(gpu));
    }
  }

 private:
  double busiest_link(int from) const {
    double busiest = 0.0;
    for (int to = 0; to < node_.gpus(); ++to) {
      if (to != from) busiest = std::max(busiest, node_.network().utilisation(node_.fabric().link(from, to)));
    }
    return busiest;
  }

  void show(const std::string& name, sim::Time at, double utilisation) {
    const auto [shown, is_new] = shown_.emplace(name, utilisation);
    if (!is_new && shown->second == utilisation) return;
    shown->second = utilisation;
    sink_.counter(track_, name, at, 100.0 * utilisation);
  }

  models::Node& node_;
  sim::Time origin_;
  sim::PerfettoTrace& sink_;
  sim::PerfettoTrace::Track track_;
  std::map<std::string, double> shown_;
};

// Tracks has the tracks of one run. A slice that would overlap another goes to a further track of that name.
class Tracks {
 public:
  Tracks(sim::PerfettoTrace& sink, std::string group) : sink_(sink), group_(std::move(group)) {}

  void slice(const std::string& name, std::string_view words, sim::Time begin, sim::Time end) {
    std::vector<Lane>& lanes = lanes_[name];
    auto lane = std::find_if(lanes.begin(), lanes.end(), [begin](const Lane& known) { return known.end <= begin; });
    if (lane == lanes.end()) {
      const std::string numbered = lanes.empty() ? name : fmt::format("{} ({})", name, lanes.size() + 1);
      lane = lanes.insert(lane, {sink_.add_track(group_, numbered), end});
    }
    lane->end = end;
    sink_.slice(lane->track, words, begin, end);
  }

 private:
  struct Lane {
    sim::PerfettoTrace::Track track;
    sim::Time end;
  };
  sim::PerfettoTrace& sink_;
  std::string group_;
  std::map<std::string, std::vector<Lane>> lanes_;
};

// Returns the timed steps, by track, then in order of time.
std::vector<sim::StepLog::Step> timed_steps(const RunRecord& record) {
  std::vector<sim::StepLog::Step> steps;
  for (sim::StepLog::StepId id = 1; id <= record.steps().size(); ++id) {
    sim::StepLog::Step step = record.steps().step(id);
    // Transfers over a link are drawn from its traffic.
    if (step.end < record.origin() || record.links().contains(step.track)) continue;
    step.begin = std::max(step.begin, record.origin());
    steps.push_back(std::move(step));
  }
  std::ranges::stable_sort(steps, {}, [](const auto& step) { return std::tie(step.track, step.begin); });
  return steps;
}

void draw(const RunRecord& record, Tracks& tracks) {
  const sim::Time origin = record.origin();
  for (const sim::StepLog::Step& step : timed_steps(record)) {
    const std::string words = step.subject.empty() ? step.kind : step.kind + ": " + step.subject;
    tracks.slice(step.track, words, step.begin - origin, step.end - origin);
  }
  for (const auto& [link, stretches] : record.links()) {
    for (const Stretch& stretch : stretches) {
      tracks.slice(link, fmt::format("{:.1f} GB/s, bounded by {}", stretch.rate.value() * 1e-9, stretch.bounded_by),
                   stretch.since - origin, stretch.until - origin);
    }
  }
}

}  // namespace

std::vector<NamedTable> critical_paths(const Testbed& testbed, std::span<const NamedRun> runs) {
  ResultTable steps({{"run", "run", ""},
                     {"track", "where", ""},
                     {"step", "step", ""},
                     {"subject", "of", ""},
                     {"start_us", "start", "us", 3},
                     {"time_us", "time", "us", 3},
                     {"bounded_by", "bounded by", ""}});
  ResultTable parts({{"run", "run", ""},
                     {"step", "step", ""},
                     {"steps", "steps", ""},
                     {"time_us", "time", "us", 3},
                     {"percent", "of the run", "%", 1}});
  for (const NamedRun& run : runs) {
    const RunRecord record(testbed, run);
    const std::vector<Step> path = path_of(record);
    for (const Step& step : path) {
      const std::string bound = record.bounded_by(step);
      steps.add_row({run.name, step.track, step.kind, step.subject.empty() ? Cell() : Cell(step.subject),
                     sim::to_microseconds(step.begin - record.origin()), sim::to_microseconds(step.end - step.begin),
                     bound.empty() ? Cell() : Cell(bound)});
    }
    const double makespan = sim::to_seconds(record.timeline().makespan()).value();
    for (const StepKind& part : kinds_of(path)) {
      parts.add_row({run.name, part.kind, part.steps, sim::to_microseconds(part.time),
                     100.0 * sim::to_seconds(part.time).value() / makespan});
    }
  }
  return {{"critical_path", "Critical path, step by step", std::move(steps), runs.size() == 1},
          {"critical_path_parts", "Critical path, by kind of step", std::move(parts)}};
}

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

void trace_runs(Testbed& testbed, std::span<const NamedRun> runs, sim::PerfettoTrace& sink) {
  for (const NamedRun& run : runs) {
    const sim::PerfettoTrace::Track counters = sink.add_track(run.name, "utilisation");
    const RunRecord record(testbed, run, [&](models::Node& node, sim::Time origin) {
      node.network().add_observer(UtilisationCounters(node, origin, sink, counters));
    });
    Tracks tracks(sink, run.name);
    for (std::size_t i = 0; i < run.schedule.size(); ++i) {
      const Operation& operation = run.schedule[i];
      const Span& span = record.timeline().operations[i];
      tracks.slice("stream " + operation.stream, to_string(operation.work), span.start, span.end);
    }
    draw(record, tracks);
  }
}

}  // namespace c3sim::study
