#include "sim/fixed_point_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sim {

namespace {
// x += factor * y
void add(std::span<double> x, double factor, std::span<const double> y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += factor * y[i];
}

double dot(std::span<const double> x, std::span<const double> y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

double largest_difference(std::span<const double> x, std::span<const double> y) {
  double largest = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}
}  // namespace

void FixedPointSearch::start(std::span<const double> x) {
  x_.assign(x.begin(), x.end());
  has_best_ = false;
  secants_ = 0;
  radius_ = 1.0;
}

void FixedPointSearch::step(std::span<const double> image, std::span<const double> damping) {
  residual_.assign(image.begin(), image.end());
  add(residual_, -1.0, x_);
  for (std::size_t i = 0; i < x_.size(); ++i) {
    if (x_[i] >= 1.0) residual_[i] = std::min(0.0, residual_[i]);  // there is no way further up
  }
  compare_with_best(damping);
  orthonormalise_secants();

  // What the secants explain of the residual is removed along them; the rest is followed as far as is safe.
  x_ = best_x_;
  residual_ = best_residual_;
  for (std::size_t k = 0; k < basis_size_; ++k) {
    const double part = dot(basis_[k].change, residual_);
    add(x_, -part, basis_[k].along);
    add(residual_, -part, basis_[k].change);
  }
  for (std::size_t i = 0; i < x_.size(); ++i) x_[i] += best_damping_[i] * residual_[i];
  stay_in_trust_region();
}

// The factors were chosen by trial on random networks: they leave the fewest searches unfinished at a given bound.
void FixedPointSearch::compare_with_best(std::span<const double> damping) {
  if (has_best_) {
    learn_secant();
    const double distance = largest_difference(x_, best_x_);
    if (dot(residual_, residual_) >= dot(best_residual_, best_residual_)) {
      radius_ = 0.8 * distance;
      return;
    }
    radius_ = std::max(radius_, 32.0 * distance);
  }
  has_best_ = true;
  best_x_ = x_;
  best_residual_ = residual_;
  best_damping_.assign(damping.begin(), damping.end());
}

void FixedPointSearch::learn_secant() {
  if (history_.empty()) history_.resize(depth);
  std::rotate(history_.begin(), history_.end() - 1, history_.end());
  history_[0].along = x_;
  add(history_[0].along, -1.0, best_x_);
  history_[0].change = residual_;
  add(history_[0].change, -1.0, best_residual_);
  secants_ = std::min({secants_ + 1, depth, x_.size()});
}

void FixedPointSearch::orthonormalise_secants() {
  basis_.resize(depth);
  basis_size_ = 0;
  for (std::size_t k = 0; k < secants_; ++k) {
    Secant& next = basis_[basis_size_];
    next = history_[k];
    const double before = std::sqrt(dot(next.change, next.change));
    for (std::size_t j = 0; j < basis_size_; ++j) {
      const double part = dot(basis_[j].change, next.change);
      add(next.along, -part, basis_[j].along);
      add(next.change, -part, basis_[j].change);
    }
    const double length = std::sqrt(dot(next.change, next.change));
    if (length <= 1e-6 * before) break;  // says nothing that later secants do not
    for (double& x : next.along) x /= length;
    for (double& x : next.change) x /= length;
    ++basis_size_;
  }
}

void FixedPointSearch::stay_in_trust_region() {
  for (double& x : x_) x = std::clamp(x, 0.0, 1.0);
  const double distance = largest_difference(x_, best_x_);
  if (distance <= radius_) return;
  for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = best_x_[i] + (x_[i] - best_x_[i]) * (radius_ / distance);
}

}  // namespace sim
