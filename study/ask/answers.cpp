#include "study/ask/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "models/collectives/algorithm.h"
#include "study/c3/c3_study.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::study {

namespace {

// Sizes are whole bytes below 2^53.
std::int64_t whole_bytes(sim::Bytes bytes) { return static_cast<std::int64_t>(bytes.value()); }

void add_means(ResultTable& table, std::span<const Means> means) {
  if (means.empty()) return;
  std::vector<Cell> clocks;
  std::vector<Cell> powers;
  for (const Means& run : means) {
    clocks.emplace_back(run.clock.value() * 1e-6);
    powers.emplace_back(run.power.value());
  }
  table.add_column({"clock_MHz", "clock", "MHz", 0}, std::move(clocks));
  table.add_column({"power_W", "power", "W", 0}, std::move(powers));
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

namespace {

// What runs at once was not fitted to, whatever it is made of.
Fidelity fidelity_of_row(const C3Result& result, const models::PlatformSpec& platform) {
  const Fidelity parts = weaker(fidelity_of(result.scenario.gemm, platform.gpu.cus(), platform),
                                fidelity_of(collective_of(result.scenario, result.chosen, platform), platform));
  return result.strategy == Strategy::serial ? parts : weaker(parts, Fidelity::extrapolated);
}

// By strategy, between one after the other and the shorter one for nothing.
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
  chart.levels = {{"one after the other, by RCCL", sim::to_microseconds(first.serial())},
                  {"ideal", sim::to_microseconds(std::max(first.isolated_gemm, first.isolated_collective))}};
  return chart;
}

Column for_programs(std::string key) { return {key, key, "", 2, false}; }

// The CUs that a collective's kernels take of each GPU; copy engines take none.
std::int64_t cus_of(const models::CollectiveSpec& spec, const models::PlatformSpec& platform) {
  const auto kernels = models::kernel_part(spec, platform.gpu.sdma);
  if (!kernels) return 0;
  return kernels->cus.value_or(models::channels_of(*kernels, platform));
}

// The engines of one GPU that copy, in the first step.
std::int64_t engines_of(const models::CollectiveSpec& spec, const models::SdmaSpec& sdma) {
  std::set<int> engines;
  for (const models::EngineProgram& program :
       models::sdma_programs(models::sdma_steps(spec.kind).front(), spec, sdma)) {
    if (program.gpu == 0) engines.insert(program.engine);
  }
  return static_cast<std::int64_t>(engines.size());
}

// Of the run of a collective: "b2b prelaunched 1MiB".
std::string run_name(const models::CollectiveSpec& spec) {
  std::string name;
  if (spec.backend == models::Backend::sdma) name = fmt::format("{} ", models::to_string(spec.variant));
  if (spec.prelaunch) name += "prelaunched ";
  return name + sim::to_string(spec.bytes);
}

// That are read and written, or reach all peers together.
sim::Bytes bytes_of(const models::ElementwiseSpec& kernel) { return kernel.bytes(); }
sim::Bytes bytes_of(const models::AttentionShape& kernel) { return kernel.read() + kernel.written(); }
sim::Bytes bytes_of(const models::RemoteKernelSpec& kernel) {
  return static_cast<double>(kernel.peers.size()) * kernel.bytes;
}

Results with_intervals(ResultTable table, const Answer<WorkResult>& answer, std::vector<NamedRun> runs,
                       const models::PlatformSpec& platform) {
  add_intervals(table, answer.intervals);
  return {platform.name, {{"results", "", std::move(table)}}, answer.warnings, std::move(runs)};
}

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
  ResultTable table = c3_table(answer.results);
  add_means(table, answer.means);
  std::vector<Cell> energies;
  for (std::size_t i = 0; i < answer.means.size(); ++i) {
    energies.emplace_back((answer.means[i].power * sim::to_seconds(answer.results[i].makespan)).value());
  }
  if (!energies.empty()) table.add_column({"energy_J", "energy", "J", 3, false}, std::move(energies));
  std::vector<Cell> fidelities;
  for (const C3Result& result : answer.results)
    fidelities.emplace_back(std::string(to_string(fidelity_of_row(result, platform))));
  table.add_column({"fidelity", "fidelity", ""}, std::move(fidelities));
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
  ResultTable table(
      {{"gemm", "GEMM", ""}, {"cus", "CUs", ""}, {"time_us", "time", "us"}, {"tflops", "rate", "TFLOP/s", 1}});
  const models::GemmShape& gemm = question.points.front().shape;
  std::vector<NamedRun> runs;
  std::vector<Cell> fidelities;
  for (const WorkResult& result : answer.results) {
    table.add_row({models::to_string(gemm), std::int64_t{result.cus}, sim::to_microseconds(result.time),
                   (gemm.flops() / sim::to_seconds(result.time)).value() * 1e-12});
    runs.push_back({fmt::format("{} CUs", result.cus), result.schedule, result.between});
    fidelities.emplace_back(std::string(to_string(fidelity_of(gemm, result.cus, platform))));
  }
  add_means(table, answer.means);
  table.add_column({"fidelity", "fidelity", ""}, std::move(fidelities));
  return with_intervals(std::move(table), answer, std::move(runs), platform);
}

Results to_tables(const Question<CollectiveTrial>&, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform) {
  ResultTable table({{"collective", "collective", ""},
                     {"backend", "backend", ""},
                     {"variant", "variant", ""},
                     {"prelaunch", "prelaunch", ""},
                     {"cus", "CUs", ""},
                     {"bytes", "size", "B"},
                     {"time_us", "time", "us"},
                     {"busbw_GBps", "bus bandwidth", "GB/s"},
                     for_programs("gpus"),
                     for_programs("engines"),
                     for_programs("host_threads"),
                     for_programs("graph"),
                     {"fidelity", "fidelity", ""}});
  std::vector<NamedRun> runs;
  for (const WorkResult& result : answer.results) {
    const auto& spec = std::get<models::CollectiveSpec>(result.work);
    const bool on_copy_engines = spec.backend == models::Backend::sdma;
    const models::HostThreads threads = spec.host_threads.value_or(platform.host.threads);
    table.add_row({std::string(models::to_string(spec.kind)), std::string(models::to_string(spec.backend)),
                   on_copy_engines ? Cell(std::string(models::to_string(spec.variant))) : Cell(), spec.prelaunch,
                   cus_of(spec, platform), whole_bytes(spec.bytes), sim::to_microseconds(result.time),
                   models::bus_bandwidth(spec, result.time).value() * 1e-9, std::int64_t{spec.gpus},
                   on_copy_engines ? Cell(engines_of(spec, platform.gpu.sdma)) : Cell(),
                   on_copy_engines ? Cell(std::string(models::to_string(threads))) : Cell(),
                   on_copy_engines ? Cell() : Cell(spec.graph), std::string(to_string(fidelity_of(spec, platform)))});
    runs.push_back({run_name(spec), result.schedule});
  }
  return with_intervals(std::move(table), answer, std::move(runs), platform);
}

Results to_tables(const Question<CopyTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform) {
  const bool shown = question.points.front().phases;
  ResultTable table({{"from", "from", ""},
                     {"to", "to", ""},
                     {"bytes", "size", "B"},
                     {"time_us", "time", "us"},
                     {"control_us", "control", "us", 2, shown},
                     {"schedule_us", "schedule", "us", 2, shown},
                     {"copy_us", "copy", "us", 2, shown},
                     {"completion_us", "completion", "us", 2, shown},
                     {"fidelity", "fidelity", ""},
                     {"GBps", "rate", "GB/s"},
                     for_programs("blocks"),
                     for_programs("submit")});
  std::vector<NamedRun> runs;
  for (const WorkResult& result : answer.results) {
    const auto& copy = std::get<models::SdmaCopySpec>(result.work);
    const models::SdmaCopyPhases& phases = result.phases.value();
    table.add_row({device_name(copy.from), device_name(copy.to), whole_bytes(copy.bytes),
                   sim::to_microseconds(phases.total()), sim::to_microseconds(phases.control),
                   sim::to_microseconds(phases.schedule), sim::to_microseconds(phases.copy),
                   sim::to_microseconds(phases.completion), std::string(to_string(fidelity_of(copy, platform))),
                   (copy.all_bytes() / sim::to_seconds(phases.total())).value() * 1e-9, std::int64_t{copy.copies},
                   copy.submit ? Cell(std::string(models::to_string(*copy.submit))) : Cell()});
    runs.push_back({sim::to_string(copy.bytes), result.schedule});
  }
  return with_intervals(std::move(table), answer, std::move(runs), platform);
}

Results to_tables(const Question<KernelTrial>& question, const Answer<WorkResult>& answer,
                  const models::PlatformSpec& platform) {
  ResultTable table({{"kernel", "kernel", ""},
                     {"cus", "CUs", ""},
                     {"bytes", "size", "B"},
                     {"time_us", "time", "us"},
                     {"rate_GBps", "rate", "GB/s", 1}});
  const sim::Bytes bytes =
      std::visit([](const auto& kernel) { return bytes_of(kernel); }, question.points.front().kernel);
  std::vector<NamedRun> runs;
  for (const WorkResult& result : answer.results) {
    table.add_row({to_string(result.work), std::int64_t{result.cus}, whole_bytes(bytes),
                   sim::to_microseconds(result.time), (bytes / sim::to_seconds(result.time)).value() * 1e-9});
    runs.push_back({fmt::format("{} CUs", result.cus), result.schedule});
  }
  add_means(table, answer.means);
  return with_intervals(std::move(table), answer, std::move(runs), platform);
}

}  // namespace c3sim::study
