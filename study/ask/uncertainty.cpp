#include "study/ask/uncertainty.h"

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "study/c3/c3_study.h"

namespace c3sim::study {

namespace {

// In seconds, by result and then as Intervals has them.
using Times = std::vector<std::vector<double>>;

// One schedule and one time each.
Times times_of(Testbed& testbed, std::span<const WorkResult> results) {
  Times times;
  for (const WorkResult& result : results) {
    times.push_back({sim::to_seconds(testbed.run(result.schedule, result.between).time_of_last()).value()});
  }
  return times;
}

Times times_of(Testbed& testbed, std::span<const C3Result> results) {
  std::vector<Attempt> attempts;
  for (const C3Result& result : results) attempts.push_back({result.scenario, result.strategy});
  Times times;
  for (const C3Result& run : run_all(testbed, attempts)) {
    std::vector<double>& of_run = times.emplace_back();
    for (const sim::Time time : {run.makespan, run.gemm, run.collective}) {
      of_run.push_back(sim::to_seconds(time).value());
    }
  }
  return times;
}

template <class Result>
void add(Answer<Result>& answer, const Ensemble& ensemble, std::size_t figures, const Progress& progress, int jobs) {
  const std::vector<Times> drawn = ensemble.ask_each(
      [&](Testbed& testbed) { return times_of(testbed, std::span<const Result>(answer.results)); }, jobs, progress);
  for (std::size_t result = 0; result < answer.results.size(); ++result) {
    Intervals& intervals = answer.intervals.emplace_back();
    for (std::size_t figure = 0; figure < figures; ++figure) {
      std::vector<double> values;
      for (const Times& times : drawn) values.push_back(times[result][figure]);
      intervals.push_back(interval_of(std::move(values)));
    }
  }
  for (std::string& warning : ensemble.warnings()) answer.warnings.push_back(std::move(warning));
}

}  // namespace

void add_intervals(Answer<WorkResult>& answer, const Ensemble& ensemble, const Progress& progress, int jobs) {
  add(answer, ensemble, 1, progress, jobs);
}
void add_intervals(Answer<C3Result>& answer, const Ensemble& ensemble, const Progress& progress, int jobs) {
  add(answer, ensemble, 3, progress, jobs);
}

}  // namespace c3sim::study
