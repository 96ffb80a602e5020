#include "study/ask/serve_trial.h"

#include "study/serve/serve.h"

namespace c3sim::study {

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
