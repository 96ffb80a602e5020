#include "study/experiment/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "sim/config/config_error.h"
#include "study/ask/answers.h"
#include "study/ask/command.h"
#include "study/play/queue_time.h"
#include "study/play/timeline.h"
#include "study/program/operation.h"
#include "study/program/operation_graph.h"
#include "study/report/experiment_charts.h"
#include "study/report/table_of.h"

namespace c3sim::study {

namespace {

// Text omits a table with more rows.
constexpr std::size_t most_rows_in_text = 64;
// A chart with more bars is no help.
constexpr std::size_t most_bars = 24;
// Of a list with more names, text shows only the first and the last.
constexpr std::size_t most_names_in_text = 6;

// `Ran` is a run, and what it is compared with.
struct Ran {
  Schedule schedule;
  Timeline timeline;
  std::vector<Span> on_queue;  // by place in the schedule
  bool overlaps = false;       // whether any operations could overlap
  sim::Time makespan{0};
  std::optional<sim::Time> serial;  // makespan on one stream; none if packets would wait there forever

  Cell speedup() const {
    if (!overlaps) return NoNumber{"nothing can overlap"};
    if (!serial) return NoNumber{"none on one stream"};
    return sim::to_seconds(*serial) / sim::to_seconds(makespan);
  }
  std::string sentence() const {
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

sim::Time end_of(const Schedule& schedule, const Timeline& timeline, bool by_framework,
                 const models::PlatformSpec& platform) {
  if (!by_framework) return timeline.makespan();
  return std::ranges::max(on_queues(schedule, timeline, platform), {}, &Span::end).end;
}

// Returns the machine that the experiment runs on: one that counts bytes if the file asks for them.
Testbed& machine_for(const Experiment& experiment, Testbed& testbed) {
  return experiment.measures(Measured::bytes) ? testbed.metered() : testbed;
}

Ran run(Testbed& testbed, const Experiment& experiment) {
  Ran ran;
  ran.schedule = experiment.graph.schedule();
  ran.timeline = testbed.run(ran.schedule);
  ran.on_queue = on_queues(ran.schedule, ran.timeline, testbed.platform());
  const bool by_framework = experiment.by_framework;
  ran.makespan = end_of(ran.schedule, ran.timeline, by_framework, testbed.platform());
  ran.overlaps = !is_chain(ran.schedule);
  try {
    const Schedule in_turn = on_one_stream(experiment.graph, experiment.wholes);
    ran.serial = end_of(in_turn, testbed.run(in_turn), by_framework, testbed.platform());
  } catch (const NeverEnds&) {
  }
  return ran;
}

// `Together` sums up operations of the expanded graph: those of one name in the file, or those of one stream.
struct Together {
  std::string name;
  std::size_t count = 0;
  sim::Time start{0};  // of the first to start
  sim::Time end{0};    // of the last to end
  sim::Time time{0};   // sum over all, on their queues
  std::optional<sim::Time> alone{sim::Time(0)};
  BusyTimes busy;  // when any of them was under way

  // `one` is the operation as the host sees it, and `on_queue` as its queue does.
  void add(const Span& one, const Span& on_queue, std::optional<sim::Time> by_itself) {
    start = count++ == 0 ? one.start : std::min(start, one.start);
    end = std::max(end, one.end);
    time += on_queue.end - on_queue.start;
    alone = alone && by_itself ? std::optional(*alone + *by_itself) : std::nullopt;
    add_busy(busy, on_queue.start, on_queue.end);
  }
};

Together& named(std::vector<Together>& all, const std::string& name) {
  const auto known = std::ranges::find(all, name, &Together::name);
  if (known != all.end()) return *known;
  all.emplace_back().name = name;
  return all.back();
}

// Returns nothing if `under` is missing or zero.
std::optional<double> ratio(sim::Time over, std::optional<sim::Time> under) {
  if (!under || under == sim::Time::zero()) return {};
  return sim::to_seconds(over) / sim::to_seconds(*under);
}

ResultTable table_of_operations(const std::vector<Together>& operations) {
  return table_of<Together>(
      operations, {{{"operation", "operation", ""}, &Together::name},
                   {{"count", "count", ""}, &Together::count},
                   {{"start_us", "first start", "us"}, &Together::start},
                   {{"end_us", "last end", "us"}, &Together::end},
                   {{"time_us", "on queue, sum", "us"}, &Together::time},
                   {{"alone_us", "alone, sum", "us"}, &Together::alone},
                   {{"slowdown", "slowdown", "", 3}, [](const Together& one) { return ratio(one.time, one.alone); }}});
}

ResultTable table_of_streams(const std::vector<Together>& streams, sim::Time makespan) {
  const auto busy = [](const Together& one) { return length_of(one.busy); };
  return table_of<Together>(streams, {{{"stream", "stream", ""}, &Together::name},
                                      {{"operations", "operations", ""}, &Together::count},
                                      {{"start_us", "first start", "us"}, &Together::start},
                                      {{"end_us", "last end", "us"}, &Together::end},
                                      {{"busy_us", "busy", "us"}, busy},
                                      {{"busy_share", "of makespan", "", 3},
                                       [=](const Together& one) { return ratio(busy(one), makespan); }}});
}

// Adds what GPU 0 moves, by level, to a table of one row.
ResultTable with_bytes(ResultTable table, const Timeline& timeline) {
  constexpr double mega = 1e6;
  const models::MovedBytes& moved = timeline.moved.value();
  table.add_column({"l2_MB", "L2", "MB"}, {moved.l2 / mega});
  table.add_column({"hbm_read_MB", "HBM, read", "MB"}, {moved.hbm_reads / mega});
  table.add_column({"hbm_written_MB", "HBM, written", "MB"}, {moved.hbm_writes / mega});
  table.add_column({"updated_MB", "added near memory", "MB"}, {moved.updates / mega});
  table.add_column({"links_MB", "links", "MB"}, {moved.links / mega});
  return table;
}

// Returns the times alone, on their queues, of the operations that are asked for by their places; `is_queued` is
// queued() of the schedule. Packets have none, as they wait for others.
template <class IsAsked>
std::vector<std::optional<sim::Time>> times_alone(Testbed& testbed, const Schedule& schedule,
                                                  const std::vector<bool>& is_queued, const IsAsked& is_asked) {
  const Between between =
      std::ranges::any_of(schedule, uses_links, &Operation::work) ? Between::communication : Between::nothing;
  std::vector<std::optional<sim::Time>> times;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    std::optional<sim::Time>& time = times.emplace_back();
    if (!is_asked(i) || waits_for_others(schedule[i].work)) continue;
    time = alone_on_queue(testbed, schedule[i], is_queued[i], between);
  }
  return times;
}

// Returns all names, or, if there are many, "l0.down ... l79.down, 80 in all".
std::string named_or_counted(const std::vector<std::string>& names) {
  if (names.size() <= most_names_in_text) return fmt::to_string(fmt::join(names, " "));
  return fmt::format("{} ... {}, {} in all", names.front(), names.back(), names.size());
}

std::vector<Chart> charts_of(const Experiment& experiment, const Ran& ran, int gpus,
                             const std::vector<Together>& operations) {
  std::vector<Chart> charts{stream_chart(experiment.graph, ran.on_queue, gpus)};
  if (ran.overlaps && ran.serial) charts.emplace_back(makespan_chart(ran.makespan, *ran.serial));
  if (operations.size() > most_bars) return charts;
  std::vector<TimeBeside> times;
  for (const Together& one : operations) times.push_back({one.name, one.time, one.alone});
  charts.emplace_back(operation_chart(times));
  return charts;
}

// Returns what would run, without running it: one row per operation of the expanded graph.
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
    const int xcds = testbed.platform().gpu.memory.xcds;
    const bool is_masked = operation.mask != models::CuMask{};
    const std::string cus =
        is_masked ? fmt::format("{} to {}", operation.mask.begin * xcds, operation.mask.end * xcds) : "";
    const bool on_all = node.gpus.size() == static_cast<std::size_t>(testbed.platform().gpus);
    table.add_row({operation.name, operation.stream, on_all ? "all" : fmt::to_string(fmt::join(node.gpus, " ")),
                   to_string(operation.work), cus,
                   operation.priority == 0 ? Cell() : Cell(operation.priority > 0 ? "high" : "low"),
                   fmt::to_string(fmt::join(after, " ")), named_or_counted(after)});
  }
  Results results{testbed.platform().name, {{"operations", "", std::move(table)}}, {}, {}};
  results.notes.push_back(fmt::format("{}: {} operations would run; nothing has.", experiment.name, nodes.size()));
  return results;
}

}  // namespace

