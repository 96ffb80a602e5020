// What a finished study says: which points meet its constraints, which are best, how much a change buys, and how far
// that can be trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <vector>

#include "study/report/results.h"
#include "study/sweep/choice_tally.h"
#include "study/sweep/point_question.h"
#include "study/sweep/sweep_store.h"
#include "study/sweep/sweep_study.h"

namespace c3sim::study {

// The points of a stream that no other beats in every objective. Memory grows with the front, not with the stream.
class ParetoFront {
 public:
  struct Member {
    std::vector<Cost> costs;  // by objective
    std::uint64_t index = 0;
  };

  // A point joins unless a member is as good in all objectives; those that it beats leave. Of points with the same
  // costs the first stays.
  void add(std::vector<Cost> costs, std::uint64_t index);

  std::span<const Member> members() const { return members_; }

 private:
  std::vector<Member> members_;
};

class SweepResults {
 public:
  // Goes through the store once. All of it outlives this.
  SweepResults(const SweepStudy& study, const SweepStore& store, const Platforms& platforms);
  ~SweepResults();

  // A table of all points, or, of more than 1000, of those on fronts alone; charts of all, of medians where points were
  // drawn or are more than that, and none of more than a million; the best points of each case; how each choice does
  // over all of them; the parameters that were varied, with what each platform has and its source; sentences that sum
  // it up.
  Results results() const;
  // Every point: its index, its columns, whether it meets the constraints and is on the front or as good as a point on
  // it, where there are any, and why it has no answer.
  void write_csv(std::ostream& out) const;
  // How many points failed: they are no answers, and are asked again when the study is resumed.
  std::uint64_t failures() const;

 private:
  class Summary;
  std::unique_ptr<const Summary> summary_;
};

}  // namespace c3sim::study
