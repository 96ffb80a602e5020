#include "study/explain/run_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/node.h"
#include "models/platform/device.h"
#include "study/explain/run_record.h"

namespace c3sim::study {

namespace {

// Writes the utilisations of a node whenever they have changed.
class UtilisationCounters {
 public:
  UtilisationCounters(models::Node& node, sim::Time origin, sim::TraceSink& sink, sim::TraceSink::Track track)
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
  sim::TraceSink& sink_;
  sim::TraceSink::Track track_;
  std::map<std::string, double> shown_;
};

// The tracks of one run: a slice that begins before the last one of its track has ended goes to the next of that name.
class Tracks {
 public:
  Tracks(sim::TraceSink& sink, std::string group) : sink_(sink), group_(std::move(group)) {}

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
    sim::TraceSink::Track track;
    sim::Time end;
  };
  sim::TraceSink& sink_;
  std::string group_;
  std::map<std::string, std::vector<Lane>> lanes_;
};

// Steps that were timed, by track, then in order of time.
std::vector<sim::StepLog::Step> timed_steps(const RunRecord& record) {
  std::vector<sim::StepLog::Step> steps;
  for (sim::StepLog::StepId id = 1; id <= record.steps().size(); ++id) {
    sim::StepLog::Step step = record.steps().step(id);
    // What goes over a link is drawn from its traffic.
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

void trace_runs(Testbed& testbed, std::span<const NamedRun> runs, sim::TraceSink& sink) {
  for (const NamedRun& run : runs) {
    const sim::TraceSink::Track counters = sink.add_track(run.name, "utilisation");
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
