// Which points a study has. The values of a point depend on its index alone, so that any worker can make any point and
// nobody keeps a list.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "sim/config/choice.h"
#include "sim/config/config_section.h"
#include "study/sweep/sweep_axis.h"

namespace c3sim::study {

// grid: every combination, the last axis fastest. The others draw from the unit cube, an axis a dimension, and give
// listed values equal parts of it: `random` independently; `latin_hypercube` so that each of n equal slices of every
// axis holds one of n points (McKay, Beckman and Conover 1979); `sobol` as Sobol's sequence (direction numbers of Joe
// and Kuo, by Boost.Random), whose points fill the cube evenly.
enum class Method { grid, random, latin_hypercube, sobol };
constexpr auto all_names(Method) { return sim::names("grid", "random", "latin_hypercube", "sobol"); }

struct PointSampling {
  Method method = Method::grid;
  std::uint64_t points = 0;  // that are drawn; of no meaning for a grid
  std::uint64_t seed = 1;
};

// Reads `sampling: {method: sobol, points: 4096, seed: 7}`.
PointSampling read_sampling(sim::Section section);

class PointSequence {
 public:
  static constexpr std::uint64_t too_many = std::numeric_limits<std::uint64_t>::max();

  PointSequence(std::vector<SweepAxis> axes, PointSampling sampling) : axes_(std::move(axes)), sampling_(sampling) {}

  const std::vector<SweepAxis>& axes() const { return axes_; }
  bool is_drawn() const { return sampling_.method != Method::grid; }
  std::uint64_t size() const;              // too_many where the count overflows
  Point point(std::uint64_t index) const;  // index < size()

 private:
  Point on_grid(std::uint64_t index) const;
  std::vector<double> in_cube(std::uint64_t index) const;

  std::vector<SweepAxis> axes_;
  PointSampling sampling_;
};

}  // namespace c3sim::study
