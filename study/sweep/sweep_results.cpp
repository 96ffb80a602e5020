#include "study/sweep/sweep_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "study/sweep/sweep_chart.h"

namespace c3sim::study {

namespace {

bool is_better(const Cost& one, const Cost& other) { return one.value < other.value; }

// Returns the extra cost as a share of the better cost; costs of maximized quantities are negative.
std::optional<double> regret(double cost, double best) {
  if (cost == best) return 0.0;
  if (cost * best <= 0.0) return {};
  return best > 0.0 ? cost / best - 1.0 : best / cost - 1.0;
}

std::string percent_text(double share) {
  const double percent = 100.0 * share;
  return percent < 9.95 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

// Returns whether a cost ties with the best: they differ by at most 1 %, or each lies in the other's interval.
bool tie(const Cost& one, const Cost& best) {
  if (std::abs(one.value - best.value) <= worth_having * std::abs(best.value)) return true;
  const auto holds = [](const Cost& cost, double value) {
    return cost.low && cost.high && *cost.low <= value && value <= *cost.high;
  };
  return holds(one, best.value) && holds(best, one.value);
}

bool is_no_worse(const std::vector<Cost>& one, const std::vector<Cost>& other) {
  return std::ranges::equal(one, other, std::less_equal<>(), &Cost::value, &Cost::value);
}

constexpr std::size_t rows_at_once = 1000;  // written to a CSV file

// Returns the member with the least cost in an objective.
const ParetoFront::Member& best_of(const ParetoFront& front, std::size_t objective) {
  return *std::ranges::min_element(front.members(), {},
                                   [=](const auto& member) { return member.costs[objective].value; });
}

// Joins what platforms say of a parameter: one text where all agree, else each with the platform's name.
std::string said_by(const std::vector<const Platform*>& platforms, const std::vector<std::string>& texts) {
  if (std::ranges::count(texts, texts.front()) == std::ssize(texts)) return texts.front();
  std::string text;
  for (std::size_t i = 0; i < platforms.size(); ++i) {
    if (!texts[i].empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", platforms[i]->title, texts[i]);
  }
  return text;
}

}  // namespace

ChoiceTally::ChoiceTally(const SweepStudy& study) : study_(study) {
  const std::vector<SweepAxis>& axes = study.points.axes();
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (study.is_choice(axis) && !axes[axis].interval) choices_.push_back(axis);
  }
  least_.resize(choices_.size());
}

void ChoiceTally::add(const Point& point, const Cost& cost) {
  const SweepStudy::Case which = study_.case_of(point);
  for (std::size_t c = 0; c < choices_.size(); ++c) {
    const SweepAxis& axis = study_.points.axes()[choices_[c]];
    auto& least = least_[c].try_emplace(which, axis.values.size()).first->second;
    std::optional<Cost>& known = least[axis.place_of(point.values[choices_[c]].label)];
    if (!known || is_better(cost, *known)) known = cost;
  }
}

ChoiceTally::Records ChoiceTally::records_of(std::size_t choice) const {
  Records records(study_.points.axes()[choices_[choice]].values.size());
  for (const auto& [which, costs] : least_[choice]) {
    const Cost* best = nullptr;
    for (const std::optional<Cost>& cost : costs) {
      if (cost && (best == nullptr || is_better(*cost, *best))) best = &*cost;
    }
    const auto as_good = std::ranges::count_if(costs, [&](const auto& cost) { return cost && tie(*cost, *best); });
    for (std::size_t v = 0; v < costs.size(); ++v) {
      if (!costs[v]) continue;
      Record& record = records[v];
      ++record.answered;
      if (tie(*costs[v], *best)) {
        ++record.best;
        record.alone += as_good == 1 ? 1 : 0;
      }
      const std::optional<double> behind = regret(costs[v]->value, best->value);
      if (!behind) record.has_share = false;
      if (behind && *behind > record.worst) {
        record.worst = *behind;
        record.worst_case = study_.name_of(which);
      }
    }
  }
  return records;
}

NamedTable ChoiceTally::table() const {
  ResultTable table({{"choice", "choice", ""},
                     {"value", "value", ""},
                     {"cases", "cases", ""},
                     {"best_in", "best or as good in", ""},
                     {"alone_in", "alone in", ""},
                     {"worst_regret_percent", "worst regret", "%", 2},
                     {"worst_case", "where", ""}});
  for (std::size_t c = 0; c < choices_.size(); ++c) {
    const SweepAxis& axis = study_.points.axes()[choices_[c]];
    const Records records = records_of(c);
    for (std::size_t v = 0; v < records.size(); ++v) {
      const Record& record = records[v];
      table.add_row({axis.name, axis.told(axis.values[v].label), static_cast<std::int64_t>(record.answered),
                     static_cast<std::int64_t>(record.best), static_cast<std::int64_t>(record.alone),
                     record.answered == 0 ? Cell(NoNumber{"no answer"})
                     : record.has_share   ? Cell(100.0 * record.worst)
                                          : Cell(NoNumber{"changes its sign"}),
                     record.worst_case});
    }
  }
  return {"choices", "How each choice does over all cases", std::move(table)};
}

std::string ChoiceTally::sentence(std::size_t choice) const {
  constexpr std::size_t most_told = 4;
  const SweepAxis& axis = study_.points.axes()[choices_[choice]];
  const std::size_t cases = least_[choice].size();
  const Records records = records_of(choice);
  if (cases == 0) return {};
  const bool makes_no_difference =
      std::ranges::all_of(records, [cases](const Record& one) { return one.best == cases && one.answered == cases; });
  if (makes_no_difference) return fmt::format("{} makes no difference that counts.", axis.name);
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Sorts by how often a value is best, how rarely it has no answer, its regret in whole percent, and the file's order.
  std::ranges::stable_sort(order, {}, [&](std::size_t v) {
    const Record& one = records[v];
    return std::tuple(-static_cast<double>(one.best), static_cast<double>(cases - one.answered),
                      std::floor(one.worst / worth_having));
  });
  const auto behind = [&](const Record& one) {
    if (one.answered == 0) return std::string("has no answer");
    std::string text = cases == 1 ? "" : fmt::format("in {}{}", one.best, one.best == one.alone ? "" : " (");
    if (cases > 1 && one.best != one.alone) {
      text += one.alone == 0 ? "never alone)" : fmt::format("alone in {})", one.alone);
    }
    if (one.has_share) {
      text += cases == 1         ? (one.best == 1 ? "best" : percent_text(one.worst) + " behind")
              : one.worst < 5e-5 ? ", never behind"
                                 : fmt::format(", at worst {} behind", percent_text(one.worst));
    }
    if (one.answered < cases) text += fmt::format(", no answer in {}", cases - one.answered);
    return text;
  };
  std::vector<std::string> told;
  for (std::size_t i = 0; i < std::min(order.size(), most_told); ++i) {
    told.push_back(axis.told(axis.values[order[i]].label) + ' ' + behind(records[order[i]]));
  }
  std::string text =
      cases == 1 ? fmt::format("Of {}: {}", axis.name, fmt::join(told, "; "))
                 : fmt::format("Of {}, best or within {} of the best of {} cases: {}", axis.name,
                               study_.uncertainty ? "1 % or the intervals" : "1 %", cases, fmt::join(told, "; "));
  if (order.size() > most_told) {
    const auto worst = std::max_element(order.begin() + most_told, order.end(), [&](std::size_t a, std::size_t b) {
      return records[a].worst < records[b].worst;
    });
    text += fmt::format("; of {} more the worst is {}, {} behind", order.size() - most_told,
                        axis.told(axis.values[*worst].label), percent_text(records[*worst].worst));
  }
  return text + '.';
}

std::vector<std::string> ChoiceTally::sentences() const {
  std::vector<std::string> sentences;
  for (std::size_t c = 0; c < choices_.size(); ++c) sentences.push_back(sentence(c));
  std::erase(sentences, "");
  return sentences;
}

void ParetoFront::add(std::vector<Cost> costs, std::uint64_t index) {
  const auto beats = [&](const Member& member) { return is_no_worse(member.costs, costs); };
  if (std::ranges::any_of(members_, beats)) return;
  std::erase_if(members_, [&](const Member& member) { return is_no_worse(costs, member.costs); });
  members_.push_back({std::move(costs), index});
}

namespace {

class Summary {
 public:
  static constexpr std::uint64_t most_rows = 1000;          // of a table for people; points.csv has all
  static constexpr std::uint64_t most_charted = 1'000'000;  // a study with more points has no charts

