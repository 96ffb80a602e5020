// A function of one point as one of many, for tests of fits.
#pragma once

#include <span>
#include <vector>

#include "calibrate/fit/robust_fit.h"

namespace c3sim::calibrate {

template <class Function>
Residuals residuals_of(const Function& function) {
  return [function](std::span<const Point> points) {
    std::vector<std::vector<double>> all;
    for (const Point& point : points) all.push_back(function(point));
    return all;
  };
}

}  // namespace c3sim::calibrate
