#include "sim/loaded_latency.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace sim {

namespace {
// x += factor * y
void add(std::span<double> x, double factor, std::span<const double> y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += factor * y[i];
}

double dot(std::span<const double> x, std::span<const double> y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}
}  // namespace

Seconds LoadedLatency::at(double utilisation) const {
  const double queue = std::pow(utilisation, exponent) / (1.0 - std::min(utilisation, ceiling));
  return to_seconds(unloaded) * (1.0 + factor * queue);
}

void FixedPointSearch::start(std::span<const double> x) {
  x_.assign(x.begin(), x.end());
  started_ = false;
  secants_ = 0;
  low_ = 0.0;
  high_ = 1.0;
}

void FixedPointSearch::step(std::span<const double> image) {
  residual_.assign(image.begin(), image.end());
  add(residual_, -1.0, x_);
  if (started_) learn();
  orthonormalise();
  last_x_ = x_;
  last_residual_ = residual_;
  started_ = true;

  // What the secants explain of the residual is removed along them; half of the rest is followed as it points.
  constexpr double damping = 0.5;
  for (std::size_t k = 0; k < secants_; ++k) {
    const double part = dot(basis_[k].change, residual_);
    add(x_, -part, basis_[k].along);
    add(residual_, -part, basis_[k].change);
  }
  add(x_, damping, residual_);
  for (double& x : x_) x = std::clamp(x, 0.0, 1.0);
  if (x_.size() == 1) stay_in_bracket();
}

void FixedPointSearch::learn() {
  if (history_.empty()) history_.resize(depth);
  std::rotate(history_.begin(), history_.end() - 1, history_.end());
  history_[0].along = x_;
  add(history_[0].along, -1.0, last_x_);
  history_[0].change = residual_;
  add(history_[0].change, -1.0, last_residual_);
  secants_ = std::min({secants_ + 1, depth, x_.size()});
}

void FixedPointSearch::orthonormalise() {
  basis_.resize(depth);
  std::size_t kept = 0;
  for (std::size_t k = 0; k < secants_; ++k) {
    Secant& next = basis_[kept];
    next.along = history_[k].along;
    next.change = history_[k].change;
    const double before = std::sqrt(dot(next.change, next.change));
    for (std::size_t j = 0; j < kept; ++j) {
      const double part = dot(basis_[j].change, next.change);
      add(next.along, -part, basis_[j].along);
      add(next.change, -part, basis_[j].change);
    }
    const double length = std::sqrt(dot(next.change, next.change));
    if (length <= 1e-6 * before) break;  // says nothing new
    for (double& x : next.along) x /= length;
    for (double& x : next.change) x /= length;
    ++kept;
  }
  secants_ = kept;
}

// g falls, so the root lies above where the residual is positive and below where it is negative.
void FixedPointSearch::stay_in_bracket() {
  (last_residual_[0] > 0.0 ? low_ : high_) = last_x_[0];
  if (x_[0] <= low_ || x_[0] >= high_) x_[0] = 0.5 * (low_ + high_);
}

}  // namespace sim
