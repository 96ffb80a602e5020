#include "study/explain/critical_path.h"

#include <algorithm>
#include <string>

#include "study/explain/run_record.h"

namespace c3sim::study {

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
