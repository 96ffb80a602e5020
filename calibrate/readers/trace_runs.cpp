#include "calibrate/readers/trace_runs.h"

#include <fmt/format.h>

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

std::vector<TraceRuns::Alone> TraceRuns::alone(LogReading& reading) const {
  std::vector<Stay> stays;
  stays.reserve(runs_.size());
  for (const Run& run : runs_) stays.push_back(run.stay);
  const std::vector<bool> beside = is_beside_others(stays);

  struct Times {
    std::vector<double> alone;
    int line = 0, first_beside = 0;
    std::size_t beside = 0;
  };
  std::vector<Times> times(subjects_.size());
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    Times& of_subject = times[runs_[i].subject];
    if (beside[i]) {
      if (of_subject.beside++ == 0) of_subject.first_beside = runs_[i].line;
      continue;
    }
    if (of_subject.alone.empty()) of_subject.line = runs_[i].line;
    of_subject.alone.push_back(runs_[i].stay.end - runs_[i].stay.begin);
  }
  std::vector<Alone> all;
  for (std::size_t i = 0; i < subjects_.size(); ++i) {
    Times& of_subject = times[i];
    if (of_subject.beside > 0) {
      reading.leave_out(of_subject.first_beside,
                        fmt::format("{}: ran beside other work on its GPU, {} of {} times", shown(subjects_[i]),
                                    of_subject.beside, of_subject.beside + of_subject.alone.size()));
    }
    if (of_subject.alone.empty()) continue;
    const std::size_t runs = of_subject.alone.size();
    all.push_back({i, subjects_[i], of_subject.line, runs, spread_of(std::move(of_subject.alone))});
  }
  return all;
}

}  // namespace c3sim::calibrate