Results run_experiment(Testbed& asked, const Experiment& experiment) {
  Testbed& testbed = machine_for(experiment, asked);
  const Ran ran = run(testbed, experiment);
  const std::vector<bool> is_queued = queued(ran.schedule);
  const std::vector<std::optional<sim::Time>> alone =
      times_alone(testbed, ran.schedule, is_queued, [](std::size_t) { return true; });
  ResultTable instances({{"operation", "operation", ""},
                         {"stream", "stream", ""},
                         {"work", "work", ""},
                         {"start_us", "start", "us"},
                         {"end_us", "end", "us"},
                         {"time_us", "on queue", "us"},
                         {"alone_us", "alone", "us"},
                         {"slowdown", "slowdown", "", 3}});
  std::vector<Together> operations;
  std::vector<Together> streams;
  bool kernels_wait = false;
  for (std::size_t i = 0; i < ran.schedule.size(); ++i) {
    const Operation& operation = ran.schedule[i];
    const Span& span = ran.timeline.operations[i];
    const sim::Time time = ran.on_queue[i].end - ran.on_queue[i].start;
    instances.add_row({operation.name, operation.stream, to_string(operation.work), cell_of(span.start),
                       cell_of(span.end), cell_of(time), cell_of(alone[i]), cell_of(ratio(time, alone[i]))});
    named(operations, experiment.graph.nodes()[i].listed).add(span, ran.on_queue[i], alone[i]);
    named(streams, operation.stream).add(span, ran.on_queue[i], alone[i]);
    kernels_wait = kernels_wait || (is_queued[i] && is_kernel(operation.work));
  }

  Results results{testbed.platform().name, {}, {}, {{experiment.name, ran.schedule}}};
  results.title = experiment.name;
  results.charts = charts_of(experiment, ran, testbed.platform().gpus, operations);
  for (const Operation& operation : ran.schedule) {
    warn_of_channels(results.warnings, operation.work, testbed.platform());
  }
  results.notes.push_back(ran.sentence());
  if (kernels_wait) {
    // A queued kernel begins before the host knows that the one before it has ended.
    results.notes.push_back(
        fmt::format("The end of a kernel is when the host knows of it, {:.2f} us after its GPUs were done: what is "
                    "queued behind it starts as much earlier.",
                    sim::to_microseconds(testbed.platform().host.kernel_notice)));
  }
  const bool several = operations.size() < ran.schedule.size();
  NamedTable each{"results", "", std::move(instances)};
  each.in_text = !several || ran.schedule.size() <= most_rows_in_text;
  results.tables.push_back(std::move(each));
  ResultTable overlap({{"experiment", "experiment", ""},
                       {"makespan_us", "makespan", "us"},
                       {"serial_us", "uncut on one stream", "us"},
                       {"speedup", "speedup", "", 3}});
  overlap.add_row({experiment.name, cell_of(ran.makespan), cell_of(ran.serial), ran.speedup()});
  results.tables.push_back({"overlap", "Makespan", std::move(overlap)});
  if (experiment.measures(Measured::bytes)) {
    ResultTable bytes({});
    bytes.add_row({});
    results.tables.push_back({"bytes", "Bytes that GPU 0 moves, by level", with_bytes(bytes, ran.timeline)});
  }
  if (several)
    results.tables.push_back({"operations", "Operations of the file", table_of_operations(operations), true, {}, true});
  if (streams.size() > 1)
    results.tables.push_back({"streams", "Streams", table_of_streams(streams, ran.makespan), true, {}, true});
  if (&testbed != &asked) std::ranges::move(testbed.warnings(), std::back_inserter(results.warnings));
  return results;
}

