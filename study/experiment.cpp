#include "study/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/config/config_error.h"

namespace c3sim::study {

namespace {

// A table with more rows is for programs.
constexpr std::size_t most_rows_in_text = 64;

const Timeline& run(Testbed& testbed, const Schedule& schedule) {
  const bool may_wait_for_ever =
      std::ranges::any_of(schedule, [](const Operation& operation) { return waits_for_others(operation.work); });
  if (!may_wait_for_ever) return testbed.run(schedule);
  try {
    return testbed.run(schedule);
  } catch (const sim::Deadlock& deadlock) {
    throw sim::ConfigError({{"operations", {}, deadlock.what()}});
  }
}

// The same operations one after another, as they are listed, each when the one before it has ended; nothing where they
// cannot be run so, because packets wait for others that are listed later.
std::optional<sim::Time> one_after_another(Testbed& testbed, Schedule schedule) {
  for (std::size_t i = 1; i < schedule.size(); ++i) schedule[i].after = {i - 1};
  try {
    return testbed.run(schedule).makespan();
  } catch (const sim::Deadlock&) {
    return {};
  }
}

// Operations of the expanded graph that are seen as one: of one name in the file, or of one stream.
struct Together {
  std::string name;
  std::size_t count = 0;
  Span span;          // from the first start to the last end
  sim::Time time{0};  // sum of all
  sim::Time alone{0};
  bool all_apart = true;
  std::vector<Span> spans;

  void add(const Span& one, std::optional<sim::Time> by_itself) {
    span.start = count == 0 ? one.start : std::min(span.start, one.start);
    span.end = std::max(span.end, one.end);
    ++count;
    time += one.end - one.start;
    all_apart = all_apart && by_itself.has_value();
    alone += by_itself.value_or(sim::Time::zero());
    spans.push_back(one);
  }
  // How long any of them was under way.
  sim::Time busy() const {
    std::vector<Span> sorted = spans;
    std::ranges::sort(sorted, {}, &Span::start);
    sim::Time total{0};
    sim::Time until{0};
    for (const Span& one : sorted) {
      total += std::max(sim::Time::zero(), one.end - std::max(one.start, until));
      until = std::max(until, one.end);
    }
    return total;
  }
};

Together& named(std::vector<Together>& all, const std::string& name) {
  const auto known = std::ranges::find(all, name, &Together::name);
  if (known != all.end()) return *known;
  all.emplace_back().name = name;
  return all.back();
}

Cell microseconds(sim::Time time) { return sim::to_microseconds(time); }
Cell ratio(sim::Time over, sim::Time under) {
  if (under == sim::Time::zero()) return {};
  return sim::to_seconds(over) / sim::to_seconds(under);
}

ResultTable table_of_operations(const std::vector<Together>& operations) {
  ResultTable table({{"operation", "operation", ""},
                     {"count", "count", ""},
                     {"start_us", "first start", "us"},
                     {"end_us", "last end", "us"},
                     {"time_us", "time, sum", "us"},
                     {"alone_us", "alone, sum", "us"},
                     {"slowdown", "slowdown", "", 3}});
  for (const Together& one : operations) {
    table.add_row({one.name, static_cast<std::int64_t>(one.count), microseconds(one.span.start),
                   microseconds(one.span.end), microseconds(one.time), one.all_apart ? microseconds(one.alone) : Cell(),
                   one.all_apart ? ratio(one.time, one.alone) : Cell()});
  }
  return table;
}

ResultTable table_of_streams(const std::vector<Together>& streams, sim::Time makespan) {
  ResultTable table({{"stream", "stream", ""},
                     {"operations", "operations", ""},
                     {"start_us", "first start", "us"},
                     {"end_us", "last end", "us"},
                     {"busy_us", "busy", "us"},
                     {"busy_share", "of makespan", "", 3}});
  for (const Together& one : streams) {
    table.add_row({one.name, static_cast<std::int64_t>(one.count), microseconds(one.span.start),
                   microseconds(one.span.end), microseconds(one.busy()), ratio(one.busy(), makespan)});
  }
  return table;
}

ResultTable instance_table() {
  return ResultTable({{"operation", "operation", ""},
                      {"stream", "stream", ""},
                      {"work", "work", ""},
                      {"start_us", "start", "us"},
                      {"end_us", "end", "us"},
                      {"time_us", "time", "us"},
                      {"alone_us", "alone", "us"},
                      {"slowdown", "slowdown", "", 3}});
}

ResultTable table_of_overlap(const std::string& name, sim::Time makespan, std::optional<sim::Time> serial) {
  ResultTable table({{"experiment", "experiment", ""},
                     {"makespan_us", "makespan", "us"},
                     {"serial_us", "one after another", "us"},
                     {"speedup", "speedup", "", 3}});
  table.add_row({name, microseconds(makespan), serial ? microseconds(*serial) : Cell(),
                 serial ? ratio(*serial, makespan) : Cell()});
  return table;
}

NamedTable summary(std::string key, std::string title, ResultTable table) {
  NamedTable named{std::move(key), std::move(title), std::move(table)};
  named.sums_up = true;
  return named;
}

std::string words_of_gpus(const GraphNode& node, int all) {
  if (node.gpus.size() == static_cast<std::size_t>(all)) return "all";
  std::string words;
  for (const int gpu : node.gpus) words += (words.empty() ? "" : " ") + std::to_string(gpu);
  return words;
}

std::string words_of_mask(const models::CuMask& mask, const models::PlatformSpec& platform) {
  if (mask == models::CuMask{}) return {};
  const int xcds = platform.gpu.memory.xcds;
  return fmt::format("{} to {}", mask.begin * xcds, mask.end * xcds);
}

}  // namespace

Results describe_experiment(const Testbed& testbed, const Experiment& experiment) {
  ResultTable table({{"operation", "operation", ""},
                     {"stream", "stream", ""},
                     {"gpus", "GPUs", ""},
                     {"work", "work", ""},
                     {"cus", "CUs", ""},
                     {"priority", "priority", ""},
                     {"after", "after", ""}});
  const std::vector<GraphNode>& nodes = experiment.graph.nodes();
  for (const GraphNode& node : nodes) {
    const Operation& operation = node.operation;
    std::string after;
    for (const std::size_t earlier : operation.after)
      after += (after.empty() ? "" : " ") + nodes[earlier].operation.name;
    table.add_row({operation.name, operation.stream, words_of_gpus(node, testbed.platform().gpus),
                   to_string(operation.work), words_of_mask(operation.mask, testbed.platform()),
                   operation.priority == 0 ? Cell() : Cell(operation.priority > 0 ? "high" : "low"), after});
  }
  Results results{testbed.platform().name, {{"operations", "", std::move(table)}}, {}, {}};
  results.notes.push_back(fmt::format("{}: {} operations would run; nothing has.", experiment.name, nodes.size()));
  return results;
}

Results run_experiment(Testbed& testbed, const Experiment& experiment) {
  const Schedule schedule = experiment.graph.schedule();
  const Timeline timeline = run(testbed, schedule);
  ResultTable instances = instance_table();
  std::vector<Together> operations;
  std::vector<Together> streams;
  Together all;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const Operation& operation = schedule[i];
    const Span& span = timeline.operations[i];
    std::optional<sim::Time> alone;
    if (!waits_for_others(operation.work)) alone = testbed.alone(operation.work, operation.mask, operation.gpus);
    const sim::Time time = span.end - span.start;
    instances.add_row({operation.name, operation.stream, to_string(operation.work), microseconds(span.start),
                       microseconds(span.end), microseconds(time), alone ? microseconds(*alone) : Cell(),
                       alone ? ratio(time, *alone) : Cell()});
    named(operations, experiment.graph.nodes()[i].listed).add(span, alone);
    named(streams, operation.stream).add(span, alone);
    all.add(span, alone);
  }
  // What packets wait for is no work of theirs, so that their own time says nothing of how long they take alone.
  const std::optional<sim::Time> serial = all.all_apart ? all.alone : one_after_another(testbed, schedule);
  const sim::Time makespan = timeline.makespan();

