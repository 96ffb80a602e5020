#include "study/explain/slowdown.h"

#include <numeric>
#include <utility>

#include "study/play/parallel.h"
#include "study/report/table_of.h"

namespace c3sim::study {

namespace {

using models::all_mechanisms;

std::vector<sim::Time> durations(Testbed& testbed, std::span<const NamedRun> runs) {
  std::vector<sim::Time> times;
  for (const NamedRun& run : runs) {
    for (const Span& span : testbed.run(run.schedule, run.between).operations) times.push_back(span.end - span.start);
  }
  return times;
}

// Replaces the protocol of rounds: rounds wait for each other, a loop does not.
models::PlatformSpec looping(models::PlatformSpec platform) {
  if (platform.host.protocol == models::Protocol::rounds) platform.host.protocol = models::Protocol::steady;
  return platform;
}

}  // namespace

std::vector<std::span<const models::Mechanism>> left_out_in_turn(std::span<const models::Mechanism> all) {
  std::vector<std::span<const models::Mechanism>> left_out;
  for (std::size_t k = 0; k <= all.size(); ++k) left_out.push_back(all.first(k));
  for (std::size_t k = 1; k < all.size(); ++k) left_out.push_back(all.last(k));
  return left_out;
}

sim::Time Slowdown::rest() const { return std::accumulate(parts.begin(), parts.end(), together - alone, std::minus()); }

double Slowdown::percent(sim::Time part) const { return 100.0 * (sim::to_seconds(part) / sim::to_seconds(alone)); }

std::vector<Slowdown> split_slowdowns(const models::PlatformSpec& platform, std::span<const NamedRun> runs) {
  const auto left_out = left_out_in_turn(all_mechanisms);
  std::vector<std::vector<sim::Time>> times(left_out.size());  // by machine, then by operation
  for_each_index(left_out.size(), [&](std::size_t machine) {
    models::PlatformSpec without = platform;
    for (const models::Mechanism mechanism : left_out[machine]) without.without.add(mechanism);
    Testbed testbed(std::move(without));
    times[machine] = durations(testbed, runs);
  });

  std::vector<std::vector<sim::Time>> parts = parts_of(times);
  Testbed in_loop(looping(platform));
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

ResultTable slowdown_table(std::span<const Slowdown> slowdowns) {
  using S = const Slowdown&;
  std::vector<Shown<Slowdown>> shown{
      {{"run", "run", ""}, &Slowdown::run},
      {{"operation", "operation", ""}, &Slowdown::operation},
      {{"alone_us", "in a loop", "us", 1}, &Slowdown::alone},
      {{"together_us", "together", "us", 1}, &Slowdown::together},
      {{"slowdown_percent", "slowdown", "%", 1}, [](S s) { return s.percent(s.together - s.alone); }}};
  for (std::size_t i = 0; i < all_mechanisms.size(); ++i) {
    const std::string name(to_string(all_mechanisms[i]));
    shown.push_back({{name + "_percent", name, "%", 1}, [i](S s) { return s.percent(s.parts[i]); }});
  }
  shown.push_back({{"rest_percent", "rest", "%", 1}, [](S s) { return s.percent(s.rest()); }});
  return table_of(slowdowns, shown);
}

BarChart slowdown_chart(std::span<const Slowdown> slowdowns, const std::string& title) {
  BarChart chart{.id = "slowdown",
                 .title = title,
                 .value_axis = "slowdown over the operation in a loop of its own [%]",
                 .layout = BarChart::Layout::stacked,
                 .caption = "Parts below 0 are time gained: who no longer waits may come to meet others."};
  for (const models::Mechanism mechanism : all_mechanisms) chart.series.emplace_back(to_string(mechanism));
  chart.series.emplace_back("rest");
  for (const Slowdown& slowdown : slowdowns) {
    Bar& bar = chart.bars.emplace_back();
    bar.label = slowdown.run + " " + slowdown.operation;
    for (const sim::Time part : slowdown.parts) bar.values.emplace_back(slowdown.percent(part));
    bar.values.emplace_back(slowdown.percent(slowdown.rest()));
  }
  return chart;
}

}  // namespace c3sim::study
