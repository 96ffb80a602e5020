#include "study/explain/run_record.h"

#include <algorithm>
#include <utility>

namespace c3sim::study {

namespace {

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

// Notes what links and engines move whenever rates were held for a while.
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

}  // namespace

RunRecord::RunRecord(const Testbed& testbed, const NamedRun& run, const Attach& attach) {
  const auto watch = [this, &attach](models::Node& node, sim::Time origin) {
    origin_ = origin;
    node.network().add_observer(TrafficWatch(node, origin, links_, engines_));
    if (attach) attach(node, origin);
  };
  timeline_ = testbed.watch(run.schedule, watch, &steps_, run.between);
}

std::string RunRecord::bounded_by(const sim::StepLog::Step& step) const {
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

namespace {

using Step = sim::StepLog::Step;

// The path of a run from its origin to its end, without holes.
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

// In order of first appearance.
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

}  // namespace c3sim::study
