#include "validate/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <tuple>

#include "models/platform/interference.h"
#include "study/explain/explanation.h"
#include "study/report/statistics.h"
#include "study/report/table_of.h"

namespace c3sim::validate {

namespace {

std::optional<double> ratio_of(const std::optional<Beside>& wall) {
  return wall && wall->measured > 0.0 ? std::optional(wall->predicted / wall->measured) : std::nullopt;
}

bool runs_at_once(const Case& one) {
  if (!one.predicted) return false;
  if (std::holds_alternative<study::HogTrial>(one.trial)) return true;
  const auto* const trial = std::get_if<study::C3Trial>(&one.trial);
  return trial != nullptr && trial->strategy != study::Strategy::serial;
}

// Returns the measured and predicted time of an operation alone by the same protocol: in turn if both are known so.
std::optional<Beside> alone_of(const Case& one, std::optional<double> calibrate::Alone::*in_turn,
                               std::optional<double> calibrate::Alone::*in_loop) {
  for (const auto way : {in_turn, in_loop}) {
    if (one.alone.*way && one.alone_predicted.*way) return Beside{*(one.alone.*way), *(one.alone_predicted.*way)};
  }
  return {};
}

std::optional<Beside> gemm_alone_of(const Case& one) {
  return alone_of(one, &calibrate::Alone::gemm_in_turn, &calibrate::Alone::gemm);
}
std::optional<Beside> collective_alone_of(const Case& one) {
  return alone_of(one, &calibrate::Alone::collective_in_turn, &calibrate::Alone::collective);
}

std::optional<Beside> longer_than(const Case& one, const std::optional<Beside>& alone) {
  if (!alone) return {};
  return Beside{one.measured / alone->measured - 1.0, *one.predicted / alone->predicted - 1.0};
}

void add(Cost& run, const Case& one) {
  if (one.figure == study::Figure::gemm_time) {
    run.gemm = longer_than(one, gemm_alone_of(one));
  } else if (one.figure == study::Figure::collective_time) {
    run.collective = longer_than(one, collective_alone_of(one));
  } else if (one.figure == study::Figure::time) {
    const std::optional<Beside> alone = cost_alone_of(one);
    if (!alone) return;
    run.wall = Beside{one.measured - alone->measured, *one.predicted - alone->predicted};
    run.parts = one.cost_parts;
    if (one.cost_unprobed) run.unprobed = Beside{run.wall->measured, *one.cost_unprobed};
  }
}

// Returns the figure of the runs in which it is known.
std::vector<Beside> known(const std::vector<Cost>& runs, std::optional<Beside> Cost::*figure) {
  std::vector<Beside> known;
  for (const Cost& run : runs) {
    if (run.*figure) known.push_back(*(run.*figure));
  }
  return known;
}

// Returns the sum, divided by `count`; nothing of none.
std::optional<Beside> sum_of(const std::vector<Beside>& some, std::size_t count = 1) {
  if (some.empty()) return {};
  Beside sum;
  for (const Beside& one : some) sum = {sum.measured + one.measured, sum.predicted + one.predicted};
  return Beside{sum.measured / static_cast<double>(count), sum.predicted / static_cast<double>(count)};
}

void sum_up(Cost& cost) {
  const std::vector<Beside> unprobed = known(cost.runs, &Cost::unprobed);
  cost.wall = sum_of(cost.walls());
  if (unprobed.size() == cost.walls().size()) cost.unprobed = sum_of(unprobed);
  for (const auto operation : {&Cost::gemm, &Cost::collective}) {
    const std::vector<Beside> stretches = known(cost.runs, operation);
    cost.*operation = sum_of(stretches, stretches.size());
  }
  for (const Cost& run : cost.runs) {
    cost.parts.resize(std::max(cost.parts.size(), run.parts.size()));
    std::ranges::transform(run.parts, cost.parts, cost.parts.begin(), std::plus());
  }
}

}  // namespace

std::optional<Beside> cost_alone_of(const Case& one) {
  const std::optional<Beside> gemm = gemm_alone_of(one);
  const std::optional<Beside> collective = collective_alone_of(one);
  if (!runs_at_once(one) || !gemm || !collective) return {};
  return Beside{std::max(gemm->measured, collective->measured), std::max(gemm->predicted, collective->predicted)};
}

std::vector<Beside> Cost::walls() const { return known(runs, &Cost::wall); }

std::optional<double> Cost::ratio() const { return ratio_of(wall); }

std::optional<double> Cost::ratio_unprobed() const { return ratio_of(unprobed); }

std::optional<study::Interval> Cost::ratio_interval() const {
  constexpr std::size_t fewest = 3;
  constexpr int draws = 1000;
  constexpr std::uint64_t seed = 1;
  const std::vector<Beside> all = walls();
  if (all.size() < fewest) return {};
  std::mt19937_64 generator(seed);
  std::vector<double> ratios;
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<Beside> sample(all.size());
    std::ranges::generate(sample, [&] { return all[generator() % all.size()]; });
    if (const std::optional<double> ratio = ratio_of(sum_of(sample))) ratios.push_back(*ratio);
  }
  // If many samples cost nothing, the ratio has no meaningful interval.
  if (ratios.size() < draws * 9 / 10) return {};
  return study::Interval{study::quantile(ratios, 0.05), study::quantile(ratios, 0.95)};
}