  Results results{testbed.platform().name, {}, {}, {{experiment.name, schedule}}};
  const bool several = operations.size() < schedule.size();
  NamedTable each{"results", "", std::move(instances)};
  each.in_text = !several || schedule.size() <= most_rows_in_text;
  results.tables.push_back(std::move(each));
  results.tables.push_back({"overlap", "", table_of_overlap(experiment.name, makespan, serial)});
  if (several)
    results.tables.push_back(summary("operations", "Operations of the file", table_of_operations(operations)));
  if (streams.size() > 1) results.tables.push_back(summary("streams", "Streams", table_of_streams(streams, makespan)));
  return results;
}

Quantities measure(Testbed& testbed, const Experiment& experiment) {
  const Timeline& timeline = run(testbed, experiment.graph.schedule());
  std::vector<Together> operations;
  for (std::size_t i = 0; i < timeline.operations.size(); ++i) {
    named(operations, experiment.graph.nodes()[i].listed).add(timeline.operations[i], {});
  }
  Quantities quantities{{"makespan_us", sim::to_microseconds(timeline.makespan())}};
  for (const Together& one : operations) {
    quantities[one.name + ".start_us"] = sim::to_microseconds(one.span.start);
    quantities[one.name + ".end_us"] = sim::to_microseconds(one.span.end);
    quantities[one.name + ".time_us"] = sim::to_microseconds(one.time);
  }
  return quantities;
}

}  // namespace c3sim::study