  Summary(const SweepStudy& study, const SweepStore& store, const Platforms& platforms)
      : study_(study),
        store_(store),
        platforms_(platforms),
        columns_(study.columns()),
        tally_(study),
        points_(store.size()) {
    const std::size_t fidelity = place_of(columns_, "fidelity");
    for (const ChartAxes& axes : study.charts) {
      if (points_ <= most_charted) charts_.emplace_back(study, axes, points_ > most_rows || study.points.is_drawn());
    }
    store.for_each([&](const PointAnswer& answer) {
      if (!answer.fault.empty()) {
        if (first_fault_.empty()) first_fault_ = answer.fault;
        return;
      }
      ++answered_;
      const std::optional<double> first_cost =
          study.objectives.empty() ? std::nullopt : cost_of(study.objectives.front(), answer.cells);
      const Point point = study.points.point(answer.index);
      for (SweepChart& chart : charts_) chart.add(point, answer, first_cost);
      if (fidelity < columns_.size()) {
        if (const auto* const label = std::get_if<std::string>(&answer.cells[fidelity])) ++fidelities_[*label];
      }
      if (!meets(answer.cells)) return;
      ++met_;
      std::vector<Cost> costs = costs_of(answer.cells);
      if (costs.empty()) return;
      if (first_cost) tally_.add(point, costs.front());
      if (costs.size() == study.objectives.size()) fronts_[study.case_of(point)].add(std::move(costs), answer.index);
    });
    store.for_each([&](const PointAnswer& answer) {
      const Standing standing = standing_of(answer);
      if (standing != Standing::behind) on_fronts_.push_back(answer.index);
      if (standing == Standing::as_good) ++as_good_;
      // A flat optimum may have millions of points that tie with the best, so only some are shown.
      const bool is_shown =
          standing == Standing::member || (standing == Standing::as_good && shown_.size() < most_rows);
      if (points_ <= most_rows || is_shown) shown_.push_back(answer);
    });
  }