std::vector<Cost> costs_of(std::span<const Case> cases) {
  // A row of a table may hold several runs, which differ in their trials and machines.
  using Run = std::tuple<std::string, study::Trial, Machine>;
  std::map<std::tuple<std::string, calibrate::Role, Cost::Of, std::string>, std::map<Run, Cost>> groups;
  for (const Case& one : cases) {
    if (!runs_at_once(one)) continue;
    for (const auto& [of, name] : {std::pair(Cost::Of::suite, std::string("all of it")),
                                   {Cost::Of::group, one.group},
                                   {Cost::Of::table, "table " + one.file()}}) {
      if (name.empty()) continue;
      const auto [run, is_new] = groups[{one.suite, one.role, of, name}].try_emplace(
          {one.where, one.trial, one.machine},
          Cost{one.suite, one.role, of, name, one.where, study::to_string(one.trial)});
      add(run->second, one);
    }
  }
  std::vector<Cost> costs;
  for (auto& [key, runs] : groups) {
    Cost cost;
    std::tie(cost.suite, cost.role, cost.of, cost.name) = key;
    for (auto& [what, run] : runs) {
      if (run.wall || run.gemm || run.collective) cost.runs.push_back(std::move(run));
    }
    sum_up(cost);
    if (!cost.runs.empty()) costs.push_back(std::move(cost));
  }
  return costs;
}

namespace {

std::vector<Case*> telling_costs(std::vector<Case>& cases) {
  std::vector<Case*> telling;
  for (Case& one : cases) {
    if (one.figure == study::Figure::time && cost_alone_of(one)) telling.push_back(&one);
  }
  return telling;
}

// Returns the platforms without these mechanisms.
Platforms without(const Platforms& platforms, std::span<const models::Mechanism> left_out) {
  return [&platforms, left_out](const Machine& machine) {
    study::Platform platform = platforms(machine);
    study::Beside asked = platform.asked;
    for (const models::Mechanism mechanism : left_out) asked.without.add(mechanism);
    return study::beside(std::move(platform), std::move(asked));
  };
}

// Returns the predicted costs, beyond the longer operation alone, with other platforms.
std::vector<double> predicted_costs(const std::vector<Case*>& cases, const Platforms& platforms, int jobs,
                                    const study::Progress& progress = {}) {
  std::vector<Case> copies;
  for (const Case* const one : cases) copies.push_back(*one);
  predict(copies, platforms, jobs, progress);
  std::vector<double> costs;
  for (const Case& one : copies) costs.push_back(one.predicted.value_or(0.0) - cost_alone_of(one)->predicted);
  return costs;
}

}  // namespace

void split_costs(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress) {
  const std::vector<Case*> telling = telling_costs(cases);
  std::vector<std::vector<double>> costs;  // by machine
  const auto machines = study::left_out_in_turn(models::sharing_mechanisms);
  for (const std::span<const models::Mechanism> left_out : machines) {
    costs.push_back(predicted_costs(telling, without(platforms, left_out), jobs));
    if (progress) progress(costs.size(), machines.size());
  }
  const std::vector<std::vector<double>> parts = study::parts_of(costs);
  for (std::size_t i = 0; i < parts.size(); ++i) telling[i]->cost_parts = parts[i];
}

void predict_unprobed(std::vector<Case>& cases, const Platforms& platforms, int jobs, const study::Progress& progress) {
  const auto unprobed = [&platforms](Machine machine) {
    std::vector<std::string> values;
    for (const sim::Parameter& parameter : platforms(machine).parameters) {
      if (parameter.kind != "probed" || parameter.alternatives.empty()) continue;
      values.push_back(parameter.path + "=" + parameter.alternatives.front());
    }
    // These changes come before those of the user, which must win.
    machine.changes.insert(machine.changes.begin(), values.begin(), values.end());
    return platforms(machine);
  };
  const std::vector<Case*> telling = telling_costs(cases);
  const std::vector<double> costs = predicted_costs(telling, unprobed, jobs, progress);
  for (std::size_t i = 0; i < costs.size(); ++i) telling[i]->cost_unprobed = costs[i];
}

