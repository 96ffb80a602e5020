#include "study/explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <numeric>
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
#include "study/play/parallel.h"
#include "study/report/table_of.h"

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
  if (bottleneck.limit == sim::RateLimit::Kind::cap) return "own rate: CUs, clock or engine set-up";
  if (bottleneck.limit == sim::RateLimit::Kind::latency) return "latency of its loop, links and memories";
  return models::to_string(bottleneck.resource);
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

// A RunRecord replays one run. Times count from the start of the simulation, and [origin, end] is the timed part.
struct RunRecord {
  RunRecord(const Testbed& testbed, const NamedRun& run, const Attach& attach = {}) {
    const auto watch = [this, &attach](models::Node& node, sim::Time begin) {
      origin = begin;
      const sim::ResourceNetwork& network = node.network();
      // Records what links and engines move in each interval of constant rates.
      node.network().add_observer(
          [this, &network, resources = network.whole_resources()](sim::Time since, sim::Time until) {
            for (const sim::ResourceId resource : resources) {
              const models::ResourceKind kind = models::kind_of(network, resource);
              if (kind != models::ResourceKind::link && kind != models::ResourceKind::engine) continue;
              const std::vector<sim::ResourceNetwork::Share> shares = network.shares(resource);
              if (shares.empty()) continue;
              append((kind == models::ResourceKind::link ? links : engines)[network.name(resource)],
                     {std::max(since, origin), until, sim::BytesPerSecond(network.load(resource)),
                      bottleneck_words(network, shares.front().activity)});
            }
          });
      if (attach) attach(node, begin);
    };
    timeline = testbed.watch(run.schedule, watch, &steps, run.between);
  }

