// Summarizes a finished study: which points meet its constraints, which are best, how much each choice gains, and how
// far answers can be trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/report/results.h"
#include "study/sweep/point_question.h"
#include "study/sweep/sweep_axis.h"
#include "study/sweep/sweep_store.h"
#include "study/sweep/sweep_study.h"

namespace c3sim::study {

// The cost of a point: less is better. `low` and `high`, if asked for, enclose it with 90 % probability.
struct Cost {
  double value = 0.0;
  std::optional<double> low{};
  std::optional<double> high{};
};

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

// Collects the points of a stream that no other point beats in every objective. Memory grows with the front only.
class ParetoFront {
 public:
  struct Member {
    std::vector<Cost> costs;  // by objective
    std::uint64_t index = 0;
  };

  // Adds a point unless a member is at least as good in all objectives, and removes members that the point is at least
  // as good as. The first of several points with equal costs stays.
  void add(std::vector<Cost> costs, std::uint64_t index);

  std::span<const Member> members() const { return members_; }

 private:
  std::vector<Member> members_;
};

// Reads the whole store. Returns a table of all points, or only of those on fronts if there are more than 1000; charts,
// of medians if points were drawn or are more than 1000, and none for more than a million points; the best points of
// each case; how each choice does over all cases; the varied parameters with each platform's value and its source; and
// a summary. A study with summaries has their tables behind that of the points, which texts then leave out. The long
// file points.csv has every point: index, columns, whether it meets the constraints, whether it is on the front or ties
// with a point on it, and why it has no answer. Columns that do not apply to the study are left out. All arguments must
// outlive the long file.
Results sweep_results(const SweepStudy& study, const SweepStore& store, const Platforms& platforms);

}  // namespace c3sim::study
