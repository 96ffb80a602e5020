#include "study/experiment/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/config/config_error.h"
#include "study/report/experiment_charts.h"
#include "study/run/queue_time.h"
#include "study/work/one_stream.h"
#include "study/work/queued.h"

namespace c3sim::study {

namespace {

// A table with more rows is for programs.
constexpr std::size_t most_rows_in_text = 64;
// A chart with more bars is no help.
constexpr std::size_t most_bars = 24;
// Of more, a person sees the first and the last.
constexpr std::size_t most_names_in_text = 6;

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

// What a run is held against.
struct Yardstick {
  std::optional<sim::Time> serial;  // on one stream; none where packets wait there for ever
  bool overlaps = false;            // whether any operations could

  Cell speedup(sim::Time makespan) const {
    if (!overlaps) return NoNumber{"nothing can overlap"};
    if (!serial) return NoNumber{"none on one stream"};
    return sim::to_seconds(*serial) / sim::to_seconds(makespan);
  }
  std::string sentence(sim::Time makespan) const {
    if (!overlaps)
      return "Each operation waits for the one before it, so that nothing can overlap: there is no speedup.";
    if (!serial) return "On one stream packets would wait for ever for later ones: there is no speedup.";
    const std::string uncut = fmt::format(
        "Uncut, one after another on one stream and with collectives by RCCL, the same operations take {:.2f} us",
        sim::to_microseconds(*serial));
    if (*serial < makespan) return uncut + ", which is less: this schedule does not pay.";
    return fmt::format("{}, {:.3f} times as long.", uncut, sim::to_seconds(*serial) / sim::to_seconds(makespan));
  }
};

Yardstick yardstick(Testbed& testbed, const Experiment& experiment, const Schedule& schedule) {
  Yardstick found;
  found.overlaps = !is_chain(schedule);
  try {
    found.serial = testbed.run(on_one_stream(experiment.graph, experiment.wholes)).makespan();
  } catch (const sim::Deadlock&) {
  }
  return found;
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

  // `one`: as the host sees it; `on_queue`: as its queue does.
  void add(const Span& one, const Span& on_queue, std::optional<sim::Time> by_itself) {
    span.start = count == 0 ? one.start : std::min(span.start, one.start);
    span.end = std::max(span.end, one.end);
    ++count;
    time += on_queue.end - on_queue.start;
    all_apart = all_apart && by_itself.has_value();
    alone += by_itself.value_or(sim::Time::zero());
    spans.push_back(on_queue);
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

Cell ratio(sim::Time over, sim::Time under) {
  if (under == sim::Time::zero()) return {};
  return sim::to_seconds(over) / sim::to_seconds(under);
}

ResultTable table_of_operations(const std::vector<Together>& operations) {
  ResultTable table({{"operation", "operation", ""},
                     {"count", "count", ""},
                     {"start_us", "first start", "us"},
                     {"end_us", "last end", "us"},
                     {"time_us", "on queue, sum", "us"},
                     {"alone_us", "alone, sum", "us"},
                     {"slowdown", "slowdown", "", 3}});
  for (const Together& one : operations) {
    table.add_row({one.name, static_cast<std::int64_t>(one.count), sim::to_microseconds(one.span.start),
                   sim::to_microseconds(one.span.end), sim::to_microseconds(one.time),
                   one.all_apart ? sim::to_microseconds(one.alone) : Cell(),
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
    table.add_row({one.name, static_cast<std::int64_t>(one.count), sim::to_microseconds(one.span.start),
                   sim::to_microseconds(one.span.end), sim::to_microseconds(one.busy()), ratio(one.busy(), makespan)});
  }
  return table;
}

ResultTable instance_table() {
  return ResultTable({{"operation", "operation", ""},
                      {"stream", "stream", ""},
                      {"work", "work", ""},
                      {"start_us", "start", "us"},
                      {"end_us", "end", "us"},
                      {"time_us", "on queue", "us"},
                      {"alone_us", "alone", "us"},
                      {"slowdown", "slowdown", "", 3}});
}

ResultTable table_of_overlap(const std::string& name, sim::Time makespan, const Yardstick& yardstick) {
  ResultTable table({{"experiment", "experiment", ""},
                     {"makespan_us", "makespan", "us"},
                     {"serial_us", "uncut on one stream", "us"},
                     {"speedup", "speedup", "", 3}});
  table.add_row({name, sim::to_microseconds(makespan),
                 yardstick.serial ? sim::to_microseconds(*yardstick.serial) : Cell(), yardstick.speedup(makespan)});
  return table;
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

// "l0.down ... l79.down, 80 in all".
std::string in_short(const std::vector<std::string>& names) {
  if (names.size() <= most_names_in_text) return fmt::to_string(fmt::join(names, " "));
  return fmt::format("{} ... {}, {} in all", names.front(), names.back(), names.size());
}

std::vector<Chart> charts_of(const Experiment& experiment, std::span<const Span> spans, int gpus,
                             const std::vector<Together>& operations, sim::Time makespan, const Yardstick& yardstick) {
  std::vector<Chart> charts{stream_chart(experiment.graph, spans, gpus)};
  if (yardstick.overlaps && yardstick.serial) charts.push_back(makespan_chart(makespan, *yardstick.serial));
  if (operations.size() > most_bars) return charts;
  std::vector<TimeBeside> times;
  for (const Together& one : operations) {
    times.push_back({one.name, one.time, one.all_apart ? std::optional(one.alone) : std::nullopt});
  }
  charts.push_back(operation_chart(times));
  return charts;
}

// A kernel that is queued begins before the host knows that the one before it has ended.
std::string word_of_ends(const models::PlatformSpec& platform) {
  return fmt::format(
      "The end of a kernel is when the host knows of it, {:.2f} us after its GPUs were done: what is queued behind it "
      "starts as much earlier.",
      sim::to_microseconds(platform.host.kernel_notice));
}

}  // namespace

Results describe_experiment(const Testbed& testbed, const Experiment& experiment) {
  ResultTable table({{"operation", "operation", ""},
                     {"stream", "stream", ""},
                     {"gpus", "GPUs", ""},
                     {"work", "work", ""},
                     {"cus", "CUs", ""},
                     {"priority", "priority", ""},
                     {"after", "after", "", 2, false},
                     {"after_in_short", "after", "", 2, true, false}});
  const std::vector<GraphNode>& nodes = experiment.graph.nodes();
  for (const GraphNode& node : nodes) {
    const Operation& operation = node.operation;
    std::vector<std::string> after;
    for (const std::size_t earlier : operation.after) after.push_back(nodes[earlier].operation.name);
    table.add_row({operation.name, operation.stream, words_of_gpus(node, testbed.platform().gpus),
                   to_string(operation.work), words_of_mask(operation.mask, testbed.platform()),
                   operation.priority == 0 ? Cell() : Cell(operation.priority > 0 ? "high" : "low"),
                   fmt::to_string(fmt::join(after, " ")), in_short(after)});
  }
  Results results{testbed.platform().name, {{"operations", "", std::move(table)}}, {}, {}};
  results.notes.push_back(fmt::format("{}: {} operations would run; nothing has.", experiment.name, nodes.size()));
  return results;
}

Results run_experiment(Testbed& testbed, const Experiment& experiment) {
  const Schedule schedule = experiment.graph.schedule();
  const Timeline timeline = run(testbed, schedule);
  const std::vector<Span> on_queue = on_queues(schedule, timeline, testbed.platform());
  const std::vector<bool> is_queued = queued(schedule);
  ResultTable instances = instance_table();
  std::vector<Together> operations;
  std::vector<Together> streams;
  bool kernels_wait = false;
  const Between between =
      std::ranges::any_of(schedule, uses_links, &Operation::work) ? Between::communication : Between::nothing;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const Operation& operation = schedule[i];
    const Span& span = timeline.operations[i];
    std::optional<sim::Time> alone;
    if (!waits_for_others(operation.work)) alone = alone_on_queue(testbed, operation, is_queued[i], between);
    const sim::Time time = on_queue[i].end - on_queue[i].start;
    instances.add_row({operation.name, operation.stream, to_string(operation.work), sim::to_microseconds(span.start),
                       sim::to_microseconds(span.end), sim::to_microseconds(time),
                       alone ? sim::to_microseconds(*alone) : Cell(), alone ? ratio(time, *alone) : Cell()});
    named(operations, experiment.graph.nodes()[i].listed).add(span, on_queue[i], alone);
    named(streams, operation.stream).add(span, on_queue[i], alone);
    kernels_wait = kernels_wait || (is_queued[i] && is_kernel(operation.work));
  }
  const sim::Time makespan = timeline.makespan();
  const Yardstick held_against = yardstick(testbed, experiment, schedule);

  Results results{testbed.platform().name, {}, {}, {{experiment.name, schedule}}};
  results.title = experiment.name;
  results.charts = charts_of(experiment, on_queue, testbed.platform().gpus, operations, makespan, held_against);
  results.notes.push_back(held_against.sentence(makespan));
  if (kernels_wait) results.notes.push_back(word_of_ends(testbed.platform()));
  const bool several = operations.size() < schedule.size();
  NamedTable each{"results", "", std::move(instances)};
  each.in_text = !several || schedule.size() <= most_rows_in_text;
  results.tables.push_back(std::move(each));
  results.tables.push_back({"overlap", "Makespan", table_of_overlap(experiment.name, makespan, held_against)});
  if (several)
    results.tables.push_back({"operations", "Operations of the file", table_of_operations(operations), true, {}, true});
  if (streams.size() > 1)
    results.tables.push_back({"streams", "Streams", table_of_streams(streams, makespan), true, {}, true});
  return results;
}

Quantities measure(Testbed& testbed, const Experiment& experiment) {
  const Schedule schedule = experiment.graph.schedule();
  const Timeline timeline = run(testbed, schedule);
  const std::vector<Span> on_queue = on_queues(schedule, timeline, testbed.platform());
  std::vector<Together> operations;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    named(operations, experiment.graph.nodes()[i].listed).add(timeline.operations[i], on_queue[i], {});
  }
  const Yardstick held_against = yardstick(testbed, experiment, schedule);
  const Cell speedup = held_against.speedup(timeline.makespan());
  Quantities quantities{{"makespan_us", sim::to_microseconds(timeline.makespan())}};
  quantities["serial_us"] =
      held_against.serial ? std::optional(sim::to_microseconds(*held_against.serial)) : std::nullopt;
  quantities["speedup"] =
      std::holds_alternative<double>(speedup) ? std::optional(std::get<double>(speedup)) : std::nullopt;
  for (const Together& one : operations) {
    quantities[one.name + ".start_us"] = sim::to_microseconds(one.span.start);
    quantities[one.name + ".end_us"] = sim::to_microseconds(one.span.end);
    quantities[one.name + ".time_us"] = sim::to_microseconds(one.time);
  }
  return quantities;
}

}  // namespace c3sim::study
