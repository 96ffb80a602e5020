// What a finished study says: which points meet its constraints, which are best, how much a change buys, and how far
// that can be trusted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "study/report/results.h"
#include "study/sweep/point_question.h"
#include "study/sweep/sweep_store.h"
#include "study/sweep/sweep_study.h"

namespace c3sim::study {

// What a point costs, less being better, and where that lies with 90 % probability, if that was asked for.
struct Cost {
  double value = 0.0;
  std::optional<double> low{};
  std::optional<double> high{};
};

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
