#include "calibrate/readers/trace_runs.h"

#include <fmt/format.h>

#include <numeric>

namespace c3sim::calibrate {

std::size_t TraceRuns::add_subject(std::string words) {
  subjects_.push_back(std::move(words));
  return subjects_.size() - 1;
}

std::size_t TraceRuns::kernel(std::string_view name) {
  const auto known = kernels_.find(name);
  if (known != kernels_.end()) return known->second;
  return kernels_.emplace(name, add_subject(std::string(name))).first->second;
}

std::vector<TraceRuns::Alone> TraceRuns::alone(LogReading& reading, const std::vector<bool>& is_told) const {
  std::vector<Stay> stays;
  stays.reserve(runs_.size());
  for (const Run& run : runs_) stays.push_back(run.stay);
  const std::vector<bool> beside = is_beside_others(stays);

  struct Times {
    std::vector<double> alone;
    std::vector<std::size_t> places;
    int line = 0, first_beside = 0;
    std::size_t beside = 0;
    double seconds_beside = 0.0;
  };
  std::vector<Times> times(subjects_.size());
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    Times& of_subject = times[runs_[i].subject];
    const double seconds = runs_[i].stay.end - runs_[i].stay.begin;
    if (beside[i] && i < is_told.size() && is_told[i]) continue;
    if (beside[i]) {
      of_subject.seconds_beside += seconds;
      if (of_subject.beside++ == 0) of_subject.first_beside = runs_[i].line;
      continue;
    }
    if (of_subject.alone.empty()) of_subject.line = runs_[i].line;
    of_subject.alone.push_back(seconds);
    of_subject.places.push_back(i);
  }
  std::vector<Alone> all;
  for (std::size_t i = 0; i < subjects_.size(); ++i) {
    Times& of_subject = times[i];
    if (of_subject.beside > 0) {
      reading.leave_out(of_subject.first_beside, "ran beside other work on its GPU",
                        fmt::format("{}, {} of {} times", shown(subjects_[i]), of_subject.beside,
                                    of_subject.beside + of_subject.alone.size()),
                        of_subject.seconds_beside);
    }
    if (of_subject.alone.empty()) continue;
    const std::size_t runs = of_subject.alone.size();
    const double seconds = std::accumulate(of_subject.alone.begin(), of_subject.alone.end(), 0.0);
    all.push_back({i, subjects_[i], of_subject.line, runs, percentiles_of(std::move(of_subject.alone)), seconds,
                   std::move(of_subject.places)});
  }
  return all;
}

}  // namespace c3sim::calibrate
