#include "study/sweep/sampling.h"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/random/sobol.hpp>
#include <utility>

namespace c3sim::study {

namespace {

// A 64-bit number that looks random and depends on all bits of its input: the finaliser of SplitMix64 (Steele, Lea and
// Flood, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t axis, std::uint64_t index) {
  return mixed(mixed(mixed(seed) ^ axis) ^ index);
}

double to_unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Where `index` comes to in a random order of 0 to size - 1: a Feistel network over the next even number of bits,
// walked until it lands inside (Black and Rogaway, CT-RSA 2002). It costs no memory.
std::uint64_t shuffled(std::uint64_t index, std::uint64_t size, std::uint64_t key) {
  const int half = (std::max(static_cast<int>(std::bit_width(size - 1)), 2) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = index >> half;
    std::uint64_t right = index & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      left = std::exchange(right, left ^ (mixed(key, round, right) & mask));
    }
    index = left << half | right;
  } while (index >= size);
  return index;
}

std::vector<double> sobol_point(std::uint64_t index, std::size_t dimensions) {
  boost::random::sobol sequence(dimensions);
  sequence.seed(index);
  std::vector<double> place(dimensions);
  for (double& u : place) u = to_unit(sequence());
  return place;
}

}  // namespace

PointSampling read_sampling(sim::Section section) {
  PointSampling sampling;
  sampling.method = section.choice<Method>("method", sim::choices_of<Method>());
  if (sampling.method == Method::grid) return sampling;
  sampling.points = static_cast<std::uint64_t>(section.integer("points", 1, 1'000'000'000'000));
  if (sampling.method == Method::sobol) return sampling;
  sampling.seed = static_cast<std::uint64_t>(section.integer("seed", 0, 1'000'000'000'000, 1));
  return sampling;
}

std::uint64_t PointSequence::size() const {
  if (sampling_.method != Method::grid) return sampling_.points;
  std::uint64_t count = 1;
  for (const SweepAxis& axis : axes_) {
    if (__builtin_mul_overflow(count, axis.values.size(), &count)) return too_many;
  }
  return count;
}

Point PointSequence::point(std::uint64_t index) const {
  if (sampling_.method == Method::grid) return on_grid(index);
  Point point{index, {}};
  const std::vector<double> place = in_cube(index);
  for (std::size_t a = 0; a < axes_.size(); ++a) point.values.push_back(axes_[a].at(place[a]));
  return point;
}

Point PointSequence::on_grid(std::uint64_t index) const {
  Point point{index, std::vector<AxisValue>(axes_.size())};
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const std::size_t count = axes_[a].values.size();
    point.values[a] = axes_[a].values[index % count];
    index /= count;
  }
  return point;
}

std::vector<double> PointSequence::in_cube(std::uint64_t index) const {
  if (sampling_.method == Method::sobol) return sobol_point(index, axes_.size());
  std::vector<double> place(axes_.size());
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const double u = to_unit(mixed(sampling_.seed, a, index));
    if (sampling_.method == Method::random) {
      place[a] = u;
    } else {
      const std::uint64_t slice = shuffled(index, sampling_.points, mixed(sampling_.seed, a, ~std::uint64_t{0}));
      place[a] = (static_cast<double>(slice) + u) / static_cast<double>(sampling_.points);
    }
  }
  return place;
}

}  // namespace c3sim::study
