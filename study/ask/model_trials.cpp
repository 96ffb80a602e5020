#include "study/ask/model_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "study/serve/serve.h"
#include "study/step/step.h"
#include "study/step/step_graph.h"
#include "study/step/step_totals.h"
#include "study/work/config_folders.h"
#include "study/work/operators.h"

namespace c3sim::study {

namespace {

std::string parallelism(const StepQuestion& question) {
  std::string text = question.pieces ? fmt::format(", in {} pieces", *question.pieces) : "";
  if (question.ffn_pieces) text += fmt::format(", {} of the feed-forward half", *question.ffn_pieces);
  // The replicas that experts need are not told beside them.
  Split split = question;
  if (split.dp == split.least_dp()) split.dp = 1;
  return split == Split{.shard = split.shard} ? text : text + ", " + to_string(split);
}

}  // namespace

std::string to_string(const StepTrial& trial) {
  const StepQuestion& question = trial.question;
  std::string text = fmt::format("{} of {}, {} x {} tokens", to_string(question.phase), question.model.name,
                                 question.batch, question.tokens);
  if (question.context > 0) text += fmt::format(", {} cached", question.context);
  if (question.decoding > 0) {
    text += fmt::format(", beside {} x 1, {} cached", question.decoding, question.decoding_context);
  }
  if (question.layers) text += fmt::format(", {} layers", *question.layers);
  text += parallelism(question);
  if (question.shard == Shard::full) text += ", sharded";
  if (question.dtype != models::Dtype::bf16) text += fmt::format(", {}", models::to_string(question.dtype));
  if (question.optimizer != Optimizer::none) text += fmt::format(", {}", to_string(question.optimizer));
  if (question.forward) text += ", forward";
  if (question.recompute) text += ", recomputed";
  if (!question.routing.told.empty()) text += fmt::format(", {} routing", question.routing.told);
  if (question.dispatch != Dispatch::all_to_all) text += fmt::format(", {} dispatch", to_string(question.dispatch));
  if (question.overlap != Overlap::none) text += fmt::format(", {} overlapped", to_string(question.overlap));
  if (question.kernels != Kernels::eager) text += fmt::format(", {} kernels", to_string(question.kernels));
  if (question.half != Half::both) text += fmt::format(", {} half", to_string(question.half));
  if (question.collectives != models::Backend::rccl) {
    text += fmt::format(", {}", to_string(question.collectives));
  }
  for (const auto& [name, carrier] : question.chosen) text += fmt::format(", {} by {}", name, to_string(carrier));
  if (question.channels) text += fmt::format(", {} channels", *question.channels);
  if (question.variant != models::SdmaVariant::pcpy) text += fmt::format(", {}", models::to_string(question.variant));
  if (question.prelaunch) text += ", prelaunched";
  if (question.pause > sim::Time(0)) text += fmt::format(", behind a pause of {}", sim::to_string(question.pause));
  text += question.graph ? ", from a graph" : ", op by op";
  return trial.kind ? fmt::format("{} kernels of {}", to_string(*trial.kind), text) : text;
}

std::string why_impossible(const Testbed& testbed, const StepTrial& trial) {
  const std::vector<sim::Fault> faults = faults_of(trial.question, testbed.platform());
  return faults.empty() ? std::string() : faults.front().what;
}

Figures observe(Testbed& testbed, const StepTrial& trial) {
  const StepResult result = ask({testbed.platform(), testbed.operators()}, trial.question, testbed.factor());
  const sim::Time all = std::accumulate(result.by_kind.begin(), result.by_kind.end(), sim::Time(0));
  const sim::Time kernels = trial.kind ? result.time_of(*trial.kind) : all;
  return {{Figure::time, sim::to_seconds(result.time).value()},
          {Figure::kernel_time, sim::to_seconds(kernels).value()},
          {Figure::energy, result.energy().value()},
          {Figure::power, result.power.value()},
          {Figure::clock, result.clock.value()}};
}

StepRoofline roofline(const StepTrial& trial, const models::PlatformSpec& platform) {
  StepRoofline sums;
  const StepQuestion& question = trial.question;
  const std::vector<ElementwiseOperator> operators = read_operators(config_folders());
  for (const StepBlock& block : step_blocks(question, question.stage_layers(), {platform, operators})) {
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

std::string why_impossible(ServeMachine& machine, const ServeTrial& trial) {
  try {
    const std::vector<sim::Fault> faults = machine.faults_of(trial.question);
    return faults.empty() ? std::string() : faults.front().where + ": " + faults.front().what;
  } catch (const sim::ConfigError& error) {
    return error.faults().front().what;
  }
}

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

}  // namespace c3sim::study
