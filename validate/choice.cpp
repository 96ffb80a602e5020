#include "validate/choice.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace validate {

namespace {

struct Alternative {
  std::string name;
  double measured;
  double predicted;
};

// Of one decision, the costs of its alternatives: times, or one over speeds.
using Decision = std::vector<Alternative>;

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

struct Group {
  std::string title;  // of the first case
  std::map<std::string, Decision> decisions;
  std::set<std::string> incomplete;  // decisions with an alternative that is not predicted
};

using GroupKey = std::tuple<std::string, std::string>;  // suite, table

std::string table_of(const Case& one) { return one.where.substr(0, one.where.rfind(':')); }

std::map<GroupKey, Group> groups_of(std::span<const Case> cases) {
  std::map<GroupKey, Group> groups;
  for (const Case& one : cases) {
    if (!decides(one)) continue;
    Group& group = groups[{one.suite, table_of(one)}];
    group.title = table_of(one);
    if (!one.predicted) {
      group.incomplete.insert(one.decision);
      continue;
    }
    const bool speed = is_speed(one.figure);
    group.decisions[one.decision].push_back(
        {one.alternative, speed ? 1.0 / one.measured : one.measured, speed ? 1.0 / *one.predicted : *one.predicted});
  }
  for (auto& [key, group] : groups) {
    std::erase_if(group.decisions,
                  [&](const auto& entry) { return entry.second.size() < 2 || group.incomplete.contains(entry.first); });
  }
  return groups;
}

const Alternative& best_measured(const Decision& decision) {
  return *std::ranges::min_element(decision, {}, &Alternative::measured);
}

const Alternative& best_predicted(const Decision& decision) {
  return *std::ranges::min_element(decision, {}, &Alternative::predicted);
}

// The one of that name, or the first.
const Alternative& named(const Decision& decision, const std::string& name) {
  const auto found = std::ranges::find(decision, name, &Alternative::name);
  return found == decision.end() ? decision.front() : *found;
}

template <class Choose>
Record record_of(const std::map<std::string, Decision>& decisions, const Choose& choose) {
  Record record;
  for (const auto& [about, decision] : decisions) {
    const double best = best_measured(decision).measured;
    const double regret = choose(decision).measured / best - 1.0;
    if (regret == 0.0) ++record.right;
    record.mean_regret += regret / static_cast<double>(decisions.size());
    record.worst_regret = std::max(record.worst_regret, regret);
  }
  return record;
}

Choices judge(const std::string& suite, const Group& group) {
  Choices choices;
  choices.suite = suite;
  choices.group = group.title;
  choices.decisions = static_cast<int>(group.decisions.size());
  choices.predicted = record_of(group.decisions, best_predicted);
  std::set<std::string> names;
  for (const auto& [about, decision] : group.decisions) {
    for (const Alternative& alternative : decision) names.insert(alternative.name);
  }
  for (const std::string& name : names) {
    const Record record =
        record_of(group.decisions, [&](const Decision& d) -> const Alternative& { return named(d, name); });
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
    if (!group.decisions.empty()) all.push_back(judge(std::get<0>(key), group));
  }
  return all;
}

}  // namespace validate
