// Makes cases by hand.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "validate/evaluation.h"

namespace c3sim::validate {

constexpr double rounding = 1e-12;

inline Case measured(double value, std::optional<double> predicted, study::Figure figure = study::Figure::time) {
  Case one{.figure = figure, .measured = value, .predicted = predicted, .band = 0.1};
  return one;
}

inline std::vector<const Case*> pointers(std::span<const Case> cases) {
  std::vector<const Case*> all;
  for (const Case& one : cases) all.push_back(&one);
  return all;
}

inline study::CollectiveTrial all_gather(double bytes) {
  study::CollectiveTrial trial;
  trial.spec.kind = models::CollectiveKind::all_gather;
  trial.spec.bytes = sim::Bytes(bytes);
  trial.spec.gpus = 0;
  return trial;
}

}  // namespace c3sim::validate