Results measured(Testbed& asked, const Experiment& experiment) {
  Testbed& testbed = machine_for(experiment, asked);
  const Ran ran = run(testbed, experiment);
  const bool tells_alone = experiment.measures(Measured::alone);
  std::map<std::string, sim::Time> parts;  // of dependent pairs alone, by column
  for (const DependentPair& pair : experiment.pairs) {
    if (!tells_alone) break;
    parts[pair.listed + ".gemm_us"] += testbed.alone_by_turns(pair.gemm);
    parts[pair.listed + ".collective_us"] += testbed.run(pair.collective).makespan();
  }
  const auto is_pair = [&](const std::string& name) { return parts.contains(name + ".gemm_us"); };
  std::vector<std::optional<sim::Time>> alone(ran.schedule.size());
  if (tells_alone) {
    alone = times_alone(testbed, ran.schedule, queued(ran.schedule),
                        [&](std::size_t place) { return !is_pair(experiment.graph.nodes()[place].listed); });
  }
  std::vector<Together> operations;
  for (std::size_t i = 0; i < ran.schedule.size(); ++i) {
    named(operations, experiment.graph.nodes()[i].listed).add(ran.timeline.operations[i], ran.on_queue[i], alone[i]);
  }
  std::map<std::string, Cell> others{{"serial_us", cell_of(ran.serial)}, {"speedup", ran.speedup()}};
  for (const Together& one : operations) {
    others[one.name + ".start_us"] = cell_of(one.start);
    others[one.name + ".end_us"] = cell_of(one.end);
    others[one.name + ".time_us"] = cell_of(one.time);
    if (tells_alone && !is_pair(one.name)) others[one.name + ".alone_us"] = cell_of(one.alone);
  }
  for (const auto& [name, time] : parts) others[name] = cell_of(time);
  std::vector<Column> columns;
  std::vector<Cell> cells;
  const auto add = [&](const std::string& name, const Cell& cell) {
    const bool is_time = name.ends_with("_us");
    columns.push_back({name, name.substr(0, name.rfind("_us")), is_time ? "us" : "", is_time ? 2 : 3});
    cells.push_back(is_number(cell) ? cell : Cell(NoNumber{"none"}));
  };
  add("makespan_us", cell_of(ran.makespan));
  for (const auto& [name, cell] : others) add(name, cell);
  ResultTable table(std::move(columns));
  table.add_row(std::move(cells));
  if (experiment.measures(Measured::bytes)) table = with_bytes(std::move(table), ran.timeline);
  return {testbed.platform().name, {{"results", "", std::move(table)}}, testbed.warnings(), {}};
}

