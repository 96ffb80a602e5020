// Compares the values of each choice of a study over all of its cases: in how many cases a value is best or ties with
// the best, and how far behind the best it leaves a point where it does worst.
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

// The cost of a point: less is better. `low` and `high`, if asked for, enclose it with 90 % probability.
struct Cost {
  double value = 0.0;
  std::optional<double> low{};
  std::optional<double> high{};
};

// Returns whether a cost ties with the best: they differ by at most 1 %, or each lies in the other's interval.
bool tie(const Cost& one, const Cost& best);

// A ChoiceTally counts, for each value of each axis that is a choice, in how many cases the best point with that value
// ties with the best of all, and how far behind it is in the case where it does worst.
class ChoiceTally {
 public:
  // The study must outlive the tally.
  explicit ChoiceTally(const SweepStudy& study);

  // Adds a point that has an answer and meets the constraints.
  void add(const Point& point, const Cost& cost);

  // Returns one row for each value of each choice.
  NamedTable table() const;
  // Returns one sentence for each choice.
  std::vector<std::string> sentences() const;

 private:
  struct Record {
    std::size_t answered = 0;  // cases in which any point with this value has an answer
    std::size_t best = 0;      // of the answered cases, those in which the value is best or ties with the best
    std::size_t alone = 0;     // of the best cases, those in which no other value does as well
    // `worst` is the largest regret; `has_share` is false where a cost and the best differ in sign.
    double worst = 0.0;
    std::string worst_case;
    bool has_share = true;
  };
  using Records = std::vector<Record>;  // by value of the axis
  Records records_of(std::size_t axis) const;
  std::string sentence(std::size_t axis) const;

  const SweepStudy& study_;
  std::vector<std::size_t> choices_;  // indices of axes
  // Holds, by choice and case, the best cost of each value.
  std::vector<std::map<SweepStudy::Case, std::vector<std::optional<Cost>>>> least_;
};

}  // namespace c3sim::study
