#include "study/ask/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "models/collectives/sdma_collective.h"
#include "sim/check.h"
#include "sim/config/config_error.h"
#include "sim/config/config_text.h"
#include "sim/config/nearest_name.h"
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

// Returns times in seconds, in the order of Intervals.
std::vector<double> times_of(const WorkResult& result) { return {sim::to_seconds(result.time).value()}; }
std::vector<double> times_of(const C3Result& result) {
  std::vector<double> times;
  for (const sim::Time time : {result.makespan, result.gemm, result.collective})
    times.push_back(sim::to_seconds(time).value());
  return times;
}

// Returns the results of the same questions on another machine.
std::vector<WorkResult> again(Testbed& testbed, std::vector<WorkResult> results) {
  for (WorkResult& result : results)
    result.time = testbed.run(result.schedule, result.between).time_of_last(result.timed);
  return results;
}
std::vector<C3Result> again(Testbed& testbed, const std::vector<C3Result>& results) {
  std::vector<C3Trial> trials;
  for (const C3Result& result : results) trials.push_back({result.scenario, result.strategy});
  return run_all(testbed, trials);
}

// Returns how a result of the platform itself is compared with measurements.
Unfitted unfitted(const WorkResult& result, const models::PlatformSpec& platform) {
  return fidelity_of(result, platform) == Fidelity::calibrated ? Unfitted::none : Unfitted::alone;
}
Unfitted unfitted(const C3Result&, const models::PlatformSpec&) { return Unfitted::beside; }

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
  return fidelity_of(result.work, platform, result.cus);
}

