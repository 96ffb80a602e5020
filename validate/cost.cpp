#include "validate/cost.h"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "study/report/statistics.h"

namespace c3sim::validate {

namespace {

std::optional<double> ratio_of(const Beside& wall) {
  if (wall.measured <= 0.0) return {};
  return wall.predicted / wall.measured;
}

bool runs_at_once(const Case& one) {
  const auto* const trial = std::get_if<study::C3Trial>(&one.trial);
  return trial != nullptr && trial->strategy != study::Strategy::serial && one.predicted;
}

std::optional<Beside> longer_than(const Case& one, std::optional<double> alone, std::optional<double> alone_predicted) {
  if (!alone || !alone_predicted) return {};
  return Beside{one.measured / *alone - 1.0, *one.predicted / *alone_predicted - 1.0};
}

void add(CostOfRun& run, const Case& one) {
  const calibrate::Alone& alone = one.alone;
  const calibrate::Alone& predicted = one.alone_predicted;
  if (one.figure == study::Figure::gemm_time) {
    run.gemm = longer_than(one, alone.gemm, predicted.gemm);
  } else if (one.figure == study::Figure::collective_time) {
    run.collective = longer_than(one, alone.collective, predicted.collective);
  } else if (one.figure == study::Figure::time && alone.gemm && alone.collective && predicted.gemm &&
             predicted.collective) {
    run.wall = Beside{one.measured - std::max(*alone.gemm, *alone.collective),
                      *one.predicted - std::max(*predicted.gemm, *predicted.collective)};
  }
}

std::vector<Beside> walls_of(const std::vector<CostOfRun>& runs) {
  std::vector<Beside> walls;
  for (const CostOfRun& run : runs) {
    if (run.wall) walls.push_back(*run.wall);
  }
  return walls;
}

}  // namespace

Beside Cost::wall() const {
  Beside sum;
  for (const Beside& wall : walls_of(runs)) {
    sum.measured += wall.measured;
    sum.predicted += wall.predicted;
  }
  return sum;
}

std::size_t Cost::walls() const { return walls_of(runs).size(); }

std::optional<double> Cost::ratio() const { return ratio_of(wall()); }

std::optional<study::Interval> Cost::ratio_interval() const {
  constexpr std::size_t fewest = 3;
  constexpr int draws = 1000;
  constexpr std::uint64_t seed = 1;
  const std::vector<Beside> walls = walls_of(runs);
  if (walls.size() < fewest) return {};
  std::mt19937_64 generator(seed);
  std::vector<double> ratios;
  for (int draw = 0; draw < draws; ++draw) {
    Beside sum;
    for (std::size_t i = 0; i < walls.size(); ++i) {
      const Beside& wall = walls[generator() % walls.size()];
      sum.measured += wall.measured;
      sum.predicted += wall.predicted;
    }
    if (const std::optional<double> ratio = ratio_of(sum)) ratios.push_back(*ratio);
  }
  // Where many samples cost nothing there is no ratio to speak of.
  if (ratios.size() < draws * 9 / 10) return {};
  return study::Interval{study::quantile(ratios, 0.05), study::quantile(ratios, 0.95)};
}

std::optional<Beside> Cost::mean_stretch(std::optional<Beside> CostOfRun::*operation) const {
  Beside sum;
  int count = 0;
  for (const CostOfRun& run : runs) {
    if (!(run.*operation)) continue;
    sum.measured += (run.*operation)->measured;
    sum.predicted += (run.*operation)->predicted;
    ++count;
  }
  if (count == 0) return {};
  return Beside{sum.measured / count, sum.predicted / count};
}

std::vector<Cost> costs_of(std::span<const Case> cases) {
  // A row of a table may hold several runs, of which the trial and the machine differ.
  using Run = std::tuple<std::string, study::Trial, Machine>;
  std::map<std::tuple<std::string, calibrate::Role, std::string>, std::map<Run, CostOfRun>> groups;
  for (const Case& one : cases) {
    if (!runs_at_once(one)) continue;
    for (const std::string& group : {std::string(), one.group}) {
      CostOfRun& run = groups[{one.suite, one.role, group}][{one.where, one.trial, one.machine}];
      run.where = one.where;
      add(run, one);
    }
  }
  std::vector<Cost> costs;
  for (auto& [key, runs] : groups) {
    Cost cost{std::get<0>(key), std::get<2>(key), std::get<1>(key), {}};
    for (auto& [of, run] : runs) {
      if (run.wall || run.gemm || run.collective) cost.runs.push_back(std::move(run));
    }
    if (!cost.runs.empty()) costs.push_back(std::move(cost));
  }
  return costs;
}

}  // namespace c3sim::validate
