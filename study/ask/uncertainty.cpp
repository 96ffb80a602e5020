#include "study/ask/uncertainty.h"

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "sim/overloaded.h"
#include "study/c3/c3_study.h"
#include "study/uncertainty/fidelity.h"

namespace c3sim::study {

namespace {

// In seconds, by result and then as Intervals has them.
using Times = std::vector<std::vector<double>>;

// One schedule and one time each.
Times times_of(Testbed& testbed, std::span<const WorkResult> results) {
  Times times;
  for (const WorkResult& result : results) {
    const Timeline& timeline = testbed.run(result.schedule, result.between);
    times.push_back({sim::to_seconds(timeline.time_of_last(result.timed)).value()});
  }
  return times;
}

Times times_of(Testbed& testbed, std::span<const C3Result> results) {
  std::vector<C3Trial> trials;
  for (const C3Result& result : results) trials.push_back({result.scenario, result.strategy});
  Times times;
  for (const C3Result& run : run_all(testbed, trials)) {
    std::vector<double>& of_run = times.emplace_back();
    for (const sim::Time time : {run.makespan, run.gemm, run.collective}) {
      of_run.push_back(sim::to_seconds(time).value());
    }
  }
  return times;
}

// The same of the platform itself, and as what it was held against measurements.
std::vector<double> predicted(const WorkResult& result) { return {sim::to_seconds(result.time).value()}; }
std::vector<double> predicted(const C3Result& result) {
  std::vector<double> times;
  for (const sim::Time time : {result.makespan, result.gemm, result.collective}) {
    times.push_back(sim::to_seconds(time).value());
  }
  return times;
}

Unfitted unfitted(const WorkResult& result, const models::PlatformSpec& platform) {
  const Fidelity fidelity = std::visit(
      sim::Overloaded{[&](const models::SdmaCopySpec& copy) { return fidelity_of(copy, platform); },
                      [&](const models::CollectiveSpec& collective) { return fidelity_of(collective, platform); },
                      [&](const models::GemmShape& shape) { return fidelity_of(shape, result.cus, platform); },
                      [](const auto&) { return Fidelity::assumed; }},
      result.work);
  return fidelity == Fidelity::calibrated ? Unfitted::none : Unfitted::alone;
}
Unfitted unfitted(const C3Result&, const models::PlatformSpec&) { return Unfitted::beside; }

template <class Result>
void add(Answer<Result>& answer, const Ensemble& ensemble, std::size_t figures, const models::PlatformSpec& platform,
         const Progress& progress, int jobs) {
  const std::vector<Times> drawn = ensemble.ask_each(
      [&](Testbed& testbed) { return times_of(testbed, std::span<const Result>(answer.results)); }, jobs, progress);
  for (std::size_t result = 0; result < answer.results.size(); ++result) {
    Intervals& intervals = answer.intervals.emplace_back();
    const std::vector<double> own = predicted(answer.results[result]);
    const double error = ensemble.error_of(unfitted(answer.results[result], platform));
    for (std::size_t figure = 0; figure < figures; ++figure) {
      std::vector<double> values;
      for (const Times& times : drawn) values.push_back(times[result][figure]);
      intervals.push_back(at_least(interval_of(std::move(values)), own[figure], error));
    }
  }
  for (std::string& warning : ensemble.warnings()) answer.warnings.push_back(std::move(warning));
}

}  // namespace

void add_intervals(Answer<WorkResult>& answer, const Ensemble& ensemble, const models::PlatformSpec& platform,
                   const Progress& progress, int jobs) {
  add(answer, ensemble, 1, platform, progress, jobs);
}
void add_intervals(Answer<C3Result>& answer, const Ensemble& ensemble, const models::PlatformSpec& platform,
                   const Progress& progress, int jobs) {
  add(answer, ensemble, 3, platform, progress, jobs);
}

}  // namespace c3sim::study
