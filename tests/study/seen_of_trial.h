// This file runs a trial and returns all of its figures at once.
#pragma once

#include <gtest/gtest.h>

#include <set>

#include "study/ask/trial.h"
#include "tests/study/test_platform.h"

namespace c3sim::study {

constexpr double us = 1e-6;
constexpr double watt = 1.0;

inline std::set<Figure> every_figure() {
  std::set<Figure> all;
  for (const FigureForm& form : all_figures()) all.insert(form.figure);
  return all;
}

inline Figures all_of(const models::PlatformSpec& platform, const Trial& trial) {
  Testbed testbed(platform);
  EXPECT_EQ(why_impossible(testbed, trial), "");
  return observe(testbed, trial, every_figure());
}

inline double figure(const models::PlatformSpec& platform, const Trial& trial, Figure asked) {
  return all_of(platform, trial).at(asked);
}

inline CollectiveTrial gather(models::Backend backend, sim::Bytes bytes) {
  CollectiveTrial trial{collective(backend, models::CollectiveKind::all_gather, bytes)};
  trial.spec.gpus = 0;
  return trial;
}

inline CollectiveTrial gather_by_engines(sim::Bytes bytes) {
  CollectiveTrial trial = gather(models::Backend::sdma, bytes);
  trial.spec.host_threads = models::HostThreads::per_gpu;
  return trial;
}

}  // namespace c3sim::study