Fidelity fidelity_of(const C3Result& result, const models::PlatformSpec& platform) {
  const Fidelity parts = weaker(fidelity_of(result.scenario.gemm, platform),
                                fidelity_of(collective_of(result.scenario, result.chosen, platform), platform));
  return result.strategy == Strategy::serial ? parts : weaker(parts, Fidelity::extrapolated);
}

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
  std::vector<Shown<WorkResult>> shown{
      {{"gemm_in_words", "GEMM", "", 2, true, false}, [&gemm](Worked) { return gemm; }},
      {for_programs("gemm"), [&gemm](Worked) { return models::extents_of(gemm); }},
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
  shown.push_back(shown_fidelity<WorkResult>(platform));
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

ResultTable with_question(ResultTable table, const std::vector<std::vector<AskedWord>>& of_rows,
                          std::string_view behind) {
  SIM_CHECK(of_rows.size() == table.rows().size());
  const auto found = std::ranges::find(table.columns(), behind, &Column::key);
  std::ptrdiff_t place = found == table.columns().end() ? 0 : found - table.columns().begin() + 1;
  for (std::size_t w = 0; !of_rows.empty() && w < of_rows.front().size(); ++w) {
    const AskedWord& first = of_rows.front()[w];
    // A column of a group has a key of its own in programs' tables: by_kind.optimizer is not the word optimizer.
    const auto has_it = [&](const Column& column) { return column.key == first.name && column.group.empty(); };
    if (std::ranges::any_of(table.columns(), has_it)) continue;
    const bool shared = std::ranges::all_of(of_rows, [&](const auto& asked) { return asked[w].text == first.text; });
    std::vector<Cell> cells;
    for (const std::vector<AskedWord>& asked : of_rows) cells.push_back(asked[w].cell);
    table.add_column({first.name, first.name, "", 3, shared && first.is_told()}, std::move(cells), place++);
  }
  return table;
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

template <class Result>
void add_intervals(Answer<Result>& answer, const Ensemble& ensemble, const models::PlatformSpec& platform,
                   const Progress& progress, int jobs) {
  const auto ask = [&answer](Testbed& testbed) {
    std::vector<std::vector<double>> times;
    for (const Result& result : again(testbed, answer.results)) times.push_back(times_of(result));
    return times;
  };
  const auto drawn = ensemble.ask_each(ask, jobs, progress);  // by draw, then by result
  for (std::size_t result = 0; result < answer.results.size(); ++result) {
    Intervals& intervals = answer.intervals.emplace_back();
    const std::vector<double> own = times_of(answer.results[result]);
    const double error = ensemble.error_of(unfitted(answer.results[result], platform));
    for (std::size_t figure = 0; figure < own.size(); ++figure) {
      std::vector<double> values;
      for (const std::vector<std::vector<double>>& times : drawn) values.push_back(times[result][figure]);
      intervals.push_back(at_least(interval_of(std::move(values)), own[figure], error));
    }
  }
  for (std::string& warning : ensemble.warnings()) answer.warnings.push_back(std::move(warning));
}

template void add_intervals(Answer<WorkResult>&, const Ensemble&, const models::PlatformSpec&, const Progress&, int);
template void add_intervals(Answer<C3Result>&, const Ensemble&, const models::PlatformSpec&, const Progress&, int);

namespace {

using Values = std::vector<double>;

// A Quantity is a column of numbers in one table of an answer.
struct Quantity {
  std::string table;
  Column column{};
  std::vector<std::string> names{};  // of the values, by what tells their rows apart

  // A fraction changes by points, and any other quantity by a share of itself.
  bool is_fraction() const { return column.key.find("fraction") != std::string::npos; }
  double change(double from, double to) const {
    const double points = (column.unit == "%" ? 1.0 : 100.0) * (to - from);
    return is_fraction() || from == 0.0 ? points : 100.0 * (to - from) / std::abs(from);
  }
  // What serial execution gains or loses of the ideal is not due to overlap.
  bool is_shown(const std::vector<Cell>& row) const {
    return !is_fraction() || std::ranges::count(row, Cell(std::string(to_string(Strategy::serial)))) == 0;
  }

  // Throws sim::ConfigError for an answer that lacks some of the values.
  Values of(const Results& answer) const {
    const NamedTable& named = *answer.table(table);
    const std::size_t place = place_of(named.table.columns(), column.key);
    Values values;
    for (const std::vector<Cell>& row : named.table.rows()) {
      const std::optional<double> value = place < row.size() ? number_of(row[place]) : std::nullopt;
      if (value && is_shown(row)) values.push_back(*value);
    }
    if (values.size() == names.size()) return values;
    throw sim::ConfigError({{"--sensitivity", "", fmt::format("not all rows of the answer have '{}'", column.key)}});
  }
};

// Finds the first table with such a column, and names its rows by the columns before the first one that was measured.
Quantity quantity_of(const Results& answer, const std::string& key) {
  std::vector<std::string> known;
  for (const NamedTable& named : answer.tables) {
    const std::vector<std::vector<Cell>>& rows = named.table.rows();
    for (std::size_t place = 0; place < named.table.columns().size(); ++place) {
      if (!std::ranges::all_of(rows, [place](const auto& row) { return is_number(row[place]); })) continue;
      Quantity quantity{named.key, named.table.columns()[place]};
      known.push_back(quantity.column.key);
      if (quantity.column.key != key) continue;
      for (const std::vector<Cell>& row : rows) {
        if (!quantity.is_shown(row)) continue;
        std::string& name = quantity.names.emplace_back();
        for (std::size_t c = 0; c < row.size() && !std::holds_alternative<double>(row[c]); ++c) {
          const bool is_same = std::ranges::all_of(rows, [&](const auto& other) { return other[c] == row[c]; });
          if (const std::string text = word_of(row[c]); !text.empty() && !is_same)
            name += (name.empty() ? "" : "_") + text;
        }
        if (name.empty()) name = key;
      }
      return quantity;
    }
  }
  throw sim::ConfigError(
      {{"--sensitivity", "",
        fmt::format("the answer has no number '{}' in all its rows{}", key, sim::name_hint(key, known))}});
}

// Excludes parameters that describe errors of predictions, as the machine does not have them.
bool is_uncertain(const sim::Parameter& parameter) {
  constexpr std::array<std::string_view, 4> of_errors{"fitted_to[", "correlations[", "concurrent_spread.",
                                                      "unfitted_errors."};
  const auto begins = [&parameter](std::string_view prefix) { return parameter.path.starts_with(prefix); };
  if (std::ranges::any_of(of_errors, begins)) return false;
  const bool may_differ = parameter.kind == "assumed" || parameter.kind == "fitted" || parameter.kind == "probed";
  return may_differ && !parameter.low.empty();
}

// A Varied is a parameter and the changes, in points or percent, at both ends of its range; they are absent where other
// parameters rule that end out, or where the machine cannot do there what is asked.
struct Varied {
  const sim::Parameter* parameter;
  std::optional<Values> low, high;
  double swing = 0.0;  // the largest range of a value
};

}  // namespace

NamedTable sensitivity_of(const std::string& key, const Platform& platform, const Again& ask,
                          const Progress& progress) {
  Testbed own(platform.spec);
  const Results answer = ask(own);
  const Quantity quantity = quantity_of(answer, key);
  const Values base = quantity.of(answer);
  std::vector<Varied> all;
  for (const sim::Parameter& parameter : platform.parameters) {
    if (is_uncertain(parameter)) all.push_back({&parameter, {}, {}});
  }
  for_each_index(
      2 * all.size(),
      [&](std::size_t index) {
        Varied& one = all[index / 2];
        const bool is_low = index % 2 == 0;
        try {
          Testbed testbed(reassign(
              platform, std::array{one.parameter->path + "=" + (is_low ? one.parameter->low : one.parameter->high)}));
          (is_low ? one.low : one.high) = quantity.of(ask(testbed));
        } catch (const sim::ConfigError&) {  // there is no such machine, or it cannot do what is asked
        }
      },
      progress);
  const int decimals = quantity.is_fraction() ? 1 : 2;
  const double least_shown = 0.5 * std::pow(10.0, -decimals);
  std::vector<Varied> moving;
  for (Varied& one : all) {
    for (std::size_t place = 0; place < base.size(); ++place) {
      std::vector<double> changes{0.0};
      for (std::optional<Values>* const end : {&one.low, &one.high}) {
        if (*end) changes.push_back((**end)[place] = quantity.change(base[place], (**end)[place]));
      }
      one.swing = std::max(one.swing, std::ranges::max(changes) - std::ranges::min(changes));
    }
    if (one.swing >= least_shown || !one.low || !one.high) moving.push_back(one);
  }
  std::ranges::stable_sort(moving, std::greater(), &Varied::swing);

  const std::string unit = quantity.is_fraction() ? "points" : "percent";
  const std::string unit_shown = quantity.is_fraction() ? "points" : "%";
  std::vector<Shown<Varied>> shown{
      {{"parameter", "parameter", ""}, [](const Varied& one) { return one.parameter->path; }},
      {{"low", "low", ""}, [](const Varied& one) { return one.parameter->low; }},
      {{"high", "high", ""}, [](const Varied& one) { return one.parameter->high; }},
      {{"swing_" + unit, "swing", unit_shown, decimals}, &Varied::swing}};
  for (std::size_t place = 0; place < base.size(); ++place) {
    const auto at = [place](std::optional<Values> Varied::*end) {
      return [=](const Varied& one) { return one.*end ? Cell((*(one.*end))[place]) : Cell(); };
    };
    const std::string& name = quantity.names[place];
    shown.push_back({{fmt::format("{}_low_{}", name, unit), name + " low", "", decimals}, at(&Varied::low)});
    shown.push_back({{fmt::format("{}_high_{}", name, unit), "high", "", decimals}, at(&Varied::high)});
  }
  return {"sensitivity",
          fmt::format("Change of {} at the ends of each parameter's range, in {}; {} of {} parameters move it by less "
                      "than {:g} {}",
                      quantity.column.heading, quantity.is_fraction() ? "points" : "percent of what it is",
                      all.size() - moving.size(), all.size(), least_shown, unit_shown),
          table_of(moving, shown)};
}

}  // namespace c3sim::study
