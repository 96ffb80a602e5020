#include "validate/choice.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace c3sim::validate {

namespace {

// Costs are times, or one over speeds; those of repeated measurements are added up.
struct Alternative {
  std::string name;
  double measured_sum = 0.0;
  double predicted_sum = 0.0;
  int repetitions = 0;

  double measured() const { return measured_sum / repetitions; }
  double predicted() const { return predicted_sum / repetitions; }
};

// Alternatives of one decision, in the order in which they appear.
struct Decision {
  std::vector<Alternative> alternatives;
  bool is_complete = true;  // all of them are predicted
};

// Whether more of a figure is better.
bool is_speed(study::Figure figure) {
  using enum study::Figure;
  return figure == over_parallel_copies || figure == rate || figure == link_rate || figure == bus_bandwidth ||
         figure == flop_rate;
}

// One figure decides: the time, or what stands for it.
bool decides(const Case& one) {
  return !one.decision.empty() && (one.figure == study::Figure::time || is_speed(one.figure));
}

// Decisions of a table, by what they are about and by figure.
using Asked = std::map<std::string, std::map<study::Figure, Decision>>;

void add_to(Decision& decision, const Case& one) {
  auto alternative = std::ranges::find(decision.alternatives, one.alternative, &Alternative::name);
  if (alternative == decision.alternatives.end()) {
    alternative = decision.alternatives.insert(alternative, Alternative{.name = one.alternative});
  }
  if (!one.predicted) {
    decision.is_complete = false;
    return;
  }
  const bool speed = is_speed(one.figure);
  alternative->measured_sum += speed ? 1.0 / one.measured : one.measured;
  alternative->predicted_sum += speed ? 1.0 / *one.predicted : *one.predicted;
  ++alternative->repetitions;
}

const Alternative& best_measured(const Decision& decision) {
  return *std::ranges::min_element(decision.alternatives, {}, &Alternative::measured);
}

const Alternative& best_predicted(const Decision& decision) {
  return *std::ranges::min_element(decision.alternatives, {}, &Alternative::predicted);
}

// The one of that name, or the first.
const Alternative& named(const Decision& decision, const std::string& name) {
  const auto found = std::ranges::find(decision.alternatives, name, &Alternative::name);
  return found == decision.alternatives.end() ? decision.alternatives.front() : *found;
}

// Of decisions that are complete.
template <class Choose>
Record record_of(const std::vector<Decision>& decisions, const Choose& choose) {
  Record record;
  for (const Decision& decision : decisions) {
    const double best = best_measured(decision).measured();
    const double regret = choose(decision).measured() / best - 1.0;
    if (regret == 0.0) ++record.right;
    record.mean_regret += regret / static_cast<double>(decisions.size());
    record.worst_regret = std::max(record.worst_regret, regret);
  }
  return record;
}

// Where several figures of the same alternatives were measured the first of them decides, the time before all.
Choices judge(const Asked& asked) {
  Choices choices;
  std::vector<Decision> complete;
  std::set<std::string> names;
  for (const auto& [about, by_figure] : asked) {
    const auto decision =
        std::ranges::find_if(by_figure, [](const auto& entry) { return entry.second.alternatives.size() >= 2; });
    if (decision == by_figure.end()) continue;
    if (!decision->second.is_complete) {
      ++choices.incomplete;
      continue;
    }
    complete.push_back(decision->second);
    for (const Alternative& alternative : complete.back().alternatives) names.insert(alternative.name);
  }
  choices.decisions = static_cast<int>(complete.size());
  choices.predicted = record_of(complete, best_predicted);
  for (const std::string& name : names) {
    const Record record =
        record_of(complete, [&](const Decision& decision) -> const Alternative& { return named(decision, name); });
    if (!choices.always.empty() && record.mean_regret >= choices.trivial.mean_regret) continue;
    choices.always = name;
    choices.trivial = record;
  }
  return choices;
}

}  // namespace

std::vector<Choices> choices_of(std::span<const Case> cases) {
  std::map<std::pair<std::string, std::string>, Asked> tables;  // by suite and file
  for (const Case& one : cases) {
    const std::string file = one.where.substr(0, one.where.rfind(':'));
    if (decides(one)) add_to(tables[{one.suite, file}][one.decision][one.figure], one);
  }
  std::vector<Choices> all;
  for (const auto& [key, asked] : tables) {
    Choices choices = judge(asked);
    std::tie(choices.suite, choices.group) = key;
    if (choices.decisions + choices.incomplete > 0) all.push_back(std::move(choices));
  }
  return all;
}

}  // namespace c3sim::validate
