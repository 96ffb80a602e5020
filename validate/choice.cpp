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

struct ChoiceTable {
  std::string title;
  std::map<std::string, std::map<study::Figure, Decision>> decisions;  // by what they are about and by figure
};

std::string table_of(const Case& one) { return one.where.substr(0, one.where.rfind(':')); }

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

// By suite and table.
std::map<std::pair<std::string, std::string>, ChoiceTable> groups_of(std::span<const Case> cases) {
  std::map<std::pair<std::string, std::string>, ChoiceTable> groups;
  for (const Case& one : cases) {
    if (!decides(one)) continue;
    ChoiceTable& group = groups[{one.suite, table_of(one)}];
    group.title = table_of(one);
    add_to(group.decisions[one.decision][one.figure], one);
  }
  return groups;
}

using Decisions = std::vector<Decision>;

// The complete ones; `incomplete` gets the number of the others. Where several figures of the same alternatives were
// measured the first of them decides, the time before all.
Decisions decisions_of(const ChoiceTable& group, int& incomplete) {
  Decisions complete;
  for (const auto& [about, by_figure] : group.decisions) {
    const auto found =
        std::ranges::find_if(by_figure, [](const auto& entry) { return entry.second.alternatives.size() >= 2; });
    if (found == by_figure.end()) continue;
    if (found->second.is_complete) {
      complete.push_back(found->second);
    } else {
      ++incomplete;
    }
  }
  return complete;
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

template <class Choose>
Record record_of(const Decisions& decisions, const Choose& choose) {
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

Choices judge(const std::string& suite, const ChoiceTable& group) {
  Choices choices;
  choices.suite = suite;
  choices.group = group.title;
  const Decisions decisions = decisions_of(group, choices.incomplete);
  choices.decisions = static_cast<int>(decisions.size());
  choices.predicted = record_of(decisions, best_predicted);
  std::set<std::string> names;
  for (const Decision& decision : decisions) {
    for (const Alternative& alternative : decision.alternatives) names.insert(alternative.name);
  }
  for (const std::string& name : names) {
    const Record record =
        record_of(decisions, [&](const Decision& decision) -> const Alternative& { return named(decision, name); });
    if (!choices.always.empty() && record.mean_regret >= choices.trivial.mean_regret) continue;
    choices.always = name;
    choices.trivial = record;
  }
  return choices;
}

}  // namespace

std::vector<Choices> choices_of(std::span<const Case> cases) {
  std::vector<Choices> all;
  for (const auto& [key, group] : groups_of(cases)) {
    Choices choices = judge(std::get<0>(key), group);
    if (choices.decisions + choices.incomplete > 0) all.push_back(std::move(choices));
  }
  return all;
}

}  // namespace c3sim::validate
