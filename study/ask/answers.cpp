#include "study/ask/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "models/collectives/sdma_collective.h"
#include "sim/check.h"
#include "sim/config/config_text.h"
#include "sim/overloaded.h"
#include "study/c3/c3_results.h"
#include "study/report/table_of.h"

namespace c3sim::study {

namespace {

// Sizes are whole bytes below 2^53.
std::int64_t whole_bytes(sim::Bytes bytes) { return static_cast<std::int64_t>(bytes.value()); }

// Adds columns of mean clock and power if all results have them.
template <class Result>
void show_means(std::vector<Shown<Result>>& shown, const std::vector<Result>& results) {
  const auto means = [](const Result& result) { return std::optional<Means>(result.means); };
  if (!std::ranges::all_of(results, [&](const Result& result) { return means(result).has_value(); })) return;
  shown.push_back({{"clock_MHz", "clock", "MHz", 0}, [=](const Result& r) { return means(r)->clock.value() * 1e-6; }});
  shown.push_back({{"power_W", "power", "W", 0}, [=](const Result& r) { return means(r)->power.value(); }});
}

// Shows how far measurements back each result.
template <class Result>
Shown<Result> shown_fidelity(const models::PlatformSpec& platform) {
  return {{"fidelity", "fidelity", ""}, [&platform](const Result& result) { return fidelity_of(result, platform); }};
}

constexpr double microsecond = 1e-6;

}  // namespace

void add_intervals(ResultTable& table, std::span<const Intervals> intervals, const std::vector<NamedTime>& times) {
  if (intervals.empty()) return;
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::vector<Cell> spans;
    std::vector<Cell> lows;
    std::vector<Cell> highs;
    for (const Intervals& of_result : intervals) {
      const std::optional<Interval>& interval = of_result[i];
      const auto in_us = [&interval](double Interval::*end) {
        return interval ? Cell(*interval.*end / microsecond) : Cell();
      };
      lows.push_back(in_us(&Interval::low));
      highs.push_back(in_us(&Interval::high));
      spans.push_back(
          interval ? Cell(fmt::format("{:.2f} to {:.2f}", interval->low / microsecond, interval->high / microsecond))
                   : Cell(NoNumber{"not known"}));
    }
    table.add_column({times[i].key + "_interval", times[i].heading + ", 90 %", "us", 2, true, false}, std::move(spans));
    table.add_column({times[i].key + "_p5_us", times[i].heading + " p5", "us", 2, false}, std::move(lows));
    table.add_column({times[i].key + "_p95_us", times[i].heading + " p95", "us", 2, false}, std::move(highs));
  }
}

Fidelity fidelity_of(const WorkResult& result, const models::PlatformSpec& platform) {
  return std::visit(
      sim::Overloaded{[&](const models::SdmaCopySpec& copy) { return fidelity_of(copy, platform); },
                      [&](const models::CollectiveSpec& collective) { return fidelity_of(collective, platform); },
                      [&](const models::GemmShape& shape) { return fidelity_of(shape, result.cus, platform); },
                      [](const auto&) { return Fidelity::assumed; }},
      result.work);
}

Fidelity fidelity_of(const C3Result& result, const models::PlatformSpec& platform) {
  const Fidelity parts = weaker(fidelity_of(result.scenario.gemm, platform.gpu.cus(), platform),
                                fidelity_of(collective_of(result.scenario, result.chosen, platform), platform));
  return result.strategy == Strategy::serial ? parts : weaker(parts, Fidelity::extrapolated);
}

