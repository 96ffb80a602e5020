// Finds x in [0, 1]^n with g(x) = x from one evaluation of g to the next, for a continuous g that tends to fall as x
// rises and has kinks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sim {

// A secant method in n dimensions, Anderson's mixing (J. ACM 12, 1965, pages 547-560), within a trust region: steps
// start from the best point so far, and each that does not get closer to a fixed point shortens the next. So a kink,
// where secants mislead, costs a few evaluations but ends no search. One step takes O(n) operations.
class FixedPointSearch {
 public:
  void start(std::span<const double> x);
  // The point at which g is to be evaluated next.
  std::span<const double> point() const { return x_; }
  // Moves on, given g at point(), where it may also lie outside [0, 1]^n, and for each dimension the part of g - x, in
  // (0, 1], that a step may safely follow: 1 / (1 + s) where g falls with slope s.
  void step(std::span<const double> image, std::span<const double> damping);
  // Returns to the best point so far.
  void give_up() { x_ = best_x_; }

 private:
  // Along `along` the residual g(x) - x changes by `change`.
  struct Secant {
    std::vector<double> along;
    std::vector<double> change;
  };
  static constexpr std::size_t depth = 6;

  void compare_with_best(std::span<const double> damping);
  void learn_secant();
  void orthonormalise_secants();
  void stay_in_trust_region();

  std::vector<double> x_;
  std::vector<double> residual_;
  bool has_best_ = false;
  std::vector<double> best_x_;
  std::vector<double> best_residual_;
  std::vector<double> best_damping_;
  double radius_ = 1.0;  // how far from best_x_ the next point may lie in any dimension
  std::size_t secants_ = 0;
  std::vector<Secant> history_;  // latest first
  std::size_t basis_size_ = 0;
  std::vector<Secant> basis_;  // spans the history, with orthonormal changes
};

}  // namespace sim
