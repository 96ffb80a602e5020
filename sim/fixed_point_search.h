// Finds x in [0, 1]^n with g(x) = x from one evaluation of g to the next, for a continuous g that falls as x rises,
// steeply in places, and has kinks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace c3sim::sim {

// Each dimension goes towards g by a step length of its own, which grows while the direction stays and shrinks as it
// turns (after Rprop: Riedmiller and Braun, IEEE Int. Conf. on Neural Networks 1993). Nothing is extrapolated, so kinks
// do no harm, and dimensions that work against each other come to rest: secant and Newton methods take half as many
// evaluations where g is smooth, but circle round kinks for ever in up to a fifth of the busy networks tried.
class FixedPointSearch {
 public:
  void start(std::span<const double> x);
  // The point at which g is to be evaluated next.
  std::span<const double> point() const { return x_; }
  // Moves on, given g at point().
  void step(std::span<const double> image);

 private:
  struct Dimension {
    double step;
    double last_residual;
  };
  std::vector<double> x_;
  std::vector<Dimension> dimensions_;
};

}  // namespace c3sim::sim