namespace {

// Draws a bar per strategy, with the time of both one after the other and the ideal, that of the longer one alone.
BarChart strategy_chart(std::span<const C3Result> results, std::span<const Intervals> intervals) {
  BarChart chart{
      .id = "makespan_us", .title = "Makespan by strategy", .value_axis = "makespan [us]", .series = {"makespan"}};
  for (std::size_t i = 0; i < results.size(); ++i) {
    Bar& bar = chart.bars.emplace_back();
    bar.label = to_string(results[i].strategy);
    bar.values = {sim::to_microseconds(results[i].makespan)};
    if (i < intervals.size() && intervals[i].front()) {
      const Interval& makespan = *intervals[i].front();
      bar.reaches = {Interval{makespan.low / microsecond, makespan.high / microsecond}};
    }
  }
  const C3Result& first = results.front();
  chart.levels = {{"one after the other, by RCCL", sim::to_microseconds(first.isolated_sum())},
                  {"ideal", sim::to_microseconds(std::max(first.isolated_gemm, first.isolated_collective))}};
  return chart;
}

Column for_programs(std::string key) { return {key, key, "", 2, false}; }

// Returns the CUs that a collective's kernels take of each GPU; copy engines take none.
std::int64_t cus_of(const models::CollectiveSpec& spec, const models::PlatformSpec& platform) {
  const auto kernels = models::kernel_part(spec, platform.gpu.sdma);
  if (!kernels) return 0;
  return kernels->cus.value_or(models::channels_of(*kernels, platform));
}

// Returns the number of engines of one GPU that copy in the first step.
std::int64_t engines_of(const models::CollectiveSpec& spec, const models::SdmaSpec& sdma) {
  std::set<int> engines;
  for (const models::EngineProgram& program :
       models::sdma_programs(models::sdma_steps(spec.kind).front(), spec, sdma)) {
    if (program.gpu == 0) engines.insert(program.engine);
  }
  return static_cast<std::int64_t>(engines.size());
}

// Names the run of a collective: "b2b prelaunched 1MiB".
std::string run_name(const models::CollectiveSpec& spec) {
  std::string name;
  if (spec.backend == models::Backend::sdma) name = fmt::format("{} ", models::to_string(spec.variant));
  if (spec.prelaunch) name += "prelaunched ";
  return name + sim::to_string(spec.bytes);
}

Results with_intervals(ResultTable table, const Answer<WorkResult>& answer, const models::PlatformSpec& platform,
                       const std::function<std::string(const WorkResult& result)>& name_of_run) {
  std::vector<NamedRun> runs;
  for (const WorkResult& result : answer.results)
    runs.push_back({name_of_run(result), result.schedule, result.between});
  add_intervals(table, answer.intervals);
  return {platform.name, {{"results", "", std::move(table)}}, answer.warnings, std::move(runs)};
}

std::string name_by_cus(const WorkResult& result) { return fmt::format("{} CUs", result.cus); }

using Worked = const WorkResult&;

const models::CollectiveSpec& collective_of(Worked result) { return std::get<models::CollectiveSpec>(result.work); }
const models::SdmaCopySpec& copy_of(Worked result) { return std::get<models::SdmaCopySpec>(result.work); }
bool is_by_engines(Worked result) { return collective_of(result).backend == models::Backend::sdma; }

}  // namespace

Results to_tables(const Question<C3Trial>&, const Answer<C3Result>& answer, const models::PlatformSpec& platform) {
  std::vector<NamedRun> runs;
  for (const C3Result& result : answer.results)
    runs.push_back({std::string(to_string(result.strategy)), result.schedule});
  std::string title;
  if (!answer.results.empty()) {
    const Scenario& scenario = answer.results.front().scenario;
    title = fmt::format("GEMM {} with {} of {} on {}", models::to_string(scenario.gemm),
                        models::to_string(scenario.collective), sim::to_string(scenario.bytes), platform.name);
  }
  std::vector<Shown<C3Result>> shown = shown_of(answer.results);
  show_means(shown, answer.results);
  shown.push_back({{"energy_J", "energy", "J", 3, false}, [](const C3Result& result) {
                     return (result.means.power * sim::to_seconds(result.makespan)).value();
                   }});
  shown.push_back(shown_fidelity<C3Result>(platform));
  ResultTable table = table_of(answer.results, shown);
  add_intervals(table, answer.intervals,
                {{"makespan", "makespan"}, {"gemm", "GEMM end"}, {"collective", "collective end"}});
  NamedTable results{"results", title, std::move(table)};
  if (answer.results.size() > 1) results.charts.emplace_back(strategy_chart(answer.results, answer.intervals));
  std::vector<std::string> warnings = answer.warnings;
  if (std::string losses = losses_of(answer.results); !losses.empty()) warnings.push_back(std::move(losses));
  return {platform.name, {std::move(results)}, std::move(warnings), std::move(runs)};
}

