// FixedPointSearch finds x in [0, 1]^n with g(x) = x, one evaluation of g at a time. It is made for a continuous g that
// falls as x rises, steeply in places, and has kinks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace c3sim::sim {

// Each dimension moves towards g by its own step length, which grows while the direction stays and shrinks when it
// turns (after Rprop: Riedmiller and Braun, IEEE Int. Conf. on Neural Networks 1993). Secant and Newton methods take
// half as many evaluations where g is smooth, but circled around kinks for ever in up to a fifth of the busy networks
// tried. This search extrapolates nothing, so that it also settles at kinks and in dimensions that oppose each other.
class FixedPointSearch {
 public:
  void start(std::span<const double> x);
  // Returns the point at which the caller evaluates g next.
  std::span<const double> point() const { return x_; }
  // Takes the next step, given `image` = g(point()).
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
