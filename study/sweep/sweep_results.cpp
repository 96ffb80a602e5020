#include "study/sweep/sweep_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "study/sweep/sweep_charts.h"

namespace c3sim::study {

namespace {

constexpr std::size_t rows_at_once = 1000;  // of a CSV file

std::optional<double> number(const Cell& cell) {
  if (const auto* const value = std::get_if<double>(&cell)) return *value;
  if (const auto* const value = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*value);
  return {};
}

}  // namespace

SweepResults::SweepResults(const SweepStudy& study, const SweepStore& store, const Platform& platform)
    : study_(study), store_(store), platform_(platform), columns_(study.columns()), points_(store.size()) {
  std::vector<std::size_t> places;
  for (const Objective& objective : study.objectives) places.push_back(place_of(objective.of));
  const std::size_t fidelity = place_of("fidelity");
  store.for_each([&](const PointAnswer& answer) {
    if (!answer.fault.empty()) {
      if (first_fault_.empty()) first_fault_ = answer.fault;
      return;
    }
    ++answered_;
    if (fidelity < columns_.size()) {
      if (const auto* const label = std::get_if<std::string>(&answer.cells[fidelity])) ++fidelities_[*label];
    }
    if (!meets(answer.cells)) return;
    ++met_;
    std::vector<double> costs;
    for (std::size_t o = 0; o < places.size(); ++o) {
      const std::optional<double> value = number(answer.cells[places[o]]);
      if (value) costs.push_back(study.objectives[o].minimize ? *value : -*value);
    }
    if (!costs.empty() && costs.size() == places.size()) {
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

std::size_t SweepResults::place_of(const std::string& key) const {
  return static_cast<std::size_t>(std::ranges::find(columns_, key, &Column::key) - columns_.begin());
}

bool SweepResults::is_on_front(std::uint64_t index) const { return std::ranges::binary_search(on_fronts_, index); }

// What a point chose of the axes that vary and are no cases.
std::string SweepResults::choice_of(std::uint64_t index) const {
  const Point point = study_.points.point(index);
  std::string text;
  for (std::size_t a = 0; a < point.values.size(); ++a) {
    const SweepAxis& axis = study_.points.axes()[a];
    if (!axis.varies() || std::ranges::count(study_.cases, a) > 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis.name, point.values[a].label);
  }
  return text;
}

bool SweepResults::meets(const std::vector<Cell>& cells) const {
  return std::ranges::all_of(study_.constraints, [&](const Constraint& constraint) {
    const std::optional<double> value = number(cells[place_of(constraint.of)]);
    return value && (!constraint.at_least || *value >= *constraint.at_least) &&
           (!constraint.at_most || *value <= *constraint.at_most);
  });
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
  ResultTable(row_columns()).write_csv(out);
  std::optional<ResultTable> table;
  const auto flush = [&] {
    if (table) table->write_csv_rows(out);
    table.emplace(row_columns());
  };
  flush();
  store_.for_each([&](const PointAnswer& answer) {
    table->add_row(row_of(answer));
    if (table->rows().size() >= rows_at_once) flush();
  });
  flush();
}

NamedTable SweepResults::table() const {
  ResultTable table(row_columns());
  for (const PointAnswer& answer : shown_) table.add_row(row_of(answer));
  const std::string which = points_ <= most_rows ? "" : fmt::format(": the best of {} points", points_);
  NamedTable named{"results", study_.name + which, std::move(table)};
  if (points_ > most_rows) return named;
  for (const ChartAxes& axes : study_.charts) named.charts.emplace_back(sweep_chart(study_, shown_, axes));
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
      const std::size_t place = place_of(objective.of);
      if (place + study_.quantities.size() < columns_.size()) continue;
      const Column& column = columns_[place];
      table.add_row({study_.name_of(which), (objective.minimize ? "least " : "greatest ") + column.heading,
                     objective.minimize ? best->costs[o] : -best->costs[o], column.unit,
                     static_cast<std::int64_t>(best->index), choice_of(best->index)});
    }
  }
  return {"best", "The best points", std::move(table)};
}

// How much better the best of each case is than the first choice of every axis, and what it most often chose.
std::string SweepResults::gain_sentence() const {
  if (fronts_.empty() || points_ > most_rows) return {};
  const Objective& objective = study_.objectives.front();
  const std::size_t place = place_of(objective.of);
  std::optional<double> least;
  std::optional<double> greatest;
  std::string first;
  std::map<std::size_t, std::map<std::string, int>> choices;  // by axis: how often a label was best
  for (const PointAnswer& answer : shown_) {
    const Point point = study_.points.point(answer.index);
    const std::optional<double> value = number(answer.cells[place]);
    const auto front = fronts_.find(study_.case_of(point));
    if (!value || front == fronts_.end() || !study_.is_first_choice(point)) continue;
    const auto best =
        std::ranges::min_element(front->second.members(), {}, [](const auto& member) { return member.costs.front(); });
    const double ratio = std::abs(best->costs.front()) / std::abs(*value);
    least = std::min(least.value_or(ratio), ratio);
    greatest = std::max(greatest.value_or(ratio), ratio);
    first = choice_of(answer.index);
    const Point chosen = study_.points.point(best->index);
    for (std::size_t a = 0; a < chosen.values.size(); ++a) ++choices[a][chosen.values[a].label];
  }
  if (!least || first.empty()) return {};
  std::string text =
      fmt::format("The {} {} is {:.2f} to {:.2f} times that of {}, by case; most often best:",
                  objective.minimize ? "least" : "greatest", columns_[place].heading, *least, *greatest, first);
  std::string separator = " ";
  for (const auto& [a, labels] : choices) {
    const SweepAxis& axis = study_.points.axes()[a];
    if (!axis.varies() || std::ranges::count(study_.cases, a) > 0) continue;
    const auto most = std::ranges::max_element(labels, {}, [](const auto& label) { return label.second; });
    text += fmt::format("{}{} {} ({} of {})", separator, axis.name, most->first, most->second, fronts_.size());
    separator = ", ";
  }
  return text + ".";
}

std::vector<std::string> SweepResults::sentences() const {
  std::vector<std::string> sentences;
  if (!study_.about.empty()) sentences.push_back(study_.about);
  std::string count = fmt::format("{} points", points_);
  if (answered_ < points_) {
    count +=
        fmt::format(", of which {} are impossible on their machine (the first: {})", points_ - answered_, first_fault_);
  }
  if (!study_.constraints.empty()) count += fmt::format("; {} meet the constraints", met_);
  if (!study_.objectives.empty()) {
    count += fmt::format("; {} on the Pareto front{}", on_fronts_.size(), fronts_.size() > 1 ? "s of their cases" : "");
  }
  sentences.push_back(count + ".");
  for (const ChartAxes& axes : study_.charts) {
    const bool is_case = std::ranges::any_of(
        study_.cases, [&](std::size_t place) { return study_.points.axes()[place].column().key == axes.x; });
    std::string text = points_ <= most_rows && !is_case ? saturation_sentence(study_, shown_, axes) : "";
    if (!text.empty()) sentences.push_back(std::move(text));
  }
  if (std::string text = gain_sentence(); !text.empty()) sentences.push_back(std::move(text));
  std::string fidelity;
  for (const auto& [label, number] : fidelities_)
    fidelity += fmt::format("{}{} {}", fidelity.empty() ? "" : ", ", number, label);
  if (!fidelity.empty()) sentences.push_back("Fidelity of the answers: " + fidelity + ".");
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
