// How long a request takes through a resource that others load: the queueing curve, and the search for the state in
// which a load causes the latency that causes the load.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/units.h"

namespace sim {

// Latency of a resource at utilisation u: unloaded * (1 + factor * u^exponent / (1 - min(u, ceiling))). It is the mean
// wait of a queue (Kleinrock, Queueing Systems I, section 5.7: u / (1 - u) of a service time, up to a factor), cut off
// where finite buffers hold requests back at their source: increasing and continuous, finite at u = 1.
struct LoadedLatency {
  Time unloaded{0};
  double factor = 0.0;  // 0: latency does not depend on load
  double exponent = 2.0;
  double ceiling = 0.95;

  bool depends_on_load() const { return unloaded > Time(0) && factor > 0.0; }
  // `utilisation` in [0, 1].
  Seconds at(double utilisation) const;
};

// Finds x in [0, 1]^n with g(x) = x, for a continuous g into [0, 1]^n that falls as x rises, from one evaluation of g
// to the next. A secant method in n dimensions: Anderson's mixing (J. ACM 12, 1965) over the last steps, and in one
// dimension a bracket besides, which no step leaves.
class FixedPointSearch {
 public:
  void start(std::span<const double> x);
  // The point at which g is to be evaluated next.
  std::span<const double> point() const { return x_; }
  // Moves on, given g at point().
  void step(std::span<const double> image);

 private:
  // Along `along` the residual g(x) - x changes by `change`. Kept with `change` orthonormal to those of later steps.
  struct Secant {
    std::vector<double> along;
    std::vector<double> change;
  };
  static constexpr std::size_t depth = 6;

  void learn();
  void orthonormalise();
  void stay_in_bracket();

  std::vector<double> x_;
  std::vector<double> residual_;
  std::vector<double> last_x_;
  std::vector<double> last_residual_;
  std::vector<Secant> history_;  // latest first
  std::vector<Secant> basis_;
  std::size_t secants_ = 0;
  bool started_ = false;
  double low_ = 0.0;
  double high_ = 1.0;
};

}  // namespace sim