  Results results() const {
    std::vector<std::string> names;
    const std::vector<const Platform*> platforms = platforms_asked();
    for (const Platform* const one : platforms) names.push_back(platforms.size() == 1 ? one->spec.name : one->title);
    Results results{fmt::format("{}", fmt::join(names, ", ")), {table()}, {}, {}, study_.name, sentences()};
    if (!study_.summaries.empty()) {
      results.tables.front().in_text = false;
      std::vector<NamedTable> tables = summarized(study_.summaries, answered());
      std::ranges::move(published_of_no_row(study_.summaries, tables), std::back_inserter(results.notes));
      std::ranges::move(tables, std::back_inserter(results.tables));
    }
    if (!fronts_.empty()) results.tables.push_back(best());
    if (NamedTable choices = tally_.table(); fronts_.size() > 1 && !choices.table.rows().empty()) {
      results.tables.push_back(std::move(choices));
    }
    NamedTable varied = inputs();
    if (!varied.table.rows().empty()) results.tables.push_back(std::move(varied));
    return results;
  }

  void write_csv(std::ostream& out) const {
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

 private:
  // The standing of a point in its case: it is a member of the front, ties with a member, or lies behind the front.
  enum class Standing { member, as_good, behind };
  // The points that tie with the best point in one objective, including the best point.
  struct Ties {
    static constexpr std::size_t most_named = 3;
    std::vector<std::uint64_t> first{};
    std::uint64_t points = 0;
  };

  bool meets(const std::vector<Cell>& cells) const {
    return std::ranges::all_of(study_.constraints, [&](const Constraint& constraint) {
      const std::optional<double> value = number_of(cells[place_of(columns_, constraint.of)]);
      return value && (!constraint.at_least || *value >= *constraint.at_least) &&
             (!constraint.at_most || *value <= *constraint.at_most);
    });
  }

  bool is_on_front(std::uint64_t index) const { return std::ranges::binary_search(on_fronts_, index); }

  // Returns whether an objective is an axis. Its values are exact, so that they tie only if they are equal.
  bool is_of_axis(const Objective& objective) const {
    return place_of(columns_, objective.of) + study_.quantities.size() < columns_.size();
  }

  // Returns the standing of a point in its case, and notes the objectives in which it ties with the best.
  Standing standing_of(const PointAnswer& answer) {
    if (!answer.fault.empty() || study_.objectives.empty() || !meets(answer.cells)) {
      return Standing::behind;
    }
    const std::vector<Cost> costs = costs_of(answer.cells);
    if (costs.size() < study_.objectives.size()) return Standing::behind;
    const SweepStudy::Case which = study_.case_of(study_.points.point(answer.index));
    const ParetoFront& front = fronts_.at(which);
    const auto ties_in = [&](const ParetoFront::Member& member, std::size_t o) {
      return is_of_axis(study_.objectives[o]) ? costs[o].value == member.costs[o].value
                                              : tie(costs[o], member.costs[o]);
    };
    std::vector<Ties>& ties = ties_.try_emplace(which, costs.size()).first->second;
    for (std::size_t o = 0; o < costs.size(); ++o) {
      const ParetoFront::Member& best = best_of(front, o);
      if (best.index != answer.index && !ties_in(best, o)) continue;
      if (ties[o].first.size() < Ties::most_named) ties[o].first.push_back(answer.index);
      ++ties[o].points;
    }
    bool is_as_good = false;
    for (const ParetoFront::Member& member : front.members()) {
      if (member.index == answer.index) return Standing::member;
      bool ties_in_all = true;
      for (std::size_t o = 0; ties_in_all && o < costs.size(); ++o) ties_in_all = ties_in(member, o);
      is_as_good = is_as_good || ties_in_all;
    }
    return is_as_good ? Standing::as_good : Standing::behind;
  }

  // Returns the value of the objective, negated if it is maximized; none where the point has no number for it.
  std::optional<double> cost_of(const Objective& objective, const std::vector<Cell>& cells) const {
    const std::optional<double> value = number_of(cells[place_of(columns_, objective.of)]);
    return value && !objective.minimize ? -*value : value;
  }

  // Returns the costs, with intervals, in all objectives for which the point has a number.
  std::vector<Cost> costs_of(const std::vector<Cell>& cells) const {
    std::vector<Cost> costs;
    for (const Objective& objective : study_.objectives) {
      const std::optional<double> value = cost_of(objective, cells);
      if (value) costs.push_back({*value, bound_of(objective, cells, true), bound_of(objective, cells, false)});
    }
    return costs;
  }

  // Returns one end of the interval of a cost; none where no intervals were asked for.
  std::optional<double> bound_of(const Objective& objective, const std::vector<Cell>& cells, bool low) const {
    const SweepStudy::Bounds* const bounds = study_.bounds_of(objective.of);
    if (bounds == nullptr) return {};
    return cost_of({low == objective.minimize ? bounds->low : bounds->high, objective.minimize}, cells);
  }

  std::vector<Cell> row_of(const PointAnswer& answer) const {
    std::vector<Cell> row{static_cast<std::int64_t>(answer.index)};
    row.insert(row.end(), answer.cells.begin(), answer.cells.end());
    const bool answered = answer.fault.empty();
    if (!study_.constraints.empty()) row.emplace_back(answered && meets(answer.cells));
    if (!study_.objectives.empty()) row.emplace_back(answered && is_on_front(answer.index));
    if (answered_ < points_) row.push_back(answered ? Cell() : Cell(answer.fault));
    return row;
  }

  std::vector<Column> row_columns() const {
    std::vector<Column> columns{{"point", "point", ""}};
    columns.insert(columns.end(), columns_.begin(), columns_.end());
    if (!study_.constraints.empty()) columns.push_back({"meets_constraints", "meets constraints", ""});
    if (!study_.objectives.empty()) columns.push_back({"on_front", "on front", ""});
    if (answered_ < points_) columns.push_back({"fault", "fault", ""});
    return columns;
  }

  // Returns the values of a point on the axes that are choices.
  std::string choice_of(std::uint64_t index) const {
    const Point point = study_.points.point(index);
    std::vector<std::string> chosen;
    for (std::size_t a = 0; a < point.values.size(); ++a) {
      const SweepAxis& axis = study_.points.axes()[a];
      if (study_.is_choice(a)) chosen.push_back(axis.name + ' ' + axis.told(point.values[a].label));
    }
    return fmt::format("{}", fmt::join(chosen, ", "));
  }

  // Returns the choices of tied points in the study's order, so that today's values, which come first, are named first.
  std::string choices_of(const Ties& ties) const {
    std::vector<std::string> axes;
    for (std::size_t a = 0; a < study_.points.axes().size(); ++a) {
      if (study_.is_choice(a)) axes.push_back(study_.points.axes()[a].name);
    }
    std::string text = ties.points > 1 ? "tie: " : "";
    for (const std::uint64_t index : ties.first) {
      std::string choice = choice_of(index);
      const bool is_first = index == ties.first.front();
      if (!is_first && axes.size() == 1) choice.erase(0, axes.front().size() + 1);  // the axis was named already
      text += (is_first ? "" : "; ") + choice;
    }
    if (ties.points > ties.first.size()) text += fmt::format("; {} more", ties.points - ties.first.size());
    return text;
  }

  NamedTable table() const {
    ResultTable table(row_columns());
    for (const PointAnswer& answer : shown_) table.add_row(row_of(answer));
    const std::string which = points_ <= most_rows ? "" : fmt::format(": the best of {} points", points_);
    NamedTable named{"results", study_.name + which, std::move(table)};
    for (const SweepChart& each : charts_) {
      std::ranges::move(each.charts([this](std::uint64_t index) { return is_on_front(index); }),
                        std::back_inserter(named.charts));
    }
    return named;
  }

  // Returns all points that have an answer.
  ResultTable answered() const {
    ResultTable table(columns_);
    store_.for_each([&](const PointAnswer& answer) {
      if (answer.fault.empty()) table.add_row(answer.cells);
    });
    return table;
  }

  // Returns one row for each case and each objective except axes, whose least value is no news.
  NamedTable best() const {
    ResultTable table({{"case", "case", ""},
                       {"objective", "objective", ""},
                       {"value", "value", ""},
                       {"unit", "unit", ""},
                       {"point", "point", ""},
                       {"choice", "choice", ""}});
    for (const auto& [which, front] : fronts_) {
      for (std::size_t o = 0; o < study_.objectives.size(); ++o) {
        const ParetoFront::Member& best = best_of(front, o);
        const Objective& objective = study_.objectives[o];
        if (is_of_axis(objective)) continue;
        const Column& column = columns_[place_of(columns_, objective.of)];
        table.add_row({study_.name_of(which), (objective.minimize ? "least " : "greatest ") + column.heading,
                       objective.minimize ? best.costs[o].value : -best.costs[o].value, column.unit,
                       static_cast<std::int64_t>(best.index), choices_of(ties_.at(which)[o])});
      }
    }
    return {"best", "The best points", std::move(table)};
  }

  // Returns the parameters that were varied or set, and what is known of them today on each platform.
  NamedTable inputs() const {
    const std::vector<const Platform*> platforms = platforms_asked();
    std::vector<Column> columns{{"parameter", "parameter", ""}};
    for (const Platform* const platform : platforms) {
      const std::string& name = platform->title;
      if (platforms.size() == 1) {
        columns.push_back({"today", "today", ""});
      } else {
        columns.push_back({"today_" + name, name + " today", ""});
      }
    }
    for (const char* const key : {"kind", "range", "asked", "source"}) {
      columns.push_back({key, key == std::string_view("asked") ? "asked for" : key, ""});
    }
    ResultTable table(std::move(columns));
    std::map<std::string, std::vector<std::string>> asked;  // values by parameter path
    for (const SweepAxis& axis : study_.points.axes()) {
      for (const AxisValue& value : axis.extremes()) {
        for (const Assignment& assignment : value.assignments) {
          const sim::Parameter* known = nullptr;
          for (const Platform* const platform : platforms) {
            if (known == nullptr) known = parameter_of(*platform, assignment);
          }
          if (known == nullptr) continue;
          std::vector<std::string>& values = asked[known->path];
          const std::string text = assignment.value + (assignment.scales ? " x today" : "");
          if (std::ranges::count(values, text) == 0) values.push_back(text);
        }
      }
    }
    for (const auto& [path, values] : asked) {
      std::vector<Cell> row{path};
      std::vector<std::string> kinds, ranges, sources;
      for (const Platform* const platform : platforms) {
        const sim::Parameter* const parameter = parameter_of(*platform, {path, ""});
        row.push_back(parameter == nullptr ? Cell(NoNumber{"none"}) : Cell(parameter->value));
        kinds.push_back(parameter == nullptr ? "" : parameter->kind);
        ranges.push_back(parameter == nullptr || parameter->low.empty() ? ""
                                                                        : parameter->low + " to " + parameter->high);
        sources.push_back(parameter == nullptr ? "" : parameter->source);
      }
      std::string text = values.front();
      if (values.size() > 1) text += (values.size() > 2 ? " ... " : ", ") + values.back();
      row.insert(row.end(), {said_by(platforms, kinds), said_by(platforms, ranges), text, said_by(platforms, sources)});
      table.add_row(std::move(row));
    }
    return {"inputs", "What was varied, and what is known of it today", std::move(table)};
  }

  // Says how much better the best of each case is than the first choice. Returns nothing for a single case whose best
  // is the first choice, as the table of the best points says so.
  std::string gain_sentence() const {
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
      const double ratio = std::abs(best_of(front->second, 0).costs.front().value) / std::abs(*cost);
      least = std::min(least.value_or(ratio), ratio);
      greatest = std::max(greatest.value_or(ratio), ratio);
      first = choice_of(answer.index);
    }
    if (!least || first.empty()) return {};
    const std::string times = times_text(*least, *greatest);
    if (fronts_.size() == 1 && times == times_text(1.0, 1.0)) return {};
    return fmt::format("The {} {} is {} that of {}{}.", objective.minimize ? "least" : "greatest",
                       columns_[place_of(columns_, objective.of)].heading, times, first,
                       fronts_.size() > 1 ? ", by case" : "");
  }