Results to_tables(const Question<GemmTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform) {
  const models::GemmShape& gemm = question.points.front().shape;
  const auto rate = [&gemm](Worked r) { return (gemm.flops() / sim::to_seconds(r.time)).value() * 1e-12; };
  std::vector<Shown<WorkResult>> shown{{{"gemm", "GEMM", ""}, [&gemm](Worked) { return gemm; }},
                                       {{"cus", "CUs", ""}, &WorkResult::cus},
                                       {{"time_us", "time", "us"}, &WorkResult::time},
                                       {{"tflops", "rate", "TFLOP/s", 1}, rate}};
  show_means(shown, answer.results);
  shown.push_back(shown_fidelity<WorkResult>(platform));
  return with_intervals(table_of(answer.results, shown), answer, platform, name_by_cus);
}

Results to_tables(const Question<CollectiveTrial>&, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform) {
  const auto of_engines = [](auto value) {
    return [value](Worked r) { return is_by_engines(r) ? cell_of(value(collective_of(r))) : Cell(); };
  };
  using Spec = const models::CollectiveSpec&;
  return with_intervals(
      table_of<WorkResult>(
          answer.results,
          {{{"collective", "collective", ""}, [](Worked r) { return collective_of(r).kind; }},
           {{"backend", "backend", ""}, [](Worked r) { return collective_of(r).backend; }},
           {{"variant", "variant", ""}, of_engines([](Spec spec) { return spec.variant; })},
           {{"prelaunch", "prelaunch", ""}, [](Worked r) { return collective_of(r).prelaunch; }},
           {{"cus", "CUs", ""}, [&](Worked r) { return cus_of(collective_of(r), platform); }},
           {{"bytes", "size", "B"}, [](Worked r) { return whole_bytes(collective_of(r).bytes); }},
           {{"time_us", "time", "us"}, &WorkResult::time},
           {{"busbw_GBps", "bus bandwidth", "GB/s"},
            [](Worked r) { return models::bus_bandwidth(collective_of(r), r.time).value() * 1e-9; }},
           {for_programs("gpus"), [](Worked r) { return collective_of(r).gpus; }},
           {for_programs("engines"), of_engines([&](Spec spec) { return engines_of(spec, platform.gpu.sdma); })},
           {for_programs("host_threads"),
            of_engines([&](Spec spec) { return spec.host_threads.value_or(platform.host.threads); })},
           {for_programs("graph"), [](Worked r) { return is_by_engines(r) ? Cell() : Cell(collective_of(r).graph); }},
           shown_fidelity<WorkResult>(platform)}),
      answer, platform, [](Worked r) { return run_name(collective_of(r)); });
}

Results to_tables(const Question<CopyTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform) {
  const bool shown = question.points.front().phases;
  const auto rate = [](Worked r) {
    return (copy_of(r).all_bytes() / sim::to_seconds(r.phases->total())).value() * 1e-9;
  };
  return with_intervals(
      table_of<WorkResult>(
          answer.results,
          {{{"from", "from", ""}, [](Worked r) { return device_name(copy_of(r).from); }},
           {{"to", "to", ""}, [](Worked r) { return device_name(copy_of(r).to); }},
           {{"bytes", "size", "B"}, [](Worked r) { return whole_bytes(copy_of(r).bytes); }},
           {{"time_us", "time", "us"}, [](Worked r) { return r.phases.value().total(); }},
           {{"control_us", "control", "us", 2, shown}, [](Worked r) { return r.phases->control; }},
           {{"schedule_us", "schedule", "us", 2, shown}, [](Worked r) { return r.phases->schedule; }},
           {{"copy_us", "copy", "us", 2, shown}, [](Worked r) { return r.phases->copy; }},
           {{"completion_us", "completion", "us", 2, shown}, [](Worked r) { return r.phases->completion; }},
           shown_fidelity<WorkResult>(platform),
           {{"GBps", "rate", "GB/s"}, rate},
           {for_programs("blocks"), [](Worked r) { return copy_of(r).copies; }},
           {for_programs("submit"), [](Worked r) { return copy_of(r).submit; }}}),
      answer, platform, [](Worked r) { return sim::to_string(copy_of(r).bytes); });
}

