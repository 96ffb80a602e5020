// How the choices of a study do over all its cases: what a point costs, which costs nobody can tell apart, and how far
// behind the best each choice leaves whoever makes it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/report/results.h"
#include "study/sweep/sweep_axis.h"
#include "study/sweep/sweep_study.h"

namespace c3sim::study {

// What a point costs, less being better, and where that lies with 90 % probability, if that was asked for.
struct Cost {
  double value = 0.0;
  std::optional<double> low{};
  std::optional<double> high{};
};

// Whether nobody could tell a point from the best: by their intervals, of which each holds the other's value, or by 1
// %.
bool tie(const Cost& one, const Cost& best);

// How each value of each axis that is a choice does over all cases: in how many the best point with it is the best of
// all, or no further off than answers can be told apart, and how far behind it is where it does worst.
class ChoiceTally {
 public:
  // The study outlives it.
  explicit ChoiceTally(const SweepStudy& study);

  // A point that has an answer and meets the constraints.
  void add(const Point& point, const Cost& cost);

  // One row for each value of each choice; no row without two cases or two values.
  NamedTable table() const;
  // One for each choice.
  std::vector<std::string> sentences() const;

 private:
  struct Record {
    std::size_t answered = 0;  // cases in which any point with this value has an answer
    std::size_t best = 0;      // of these, in which none is better
    std::size_t alone = 0;     // of these, in which no other value does as well
    // How much worse than the best it is, as a share of it; none where a sign changes between the two.
    double worst = 0.0;
    std::string worst_case;
    bool has_share = true;
  };
  using Records = std::vector<Record>;  // by value of the axis
  Records records_of(std::size_t axis) const;
  std::string sentence(std::size_t axis) const;

  const SweepStudy& study_;
  std::vector<std::size_t> choices_;  // places of axes
  // By choice and case the best cost of each value.
  std::vector<std::map<SweepStudy::Case, std::vector<std::optional<Cost>>>> least_;
};

}  // namespace c3sim::study
