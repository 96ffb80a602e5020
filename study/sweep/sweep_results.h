// Summarizes a finished study: which points meet its constraints, which are best, how much each choice gains, and how
// far answers can be trusted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/report/results.h"
#include "study/sweep/choice_tally.h"
#include "study/sweep/point_question.h"
#include "study/sweep/sweep_store.h"
#include "study/sweep/sweep_study.h"

namespace c3sim::study {

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
// a summary. The long file points.csv has every point: index, columns, whether it meets the constraints, whether it is
// on the front or ties with a point on it, and why it has no answer. Columns that do not apply to the study are left
// out. All arguments must outlive the long file.
Results sweep_results(const SweepStudy& study, const SweepStore& store, const Platforms& platforms);

}  // namespace c3sim::study