namespace {

constexpr auto run_examples = R"(Examples:
  c3sim run configs/experiments/tensor_parallel.yaml --out out/tensor_parallel
  c3sim run configs/experiments/layer_overlap.yaml --platform h200 --format json
  c3sim run configs/experiments/llama_70b_fsdp.yaml --param tokens=16384 --param layers=4
  c3sim run configs/experiments/tensor_parallel.yaml --check
Values of parameters may be expressions: --param 'tokens=$(4 * 4096)'. docs/experiments.md describes the files,
c3sim schema prints what editors check them with.
Operations that may start at the same time are launched in the order of the list, which decides who gets the CUs: list
the collective first to give it room.
The speedup is over the same operations uncut, one after another on one stream, with collectives by RCCL.
With --out, the folder also gets the experiment; its page opens with the streams over time.)";

Results answer_experiment_file(const Request& request, sim::Config& config, Testbed& testbed,
                               const Platform& platform) {
  const sim::Config unread = config;
  const Experiment experiment = read_experiment(config, testbed);
  if (request.says("check")) return describe_experiment(testbed, experiment);
  Results results;
  try {
    results = run_experiment(testbed, experiment);
  } catch (const NeverEnds& error) {
    throw NeverEnds({{config.files().front(), "operations", error.faults().front().what}});
  }
  if (const std::string& asked = request.text("sensitivity"); !asked.empty()) {
    const auto again = [&unread](Testbed& other) {
      sim::Config copy = unread;
      return measured(other, read_experiment(copy, other));
    };
    results.tables.push_back(sensitivity_of(asked, platform, again, request.progress()));
  }
  return results;
}

Results answer_run(Request& request) {
  Arguments arguments;
  const std::filesystem::path named = request.text("file");
  request.reads(named);
  request.check_output_folder(arguments, "--out", request.out_folder(), {"experiment.yaml"});
  arguments.check();
  sim::Config config = experiment_config(named);
  refuse_file_of_another(config, "run");
  for (const std::string& file : config.files()) request.reads(file);
  set_parameters(config, request.texts("param"));
  const ExperimentMachine machine = read_machine(config);
  const Platform platform = request.platform(arguments, machine.platform, machine.beside(), machine.settings);
  arguments.check();
  Testbed testbed(platform.spec);
  Results results = answer_experiment_file(request, config, testbed, platform);
  std::ranges::move(overridden(request.texts("param"), "--param"), std::back_inserter(results.warnings));
  results.files.push_back({"experiment.yaml", config.resolved()});
  return request.finish(testbed, platform, std::move(results));
}

}  // namespace

Command run_command() {
  return {"run", "Run an experiment file: operations on streams", run_examples,
          std::vector<Option>{{"file", "FILE", "Experiment, in YAML", Said::in_place, true}} + run_options() +
              gemm_options() + without_option() + sensitivity_option("makespan_us") +
              std::vector<Option>{
                  {"param", "NAME=VALUE",
                   "Give a parameter of the experiment another value: --param tokens=16384 (may be given again)",
                   Said::again},
                  {"check", "", "Read and resolve the experiment, print what would run, and run nothing", Said::alone}},
          answer_run};
}

}  // namespace c3sim::study
