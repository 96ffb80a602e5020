#include "study/sweep/sweep_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

namespace c3sim::study {

namespace {

constexpr std::size_t rows_at_once = 1000;  // of a CSV file

// The member of the least first cost.
const ParetoFront::Member& best_of(const ParetoFront& front) {
  return *std::ranges::min_element(front.members(), {}, [](const auto& member) { return member.costs.front(); });
}

}  // namespace

SweepResults::SweepResults(const SweepStudy& study, const SweepStore& store, const Platform& platform)
    : study_(study),
      store_(store),
      platform_(platform),
      columns_(study.columns()),
      points_(store.size() + store.failures()) {
  const std::size_t fidelity = place_of(columns_, "fidelity");
  for (const ChartAxes& axes : study.charts) {
    if (points_ <= most_charted) charts_.emplace_back(study, axes, points_ > most_rows || study.points.is_drawn());
  }
  store.for_each([&](const PointAnswer& answer) {
    if (answer.failed) {
      if (failed_++ == 0) first_failure_ = fmt::format("point {}: {}", answer.index, answer.fault);
      return;
    }
    if (!answer.fault.empty()) {
      if (first_fault_.empty()) first_fault_ = answer.fault;
      return;
    }
    ++answered_;
    for (SweepChart& chart : charts_) chart.add(answer);
    if (fidelity < columns_.size()) {
      if (const auto* const label = std::get_if<std::string>(&answer.cells[fidelity])) ++fidelities_[*label];
    }
    if (!meets(answer.cells)) return;
    ++met_;
    std::vector<double> costs;
    for (const Objective& objective : study.objectives) {
      if (const std::optional<double> cost = cost_of(objective, answer.cells)) costs.push_back(*cost);
    }
    if (!costs.empty() && costs.size() == study.objectives.size()) {
      fronts_[study.case_of(study.points.point(answer.index))].add(std::move(costs), answer.index);
    }
  });
  for (const auto& [which, front] : fronts_) {
    for (const ParetoFront::Member& member : front.members()) on_fronts_.push_back(member.index);
  }
  std::ranges::sort(on_fronts_);
  store.for_each([&](const PointAnswer& answer) {
    if (points_ <= most_rows || is_on_front(answer.index)) shown_.push_back(answer);
  });
}

bool SweepResults::is_on_front(std::uint64_t index) const { return std::ranges::binary_search(on_fronts_, index); }

// What a point chose.
std::string SweepResults::choice_of(std::uint64_t index) const {
  const Point point = study_.points.point(index);
  std::vector<std::string> chosen;
  for (std::size_t a = 0; a < point.values.size(); ++a) {
    if (study_.is_choice(a)) chosen.push_back(study_.points.axes()[a].name + ' ' + point.values[a].label);
  }
  return fmt::format("{}", fmt::join(chosen, ", "));
}

bool SweepResults::meets(const std::vector<Cell>& cells) const {
  return std::ranges::all_of(study_.constraints, [&](const Constraint& constraint) {
    const std::optional<double> value = number_of(cells[place_of(columns_, constraint.of)]);
    return value && (!constraint.at_least || *value >= *constraint.at_least) &&
           (!constraint.at_most || *value <= *constraint.at_most);
  });
}

std::optional<double> SweepResults::cost_of(const Objective& objective, const std::vector<Cell>& cells) const {
  std::optional<double> cost = number_of(cells[place_of(columns_, objective.of)]);
  if (cost && !objective.minimize) *cost = -*cost;
  return cost;
}

std::vector<Column> SweepResults::row_columns() const {
  std::vector<Column> columns{{"point", "point", ""}};
  columns.insert(columns.end(), columns_.begin(), columns_.end());
  if (!study_.constraints.empty()) columns.push_back({"meets_constraints", "meets constraints", ""});
  if (!study_.objectives.empty()) columns.push_back({"on_front", "on front", ""});
  if (answered_ < points_) columns.push_back({"fault", "fault", ""});
  return columns;
}

std::vector<Cell> SweepResults::row_of(const PointAnswer& answer) const {
  std::vector<Cell> row{static_cast<std::int64_t>(answer.index)};
  row.insert(row.end(), answer.cells.begin(), answer.cells.end());
  const bool answered = answer.fault.empty();
  if (!study_.constraints.empty()) row.emplace_back(answered && meets(answer.cells));
  if (!study_.objectives.empty()) row.emplace_back(answered && is_on_front(answer.index));
  if (answered_ < points_) row.push_back(answered ? Cell() : Cell(answer.fault));
  return row;
}

void SweepResults::write_csv(std::ostream& out) const {
  const ResultTable empty(row_columns());
  empty.write_csv(out);
  ResultTable table = empty;
  store_.for_each([&](const PointAnswer& answer) {
    table.add_row(row_of(answer));
    if (table.rows().size() < rows_at_once) return;
    table.write_csv_rows(out);
    table = empty;
  });
  table.write_csv_rows(out);
}

NamedTable SweepResults::table() const {
  ResultTable table(row_columns());
  for (const PointAnswer& answer : shown_) table.add_row(row_of(answer));
  const std::string which = points_ <= most_rows ? "" : fmt::format(": the best of {} points", points_);
  NamedTable named{"results", study_.name + which, std::move(table)};
  for (const SweepChart& each : charts_) {
    if (ScatterChart chart = each.chart(); !chart.series.empty()) named.charts.emplace_back(std::move(chart));
  }
  return named;
}

// Parameters of the platform that were varied or set, and what is known of them today.
NamedTable SweepResults::inputs() const {
  ResultTable table({{"parameter", "parameter", ""},
                     {"today", "today", ""},
                     {"kind", "kind", ""},
                     {"range", "range", ""},
                     {"asked", "asked for", ""},
                     {"source", "source", ""}});
  std::map<std::string, std::vector<std::string>> asked;
  for (const SweepAxis& axis : study_.points.axes()) {
    for (const AxisValue& value : axis.extremes()) {
      for (const Assignment& assignment : value.assignments) {
        std::vector<std::string>& values = asked[assignment.name];
        if (std::ranges::count(values, assignment.value) == 0) values.push_back(assignment.value);
      }
    }
  }
  for (const sim::Parameter& parameter : platform_.parameters) {
    const auto found = asked.find(parameter.path);
    if (found == asked.end()) continue;
    const std::string range = parameter.low.empty() ? "" : parameter.low + " to " + parameter.high;
    const std::vector<std::string>& values = found->second;
    std::string text = values.front();
    if (values.size() > 1) text += (values.size() > 2 ? " ... " : ", ") + values.back();
    table.add_row({parameter.path, parameter.value, parameter.kind, range, text, parameter.source});
  }
  return {"inputs", "What was varied, and what is known of it today", std::move(table)};
}

// One row for each case and each quantity that is an objective; the least value of an axis is no news.
NamedTable SweepResults::best() const {
  ResultTable table({{"case", "case", ""},
                     {"objective", "objective", ""},
                     {"value", "value", ""},
                     {"unit", "unit", ""},
                     {"point", "point", ""},
                     {"choice", "choice", ""}});
  for (const auto& [which, front] : fronts_) {
    for (std::size_t o = 0; o < study_.objectives.size(); ++o) {
      const auto best = std::ranges::min_element(front.members(), {}, [o](const auto& each) { return each.costs[o]; });
      const Objective& objective = study_.objectives[o];
      const std::size_t place = place_of(columns_, objective.of);
      if (place + study_.quantities.size() < columns_.size()) continue;
      const Column& column = columns_[place];
      table.add_row({study_.name_of(which), (objective.minimize ? "least " : "greatest ") + column.heading,
                     objective.minimize ? best->costs[o] : -best->costs[o], column.unit,
                     static_cast<std::int64_t>(best->index), choice_of(best->index)});
    }
  }
  return {"best", "The best points", std::move(table)};
}

// Of each case, the least first cost of the points with each value of an axis.
std::map<SweepStudy::Case, std::map<std::string, double>> SweepResults::least_by_value(std::size_t axis) const {
  std::map<SweepStudy::Case, std::map<std::string, double>> least;
  for (const PointAnswer& answer : shown_) {
    const std::optional<double> cost = cost_of(study_.objectives.front(), answer.cells);
    if (!cost || !answer.fault.empty() || !meets(answer.cells)) continue;
    const Point point = study_.points.point(answer.index);
    const auto [found, is_new] = least[study_.case_of(point)].emplace(point.values[axis].label, *cost);
    found->second = std::min(found->second, *cost);
  }
  return least;
}

// The value of an axis that the best points of most cases have, and those that as many have. A case in which every
// value does as well says nothing, though the cheapest of them stands for it.
std::string SweepResults::best_value(std::size_t axis) const {
  constexpr double alike = 1e-3;
  const std::vector<AxisValue>& values = study_.points.axes()[axis].values;
  std::map<std::string, std::size_t> times;
  std::size_t most = 0;
  std::size_t indifferent = 0;
  const auto least = least_by_value(axis);
  for (const auto& [which, front] : fronts_) {
    const std::map<std::string, double>& costs = least.at(which);
    const auto [low, high] = std::ranges::minmax_element(costs, {}, [](const auto& each) { return each.second; });
    if (costs.size() == values.size() && high->second - low->second <= alike * std::abs(low->second)) {
      ++indifferent;
    } else {
      most = std::max(most, ++times[study_.points.point(best_of(front).index).values[axis].label]);
    }
  }
  if (most == 0) return "any";
  std::vector<std::string> chosen;  // in the order of the file
  for (const AxisValue& value : values) {
    if (const auto found = times.find(value.label); found != times.end() && found->second == most) {
      chosen.push_back(value.label);
    }
  }
  std::string text = fmt::format("{} ({} of {}", chosen.front(), most, fronts_.size());
  if (chosen.size() > 1) text += fmt::format(", tied with {}", fmt::join(chosen.begin() + 1, chosen.end(), ", "));
  if (indifferent > 0) text += fmt::format("; all do as well in {}", indifferent);
  return text + ")";
}

// How much better the best of each case is than the first choice of every axis, and what it most often chose.
std::string SweepResults::gain_sentence() const {
  if (fronts_.empty() || points_ > most_rows) return {};
  const Objective& objective = study_.objectives.front();
  std::optional<double> least;
  std::optional<double> greatest;
  std::string first;
  for (const PointAnswer& answer : shown_) {
    const Point point = study_.points.point(answer.index);
    const std::optional<double> cost = cost_of(objective, answer.cells);
    const auto front = fronts_.find(study_.case_of(point));
    if (!cost || front == fronts_.end() || !study_.is_first_choice(point)) continue;
    const double ratio = std::abs(best_of(front->second).costs.front()) / std::abs(*cost);
    least = std::min(least.value_or(ratio), ratio);
    greatest = std::max(greatest.value_or(ratio), ratio);
    first = choice_of(answer.index);
  }
  if (!least || first.empty()) return {};
  std::vector<std::string> best;
  for (std::size_t a = 0; a < study_.points.axes().size(); ++a) {
    const SweepAxis& axis = study_.points.axes()[a];
    if (study_.is_choice(a) && !axis.interval) best.push_back(axis.name + ' ' + best_value(a));
  }
  return fmt::format("The {} {} is {:.2f} to {:.2f} times that of {}, by case; most often best: {}.",
                     objective.minimize ? "least" : "greatest", columns_[place_of(columns_, objective.of)].heading,
                     *least, *greatest, first, fmt::join(best, ", "));
}

std::vector<std::string> SweepResults::sentences() const {
  std::vector<std::string> sentences;
  if (!study_.about.empty()) sentences.push_back(study_.about);
  std::string count = fmt::format("{} points", points_);
  if (const std::uint64_t impossible = points_ - failed_ - answered_; impossible > 0) {
    count += fmt::format(", of which {} are impossible on their machine (the first: {})", impossible, first_fault_);
  }
  if (!study_.constraints.empty()) count += fmt::format("; {} meet the constraints", met_);
  if (!study_.objectives.empty()) {
    count += fmt::format("; {} on the Pareto front{}", on_fronts_.size(), fronts_.size() > 1 ? "s of their cases" : "");
  }
  sentences.push_back(count + ".");
  for (std::size_t c = 0; c < study_.charts.size(); ++c) {
    sentences.push_back(c < charts_.size()
                            ? charts_[c].sentence()
                            : fmt::format("{} by {} is not drawn: charts are of at most {} points.", study_.charts[c].y,
                                          study_.charts[c].x, std::uint64_t{most_charted}));
  }
  sentences.push_back(gain_sentence());
  std::erase(sentences, "");
  if (const auto shown = std::ranges::count(study_.quantities, true, &Column::in_text);
      study_.question.ask() == Ask::run && static_cast<std::size_t>(shown) < study_.quantities.size()) {
    sentences.push_back(
        fmt::format("Tables show {} of {} quantities: `columns` in the study chooses, and points.csv "
                    "of --out has all.",
                    shown, study_.quantities.size()));
  }
  std::string fidelity;
  for (const auto& [label, number] : fidelities_)
    fidelity += fmt::format("{}{} {}", fidelity.empty() ? "" : ", ", number, label);
  if (!fidelity.empty()) sentences.push_back("Fidelity of the answers: " + fidelity + ".");
  if (failed_ > 0) {
    sentences.push_back(
        fmt::format("{} of {} points failed and have no answer ({}{}): where --out keeps the others, "
                    "the same command with --resume asks for these again.",
                    failed_, points_, failed_ > 1 ? "the first, " : "", first_failure_));
  }
  return sentences;
}

Results SweepResults::results() const {
  Results results{platform_.spec.name, {table()}, {}, {}, study_.name, sentences()};
  if (!fronts_.empty()) results.tables.push_back(best());
  NamedTable varied = inputs();
  if (!varied.table.rows().empty()) results.tables.push_back(std::move(varied));
  return results;
}

}  // namespace c3sim::study
