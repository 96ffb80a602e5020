#include "study/ask/serve_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "study/ask/words.h"

namespace c3sim::study {

namespace {

std::string load_of(const ServeQuestion& question) {
  if (question.concurrency > 0) return fmt::format("{} at a time", question.concurrency);
  if (question.stages.empty()) return fmt::format("{:g} a second", question.rate);
  std::string text;
  for (const LoadStage& stage : question.stages) {
    text += fmt::format("{}{:g} a second for {:g} s", text.empty() ? "" : ", then ", stage.rate,
                        sim::to_seconds(stage.time).value());
  }
  return text;
}

}  // namespace

// What is not told in words is told as the command line has it.
std::string to_string(const ServeTrial& trial) {
  const ServeQuestion& question = trial.question;
  std::string text = "serving " + question.model + ":";
  if (question.stages.empty()) text += fmt::format(" {} requests", question.requests);
  text += fmt::format(" of {} + {} tokens, {}", question.prompt, question.output, load_of(question));
  constexpr std::array told{"model", "requests", "prompt", "output", "rate", "concurrency", "stages"};
  for (const auto& [word, texts] : spelled(question)) {
    if (std::ranges::find(told, word) == told.end()) text += fmt::format(", {} {}", word, texts.front());
  }
  return text;
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
