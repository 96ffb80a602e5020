// Implements the trials of whole models in study/ask/trial.h: a step as programs time it, and requests over time as a
// benchmark client measures them.
#include <algorithm>
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
  constexpr double p90 = 0.9;
  constexpr double p99 = 0.99;
  const Served served = machine.ask(trial.question, 0).served;
  const auto seconds = [](sim::Time time) { return sim::to_seconds(time).value(); };
  Figures figures{{Figure::first_token, seconds(served.first_token.mean())},
                  {Figure::first_token_median, seconds(served.first_token.quantile(0.5))},
                  {Figure::first_token_p90, seconds(served.first_token.quantile(p90))},
                  {Figure::first_token_p99, seconds(served.first_token.quantile(p99))},
                  {Figure::end_to_end, seconds(served.whole.mean())},
                  {Figure::end_to_end_median, seconds(served.whole.quantile(0.5))},
                  {Figure::end_to_end_p90, seconds(served.whole.quantile(p90))},
                  {Figure::end_to_end_p99, seconds(served.whole.quantile(p99))},
                  {Figure::request_rate, served.per_second(served.requests)},
                  {Figure::token_rate, served.per_second(served.output_tokens)}};
  if (served.per_token.count() > 0) {
    figures[Figure::per_token] = seconds(served.per_token.mean());
    figures[Figure::per_token_median] = seconds(served.per_token.quantile(0.5));
    figures[Figure::per_token_p99] = seconds(served.per_token.quantile(p99));
  }
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