namespace {

using study::Cell;
using study::ResultTable;
using study::Shown;
using study::table_of;

std::vector<Shown<Cost>> shown_keys() {
  return {{{"suite", "suite", ""}, [](const Cost& cost) { return suite_title(cost.suite); }},
          {{"group", "group", ""}, &Cost::name},
          {{"role", "role", ""}, &Cost::role}};
}

// Returns what shows one side of a pair, times `scale`; the cell is empty if there is no pair.
template <class Pair>
auto side_of(std::optional<Pair> Cost::*pair, double Pair::*side, double scale = 1.0) {
  return [=](const Cost& cost) { return cost.*pair ? Cell((*(cost.*pair)).*side * scale) : Cell(); };
}

// Returns the columns that all tables of costs have. Times in microseconds show `decimals` decimals. The columns
// `behind` stand behind the role, and `behind_walls` between the costs of runs and the slowdowns of their operations.
std::vector<Shown<Cost>> shown_costs(const std::vector<Shown<Cost>>& behind, int decimals,
                                     const std::vector<Shown<Cost>>& behind_walls) {
  std::vector<Shown<Cost>> shown = shown_keys();
  const auto add = [&shown](const std::vector<Shown<Cost>>& more) {
    shown.insert(shown.end(), more.begin(), more.end());
  };
  add(behind);
  add({{{"cost_us", "cost, measured", "us", decimals}, side_of(&Cost::wall, &Beside::measured, 1e6)},
       {{"predicted_cost_us", "predicted", "us", decimals}, side_of(&Cost::wall, &Beside::predicted, 1e6)}});
  add(behind_walls);
  for (const auto& [key, heading, operation] : {std::tuple("gemm_longer_pct", "GEMM longer", &Cost::gemm),
                                                {"collective_longer_pct", "collective", &Cost::collective}}) {
    add({{{key, heading, "%", 1}, side_of(operation, &Beside::measured, percent)},
         {{fmt::format("predicted_{}", key), "predicted", "%", 1}, side_of(operation, &Beside::predicted, percent)}});
  }
  return shown;
}

}  // namespace

ResultTable cost_table(std::span<const Case> cases) {
  const auto end = [](double study::Interval::*side) {
    return [side](const Cost& cost) {
      const std::optional<study::Interval> interval = cost.ratio_interval();
      return interval ? Cell((*interval).*side) : Cell();
    };
  };
  std::vector<Shown<Cost>> ratios{{{"ratio", "ratio", "", 2}, &Cost::ratio},
                                  {{"ratio_low", "90 % from", "", 2}, end(&study::Interval::low)},
                                  {{"ratio_high", "to", "", 2}, end(&study::Interval::high)}};
  if (std::ranges::any_of(cases, [](const Case& one) { return one.cost_unprobed.has_value(); })) {
    ratios.push_back({{"ratio_without_probes", "ratio without probes", "", 2}, &Cost::ratio_unprobed});
  }
  const Shown<Cost> walls{{"walls", "walls", ""}, [](const Cost& cost) { return cost.walls().size(); }};
  return table_of<Cost>(costs_of(cases), shown_costs({walls}, 0, ratios));
}

ResultTable cost_run_table(std::span<const Case> cases) {
  std::vector<Cost> runs;
  for (const Cost& cost : costs_of(cases)) {
    if (cost.of == Cost::Of::group) runs.insert(runs.end(), cost.runs.begin(), cost.runs.end());
  }
  return table_of<Cost>(
      runs, shown_costs({{{"where", "where", ""}, &Cost::where}, {{"run", "run", ""}, &Cost::what}}, 1, {}));
}

ResultTable cost_part_table(std::span<const Case> cases) {
  using C = const Cost&;
  std::vector<Cost> costs = costs_of(cases);
  std::erase_if(costs, [](C cost) { return cost.parts.empty() || cost.wall->predicted <= 0.0; });
  const auto share = [](C cost, double part) { return Cell(part / cost.wall->predicted * percent); };
  std::vector<Shown<Cost>> shown = shown_keys();
  shown.push_back({{"predicted_cost_us", "cost, predicted", "us", 0}, side_of(&Cost::wall, &Beside::predicted, 1e6)});
  for (std::size_t i = 0; i < models::sharing_mechanisms.size(); ++i) {
    const std::string name(to_string(models::sharing_mechanisms[i]));
    shown.push_back({{name + "_pct", name, "%", 1}, [i, share](C cost) { return share(cost, cost.parts[i]); }});
  }
  shown.push_back({{"rest_pct", "rest", "%", 1}, [share](C cost) {
                     double rest = cost.wall->predicted;
                     for (const double part : cost.parts) rest -= part;
                     return share(cost, rest);
                   }});
  return table_of<Cost>(costs, shown);
}

}  // namespace c3sim::validate
