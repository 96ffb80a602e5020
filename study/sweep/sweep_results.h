// What a finished study says: which points meet its constraints, which are best, how much a change buys, and how far
// that can be trusted.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "study/report/results.h"
#include "study/run/platform_file.h"
#include "study/sweep/choice_tally.h"
#include "study/sweep/machine_cache.h"
#include "study/sweep/sweep_chart.h"
#include "study/sweep/sweep_store.h"
#include "study/sweep/sweep_study.h"

namespace c3sim::study {

class SweepResults {
 public:
  static constexpr std::uint64_t most_rows = 1000;          // of a table for people; the file of points has all
  static constexpr std::uint64_t most_charted = 1'000'000;  // points that are kept for a chart

  // Goes through the store once. All of it outlives this.
  SweepResults(const SweepStudy& study, const SweepStore& store, const Platforms& platforms);

  // A table of all points, or of those on fronts alone where they are more than most_rows; charts of all, of medians
  // where points were drawn or are more than that; the best points of each case; how
  // each choice does over all of them; the parameters that were varied, with what each platform has and its source;
  // sentences that sum it up.
  Results results() const;
  // Every point: its index, its columns, whether it meets the constraints and is on the front or as good as a point on
  // it, where there are any, and why it has no answer.
  void write_csv(std::ostream& out) const;
  // How many points failed: they are no answers, and are asked again when the study is resumed.
  std::uint64_t failures() const { return failed_; }

 private:
  // Of a point among those of its case: nobody can tell one that is as good from a member of their front.
  enum class Standing { member, as_good, behind };
  // The points that nobody can tell from the best in one objective, that one among them.
  struct Ties {
    static constexpr std::size_t most_named = 3;
    std::vector<std::uint64_t> first{};
    std::uint64_t points = 0;
  };

  bool meets(const std::vector<Cell>& cells) const;
  bool is_on_front(std::uint64_t index) const;
  bool is_of_axis(const Objective& objective) const;
  Standing standing_of(const PointAnswer& answer);
  // What the objective has less of where it is better; none where the point has no number of it.
  std::optional<double> cost_of(const Objective& objective, const std::vector<Cell>& cells) const;
  // The same in each objective of which the point has a number, with where it lies.
  std::vector<Cost> costs_of(const std::vector<Cell>& cells) const;
  // One end of where that lies; none where no interval was asked for.
  std::optional<double> bound_of(const Objective& objective, const std::vector<Cell>& cells, bool low) const;
  std::vector<Cell> row_of(const PointAnswer& answer) const;
  std::vector<Column> row_columns() const;
  std::string choice_of(std::uint64_t index) const;
  std::string choices_of(const Ties& ties) const;

  NamedTable table() const;
  NamedTable best() const;
  NamedTable inputs() const;
  std::string gain_sentence() const;
  std::vector<std::string> unchanged_sentences() const;
  std::vector<std::string> sentences() const;
  // Those that points ask, by name.
  std::vector<const Platform*> platforms_asked() const;

  const SweepStudy& study_;
  const SweepStore& store_;
  const Platforms& platforms_;
  std::vector<Column> columns_;
  ChoiceTally tally_;
  std::uint64_t points_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t met_ = 0;
  std::uint64_t failed_ = 0;
  std::string first_fault_;
  std::string first_failure_;
  std::map<SweepStudy::Case, ParetoFront> fronts_;
  std::vector<std::uint64_t> on_fronts_;                // their members and those that are as good, ascending
  std::uint64_t as_good_ = 0;                           // of these
  std::map<SweepStudy::Case, std::vector<Ties>> ties_;  // by objective
  std::map<std::string, std::uint64_t> fidelities_;
  std::vector<PointAnswer> shown_;  // the rows of the table
  std::vector<SweepChart> charts_;  // by chart of the study; none of too many points
};

}  // namespace c3sim::study
