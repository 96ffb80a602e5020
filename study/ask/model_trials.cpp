// Implements the trials of whole models in study/ask/trial.h: a step as programs time it, and requests over time as a
// benchmark client measures them.
#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "study/ask/trial.h"
#include "study/config_folders.h"
#include "study/program/layer_templates.h"
#include "study/serve/serve.h"
#include "study/step/step.h"
#include "study/step/step_graph.h"
#include "study/step/step_totals.h"

namespace c3sim::study {

Figures observe(Testbed& testbed, const StepTrial& trial) {
  const StepResult result = ask({testbed.platform(), testbed.templates()}, trial.question, testbed.factor());
  const sim::Time all = std::accumulate(result.by_kind.begin(), result.by_kind.end(), sim::Time(0));
  const sim::Time kernels = trial.kind ? result.time_of(*trial.kind) : all;
  return {{Figure::time, sim::to_seconds(result.time).value()},
          {Figure::kernel_time, sim::to_seconds(kernels).value()},
          {Figure::energy, result.energy().value()},
          {Figure::power, result.power.value()},
          {Figure::clock, result.clock.value()}};
}

// Returns the first fault of the question, or why its model cannot be read.
std::string why_impossible(ServeMachine& machine, const ServeTrial& trial) {
  try {
    const std::vector<sim::Fault> faults = machine.faults_of(trial.question);
    return faults.empty() ? std::string() : faults.front().where + ": " + faults.front().what;
  } catch (const sim::ConfigError& error) {
    return error.faults().front().what;
  }
}

// Returns times to the first token, per further token and to the last one, and requests and tokens per second.
Figures observe(ServeMachine& machine, const ServeTrial& trial) {
  using enum Figure;
  constexpr double p90 = 0.9;
  constexpr double p99 = 0.99;
  const Served served = machine.ask(trial.question, 0).served;
  Figures figures{{request_rate, served.per_second(served.requests)},
                  {token_rate, served.per_second(served.output_tokens)}};
  const auto seconds = [](sim::Time time) { return sim::to_seconds(time).value(); };
  const auto add = [&](const Latencies& times, Figure mean, const std::map<Figure, double>& quantiles) {
    if (times.count() == 0) return;
    figures[mean] = seconds(times.mean());
    for (const auto& [figure, share] : quantiles) figures[figure] = seconds(times.quantile(share));
  };
  add(served.first_token, first_token, {{first_token_median, 0.5}, {first_token_p90, p90}, {first_token_p99, p99}});
  add(served.whole, end_to_end, {{end_to_end_median, 0.5}, {end_to_end_p90, p90}, {end_to_end_p99, p99}});
  add(served.per_token, per_token, {{per_token_median, 0.5}, {per_token_p99, p99}});
  return figures;
}

StepRoofline roofline(const StepTrial& trial, const models::PlatformSpec& platform) {
  StepRoofline sums;
  const StepQuestion& question = trial.question;
  const LayerTemplates templates(config_folders());
  for (const StepBlock& block : step_blocks(question, question.stage_layers(), {platform, templates})) {
    const double times = static_cast<double>(std::max<std::int64_t>(1, block.layers)) * block.share(question.gpus());
    for (const StepOperation& one : block.operations) {
      for (const StepPart& part : parts_of(one, {}, platform)) {
        (communicates(part.kind) ? sums.communication : sums.compute) +=
            times * limits_of(part.work, platform).longest();
      }
    }
  }
  return sums;
}

}  // namespace c3sim::study