Results to_tables(const Question<KernelTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform) {
  const sim::Bytes bytes = bytes_of(question.points.front().kernel);
  const auto rate = [bytes](Worked r) { return (bytes / sim::to_seconds(r.time)).value() * 1e-9; };
  std::vector<Shown<WorkResult>> shown{{{"kernel", "kernel", ""}, [](Worked r) { return to_string(r.work); }},
                                       {{"cus", "CUs", ""}, &WorkResult::cus},
                                       {{"bytes", "size", "B"}, [bytes](Worked) { return whole_bytes(bytes); }},
                                       {{"time_us", "time", "us"}, &WorkResult::time},
                                       {{"rate_GBps", "rate", "GB/s", 1}, rate}};
  show_means(shown, answer.results);
  return with_intervals(table_of(answer.results, shown), answer, platform, name_by_cus);
}

Cell cell_of_word(const Value& value, const std::string& text) {
  if (value.said == Said::alone) return text == yes;
  if (text.empty()) return {};
  if (value.form == "COUNT") {
    if (const sim::Parsed<std::int64_t> count = sim::parse_integer(text); count.ok()) return count.value;
  }
  if (value.form == "NUMBER") {
    if (const sim::Parsed<double> number = sim::parse_number(text); number.ok()) return number.value;
  }
  return text;
}

ResultTable with_question(const ResultTable& table, const std::vector<std::vector<AskedWord>>& of_rows,
                          std::string_view behind) {
  SIM_CHECK(of_rows.size() == table.rows().size());
  if (of_rows.empty()) return table;
  const std::vector<Column>& known = table.columns();
  std::vector<std::size_t> words;
  std::vector<Column> columns;
  for (std::size_t w = 0; w < of_rows.front().size(); ++w) {
    const AskedWord& first = of_rows.front()[w];
    if (std::ranges::count(known, first.name, &Column::key) > 0) continue;
    const bool shared = std::ranges::all_of(of_rows, [&](const auto& asked) { return asked[w].text == first.text; });
    words.push_back(w);
    columns.push_back({first.name, first.name, "", 3, shared && first.is_told()});
  }
  const auto found = std::ranges::find(known, behind, &Column::key);
  const std::ptrdiff_t place = found == known.end() ? 0 : found - known.begin() + 1;
  std::vector<Column> all = known;
  all.insert(all.begin() + place, columns.begin(), columns.end());
  ResultTable result(std::move(all));
  for (std::size_t r = 0; r < of_rows.size(); ++r) {
    std::vector<Cell> asked;
    for (const std::size_t w : words) asked.push_back(of_rows[r][w].cell);
    std::vector<Cell> cells = table.rows()[r];
    cells.insert(cells.begin() + place, asked.begin(), asked.end());
    result.add_row(std::move(cells));
  }
  return result;
}

std::string told_in_words(const std::vector<AskedWord>& asked, const std::vector<std::string_view>& known) {
  std::string text;
  for (const AskedWord& word : asked) {
    if (!word.is_told() || std::ranges::count(known, word.name) > 0) continue;
    const bool alone = std::holds_alternative<bool>(word.cell);
    text += (text.empty() ? "" : ", ") + word.name + (alone ? "" : " " + word.text);
  }
  return text;
}

}  // namespace c3sim::study
