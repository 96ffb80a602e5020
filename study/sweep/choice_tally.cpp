#include "study/sweep/choice_tally.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
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

}  // namespace

bool tie(const Cost& one, const Cost& best) {
  if (std::abs(one.value - best.value) <= worth_having * std::abs(best.value)) return true;
  const auto holds = [](const Cost& cost, double value) {
    return cost.low && cost.high && *cost.low <= value && value <= *cost.high;
  };
  return holds(one, best.value) && holds(best, one.value);
}

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

}  // namespace c3sim::study