  sim::Time end() const { return origin + timeline.makespan(); }
  // Returns what bounded, for most of its time, a step that moved data; empty for other steps.
  std::string bounded_by(const sim::StepLog::Step& step) const {
    std::map<std::string, sim::Time> held;
    for (const Traffic* const traffic : {&engines, &links}) {
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

  sim::Time origin{0};
  sim::StepLog steps;
  Traffic links;
  Traffic engines;
  Timeline timeline;
};

using Step = sim::StepLog::Step;

// Returns the path of a run from its origin to its end, with holes filled by steps of kind "not recorded".
std::vector<Step> path_of(const RunRecord& record) {
  std::vector<Step> path;
  sim::Time reached = record.origin;
  const auto fill_up_to = [&](sim::Time until) {
    if (until <= reached) return;
    path.push_back({.track = {}, .kind = "not recorded", .subject = {}, .begin = reached, .end = until});
  };
  for (const sim::StepLog::StepId id : record.steps.critical_path(record.origin, record.end())) {
    Step step = record.steps.step(id);
    fill_up_to(step.begin);
    step.begin = std::max(step.begin, reached);
    reached = step.end;
    path.push_back(std::move(step));
  }
  fill_up_to(record.end());
  return path;
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

using HeldParts = std::map<std::pair<Part, Bottleneck>, Held>;

// Replays the run and returns what held each part of its work back.
HeldParts held_parts(const Testbed& testbed, const NamedRun& run) {
  HeldParts all_held;
  const auto part_of = [&run](std::uint32_t tag) {
    const ActivityTag whose = ActivityTag::of(tag);
    return Part{worker_of(run.schedule[whose.operation].work, whose.tenant), whose.operation};
  };
  const auto attach = [&](models::Node& node, sim::Time) {
    const ResourceNetwork& network = node.network();
    node.network().add_observer(
        [&all_held, &network, part_of, resources = network.whole_resources()](sim::Time since, sim::Time until) {
          std::map<ResourceNetwork::ActivityId, Part> activities;
          std::map<ResourceNetwork::ActivityId, std::vector<sim::ResourceId>> memories;  // HBMs that each activity uses
          for (const sim::ResourceId resource : resources) {
            const bool is_hbm = models::kind_of(network, resource) == models::ResourceKind::hbm;
            for (const ResourceNetwork::Share& share : network.shares(resource)) {
              activities.emplace(share.activity, part_of(share.tag));
              if (is_hbm) memories[share.activity].push_back(resource);
            }
          }
          std::map<Part, double> count;
          for (const auto& [activity, part] : activities) count[part] += 1.0;

          const double seconds = sim::to_seconds(until - since).value();
          for (const auto& [activity, part] : activities) {
            Held& held = all_held[{part, bottleneck_of(network, activity)}];
            held.seconds += seconds / count[part];
            // The activity is held back together with others by a full resource, or by the HBMs whose load makes it
            // wait.
            const sim::RateLimit limit = network.limit(activity);
            std::vector<sim::ResourceId> contended;
            if (limit.kind == sim::RateLimit::Kind::resource) contended = {limit.resource};
            if (limit.kind == sim::RateLimit::Kind::latency) contended = memories[activity];
            for (const sim::ResourceId resource : contended) {
              for (const ResourceNetwork::Share& share : network.shares(resource)) {
                held.load[part_of(share.tag)] += share.load * seconds;
              }
            }
          }
        });
  };
  testbed.watch(run.schedule, attach, nullptr, run.between);
  return all_held;
}

// Returns the kind of worker, with the operation's name if the schedule has several of that kind.
std::string words(const Part& part, const Schedule& schedule, const std::set<Part>& all) {
  const std::string kind(sim::to_string(part.first));
  const auto same = std::ranges::count(all, part.first, &Part::first);
  return same > 1 ? kind + " " + schedule[part.second].name : kind;
}

double busiest_link(models::Node& node, int from) {
  double busiest = 0.0;
  for (int to = 0; to < node.gpus(); ++to) {
    if (to != from) busiest = std::max(busiest, node.network().utilisation(node.fabric().link(from, to)));
  }
  return busiest;
}

// Returns an observer that writes the utilisations of a node whenever they have changed.
auto utilisation_counters(models::Node& node, sim::Time origin, sim::PerfettoTrace& sink,
                          sim::PerfettoTrace::Track track) {
  return [&node, origin, &sink, track, shown = std::map<std::string, double>()](sim::Time since, sim::Time) mutable {
    const auto show = [&](const std::string& counter, double utilisation) {
      const auto [last, is_new] = shown.emplace(counter, utilisation);
      if (!is_new && last->second == utilisation) return;
      last->second = utilisation;
      sink.counter(track, counter, std::max(since, origin) - origin, 100.0 * utilisation);
    };
    for (int gpu = 0; gpu < node.simulated(); ++gpu) {
      const std::string name = models::device_name(gpu);
      for (const models::Memory::Level& level : node.gpu(gpu).memory().levels()) {
        show(name + " " + std::string(level.spec.name) + " [%]", node.network().utilisation(level.resource));
      }
      show(name + " busiest link out [%]", busiest_link(node, gpu));
    }
  };
}

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

void draw(const RunRecord& record, Tracks& tracks) {
  const sim::Time origin = record.origin;
  std::vector<Step> steps;  // that are timed, by track, then in order of time
  for (sim::StepLog::StepId id = 1; id <= record.steps.size(); ++id) {
    Step step = record.steps.step(id);
    // Transfers over a link are drawn from its traffic.
    if (step.end < origin || record.links.contains(step.track)) continue;
    step.begin = std::max(step.begin, origin);
    steps.push_back(std::move(step));
  }
  std::ranges::stable_sort(steps, {}, [](const Step& step) { return std::tie(step.track, step.begin); });
  for (const Step& step : steps) {
    const std::string words = step.subject.empty() ? step.kind : step.kind + ": " + step.subject;
    tracks.slice(step.track, words, step.begin - origin, step.end - origin);
  }
  for (const auto& [link, stretches] : record.links) {
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
    std::vector<std::string_view> kinds;  // in the order of their first steps
    for (const Step& step : path) {
      if (std::ranges::count(kinds, step.kind) == 0) kinds.push_back(step.kind);
      const std::string bound = record.bounded_by(step);
      steps.add_row({run.name, step.track, step.kind, step.subject.empty() ? Cell() : Cell(step.subject),
                     sim::to_microseconds(step.begin - record.origin), sim::to_microseconds(step.end - step.begin),
                     bound.empty() ? Cell() : Cell(bound)});
    }
    const double makespan = sim::to_seconds(record.timeline.makespan()).value();
    for (const std::string_view kind : kinds) {
      std::int64_t count = 0;
      sim::Time time{0};
      for (const Step& step : path) {
        if (step.kind != kind) continue;
        ++count;
        time += step.end - step.begin;
      }
      parts.add_row({run.name, std::string(kind), count, sim::to_microseconds(time),
                     100.0 * sim::to_seconds(time).value() / makespan});
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
    const HeldParts all_held = held_parts(testbed, run);
    std::set<Part> parts;
    for (const auto& [key, held] : all_held) parts.insert(key.first);
    for (const auto& [key, held] : all_held) {
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
  return table;
}

void trace_runs(Testbed& testbed, std::span<const NamedRun> runs, sim::PerfettoTrace& sink) {
  for (const NamedRun& run : runs) {
    const sim::PerfettoTrace::Track counters = sink.add_track(run.name, "utilisation");
    const RunRecord record(testbed, run, [&](models::Node& node, sim::Time origin) {
      node.network().add_observer(utilisation_counters(node, origin, sink, counters));
    });
    Tracks tracks(sink, run.name);
    for (std::size_t i = 0; i < run.schedule.size(); ++i) {
      const Operation& operation = run.schedule[i];
      const Span& span = record.timeline.operations[i];
      tracks.slice("stream " + operation.stream, to_string(operation.work), span.start, span.end);
    }
    draw(record, tracks);
  }
}

std::vector<std::span<const models::Mechanism>> left_out_in_turn(std::span<const models::Mechanism> all) {
  std::vector<std::span<const models::Mechanism>> left_out;
  for (std::size_t k = 0; k <= all.size(); ++k) left_out.push_back(all.first(k));
  for (std::size_t k = 1; k < all.size(); ++k) left_out.push_back(all.last(k));
  return left_out;
}

sim::Time Slowdown::rest() const { return std::accumulate(parts.begin(), parts.end(), together - alone, std::minus()); }

double Slowdown::percent(sim::Time part) const { return 100.0 * (sim::to_seconds(part) / sim::to_seconds(alone)); }

std::vector<Slowdown> split_slowdowns(const models::PlatformSpec& platform, std::span<const NamedRun> runs) {
  const auto left_out = left_out_in_turn(models::all_mechanisms);
  std::vector<std::vector<sim::Time>> times(left_out.size());  // by machine, then by operation
  for_each_index(left_out.size(), [&](std::size_t machine) {
    models::PlatformSpec without = platform;
    for (const models::Mechanism mechanism : left_out[machine]) without.without.add(mechanism);
    Testbed testbed(std::move(without));
    for (const NamedRun& run : runs) {
      for (const Span& span : testbed.run(run.schedule, run.between).operations)
        times[machine].push_back(span.end - span.start);
    }
  });

  std::vector<std::vector<sim::Time>> parts = parts_of(times);
  models::PlatformSpec looping = platform;  // rounds wait for each other, a loop does not
  if (platform.host.protocol == models::Protocol::rounds) looping.host.protocol = models::Protocol::steady;
  Testbed in_loop(std::move(looping));
  std::vector<Slowdown> slowdowns;
  std::size_t place = 0;  // of an operation among those of all runs
  for (const NamedRun& run : runs) {
    for (const Operation& operation : run.schedule) {
      const std::size_t index = place++;
      if (waits_for_others(operation.work) || std::holds_alternative<DelaySpec>(operation.work)) continue;
      Slowdown& slowdown = slowdowns.emplace_back();
      slowdown.run = run.name;
      slowdown.operation = operation.name;
      slowdown.alone = in_loop.alone(operation.work, {}, operation.gpus);
      slowdown.together = times[0][index];
      slowdown.parts = std::move(parts[index]);
    }
  }
  return slowdowns;
}

NamedTable slowdown_table(std::span<const Slowdown> slowdowns, const std::string& title) {
  using S = const Slowdown&;
  constexpr std::size_t most_bars = 40;
  std::vector<Shown<Slowdown>> shown{
      {{"run", "run", ""}, &Slowdown::run},
      {{"operation", "operation", ""}, &Slowdown::operation},
      {{"alone_us", "in a loop", "us", 1}, &Slowdown::alone},
      {{"together_us", "together", "us", 1}, &Slowdown::together},
      {{"slowdown_percent", "slowdown", "%", 1}, [](S s) { return s.percent(s.together - s.alone); }}};
  BarChart chart{.id = "slowdown",
                 .title = "Slowdown by mechanism: " + title,
                 .value_axis = "slowdown over the operation in a loop of its own [%]",
                 .layout = BarChart::Layout::stacked,
                 .caption = "Parts below 0 are time gained: who no longer waits may come to meet others."};
  for (std::size_t i = 0; i < models::all_mechanisms.size(); ++i) {
    const std::string name(to_string(models::all_mechanisms[i]));
    chart.series.push_back(name);
    shown.push_back({{name + "_percent", name, "%", 1}, [i](S s) { return s.percent(s.parts[i]); }});
  }
  chart.series.emplace_back("rest");
  shown.push_back({{"rest_percent", "rest", "%", 1}, [](S s) { return s.percent(s.rest()); }});
  for (const Slowdown& slowdown : slowdowns) {
    Bar& bar = chart.bars.emplace_back();
    bar.label = slowdown.run + " " + slowdown.operation;
    for (const sim::Time part : slowdown.parts) bar.values.emplace_back(slowdown.percent(part));
    bar.values.emplace_back(slowdown.percent(slowdown.rest()));
  }
  NamedTable table{"slowdown", "Why operations are slower than in a loop of their own: their slowdown by mechanism",
                   table_of(slowdowns, shown)};
  if (slowdowns.size() <= most_bars) table.charts = {std::move(chart)};
  return table;
}

}  // namespace c3sim::study