  // Names each value of an axis that sets only what a machine has today, so that it changes nothing there.
  std::vector<std::string> unchanged_sentences() const {
    std::vector<std::string> sentences;
    const std::vector<const Platform*> platforms = platforms_asked();
    for (const SweepAxis& axis : study_.points.axes()) {
      if (axis.values.size() < 2) continue;
      for (const AxisValue& value : axis.values) {
        const bool is_named_case = value.assignments.size() != 1 || value.assignments.front().name != axis.name;
        std::vector<std::string> same;
        for (const Platform* const platform : platforms) {
          const bool sets_all_as_today =
              !value.assignments.empty() && std::ranges::all_of(value.assignments, [&](const Assignment& assignment) {
                return is_as_today(*platform, assignment);
              });
          if (sets_all_as_today) same.push_back(platform->title);
        }
        if (same.empty() || !(is_named_case || same.size() < platforms.size())) continue;
        sentences.push_back(fmt::format("On {}, {} {} changes nothing: the machine is so today.",
                                        fmt::join(same, " and "), axis.name, axis.told(value.label)));
      }
    }
    return sentences;
  }

  std::vector<std::string> sentences() const {
    std::vector<std::string> sentences;
    if (!study_.about.empty()) sentences.push_back(study_.about);
    std::string count = fmt::format("{} points", points_);
    if (const std::uint64_t impossible = points_ - answered_; impossible > 0) {
      count +=
          fmt::format(", of which {} {} impossible on {} machine ({}{})", impossible, impossible == 1 ? "is" : "are",
                      impossible == 1 ? "its" : "their", impossible == 1 ? "" : "the first: ", first_fault_);
    }
    if (!study_.constraints.empty()) count += fmt::format("; {} meet the constraints", met_);
    if (!study_.objectives.empty()) {
      count +=
          fmt::format("; {} on the Pareto front{}", on_fronts_.size(), fronts_.size() > 1 ? "s of their cases" : "");
      if (as_good_ > 0) {
        count += fmt::format(", {} of them as ties within {}", as_good_,
                             study_.uncertainty ? "1 % or the intervals" : "1 %");
      }
    }
    sentences.push_back(count + ".");
    for (std::size_t c = 0; c < study_.charts.size(); ++c) {
      sentences.push_back(c < charts_.size()
                              ? charts_[c].sentence()
                              : fmt::format("{} by {} is not drawn: charts are of at most {} points.",
                                            study_.charts[c].y, study_.charts[c].x, std::uint64_t{most_charted}));
    }
    sentences.push_back(gain_sentence());
    for (auto& more : {tally_.sentences(), unchanged_sentences()}) {
      sentences.insert(sentences.end(), more.begin(), more.end());
    }
    if (study_.uncertainty) {
      sentences.push_back(fmt::format("Intervals are of {} machines that each platform may be: nine in ten lie inside.",
                                      study_.uncertainty->draws));
    }
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
    return sentences;
  }

  // Returns the platforms that values of axes name, and the study's own unless an axis always names another.
  std::vector<const Platform*> platforms_asked() const {
    std::vector<const Platform*> asked;
    bool is_base_asked = true;
    for (const SweepAxis& axis : study_.points.axes()) {
      bool always_named = !axis.values.empty();
      for (const AxisValue& value : axis.values) {
        const Platform* const named = &platforms_.named(value.assignments);
        if (named == &platforms_.base()) {
          always_named = false;
        } else if (std::ranges::count(asked, named) == 0) {
          asked.push_back(named);
        }
      }
      if (always_named) is_base_asked = false;
    }
    if (is_base_asked) asked.insert(asked.begin(), &platforms_.base());
    return asked;
  }

  const SweepStudy& study_;
  const SweepStore& store_;
  const Platforms& platforms_;
  std::vector<Column> columns_;
  ChoiceTally tally_;
  std::uint64_t points_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t met_ = 0;
  std::string first_fault_;
  std::map<SweepStudy::Case, ParetoFront> fronts_;
  std::vector<std::uint64_t> on_fronts_;                // members of fronts and points that tie with them, ascending
  std::uint64_t as_good_ = 0;                           // those of on_fronts_ that only tie
  std::map<SweepStudy::Case, std::vector<Ties>> ties_;  // by objective
  std::map<std::string, std::uint64_t> fidelities_;
  std::vector<PointAnswer> shown_;  // rows of the table of points
  std::vector<SweepChart> charts_;  // by chart of the study; empty for too many points
};

}  // namespace

Results sweep_results(const SweepStudy& study, const SweepStore& store, const Platforms& platforms) {
  Summary summary(study, store, platforms);
  Results results = summary.results();
  results.long_files.push_back(
      {"points.csv", [summary = std::move(summary)](std::ostream& out) { summary.write_csv(out); }});
  return results;
}

}  // namespace c3sim::study
