// Explores the design space of FiCCO (arXiv 2512.10236): GEMMs whose operand is gathered or whose result is scattered,
// under every schedule of study/program/dependent.h, and what each schedule loses to which cause.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/config/nearest_name.h"
#include "study/c3/paper_study.h"
#include "study/program/dependent.h"
#include "study/program/scenario.h"
#include "study/report/table_of.h"

namespace c3sim::study {

namespace {

using Collective = DependentSchedule::Collective;

struct FinerGrainStudy {
  std::string name;
  std::vector<NamedGemm> gemms;
  std::vector<DependentSchedule> schedules;  // compared with serial_rccl or scatter_serial_rccl
};

// A FinerGrainResult is one GEMM under one schedule. Without losses the schedule would take as long as the longer of
// its GEMM and its collective, each alone. `decomposition` is what it loses on a machine without interference, to small
// GEMMs and transfers and to filling and draining the pipeline. `contention` is what interference adds.
struct FinerGrainResult {
  std::string gemm;
  models::GemmShape shape;
  DependentSchedule schedule;
  sim::Time gemm_alone{0};
  sim::Time rccl_alone{0};        // the collective by kernels
  sim::Time collective_alone{0};  // by the schedule's own backend
  sim::Time serial{0};            // serial_rccl or scatter_serial_rccl
  sim::Time time{0};
  sim::Time apart{0};  // `time` on a machine without interference

  sim::Time ideal() const { return std::max(gemm_alone, collective_alone); }
  sim::Time decomposition() const { return apart - ideal(); }
  sim::Time contention() const { return time - apart; }
  double speedup() const { return sim::to_seconds(serial) / sim::to_seconds(time); }
  // Returns the speedup over serial execution by RCCL if the shorter of the two were hidden entirely.
  double ideal_speedup() const {
    return sim::to_seconds(gemm_alone + rccl_alone) / sim::to_seconds(std::max(gemm_alone, rccl_alone));
  }
};

// Compares the best schedule of a GEMM with the one that a heuristic names from the results of other GEMMs.
struct NamedSchedule {
  std::string gemm;
  DependentSchedule best;   // the fastest
  DependentSchedule named;  // the best one of the nearest other GEMM
  double lost = 0.0;        // extra time of `named` over `best`, relative to `best`
};

DependentSchedule serial_of(const DependentSchedule& schedule, models::Backend backend) {
  return {.collective = schedule.collective, .backend = backend};
}

// Returns the time of the collective of a serial schedule alone. The GEMM, which is removed, comes last where its
// operand is gathered and first where its result is scattered.
sim::Time collective_alone(Testbed& testbed, const DependentSchedule& serial, const models::GemmShape& shape) {
  Schedule transfers = operations_of(serial, shape, testbed.platform());
  if (serial.collective == Collective::gather) {
    transfers.pop_back();
  } else {
    transfers.erase(transfers.begin());
    for (Operation& operation : transfers) {
      std::erase(operation.after, 0u);
      for (std::size_t& earlier : operation.after) --earlier;
    }
  }
  return testbed.run(transfers).makespan();
}

models::PlatformSpec without_interference(models::PlatformSpec platform) {
  for (const models::Mechanism mechanism : models::sharing_mechanisms) platform.without.add(mechanism);
  return platform;
}

double distance(const models::GemmShape& a, const models::GemmShape& b) {
  const auto square = [](std::int64_t one, std::int64_t other) {
    const double ratio = std::log(static_cast<double>(one) / static_cast<double>(other));
    return ratio * ratio;
  };
  return square(a.m, b.m) + square(a.n, b.n) + square(a.k, b.k);
}

// Groups results by GEMM and collective.
std::vector<std::vector<const FinerGrainResult*>> by_gemm(const std::vector<FinerGrainResult>& results) {
  std::vector<std::vector<const FinerGrainResult*>> groups;
  for (const FinerGrainResult& result : results) {
    const auto same = [&](const auto& group) {
      return group.front()->gemm == result.gemm && group.front()->schedule.collective == result.schedule.collective;
    };
    const auto group = std::ranges::find_if(groups, same);
    (group == groups.end() ? groups.emplace_back() : *group).push_back(&result);
  }
  return groups;
}

const FinerGrainResult& fastest(const std::vector<const FinerGrainResult*>& group) {
  return **std::ranges::min_element(group, {}, [](const FinerGrainResult* one) { return one->time; });
}

std::string_view words(Collective collective) {
  return collective == Collective::gather ? "all_gather" : "reduce_scatter";
}

std::vector<DependentSchedule> read_schedules(sim::Section& root) {
  std::vector<std::string> known;
  for (const DependentSchedule& schedule : all_dependent_schedules()) {
    if (schedule.collective != Collective::none) known.emplace_back(to_string(schedule));
  }
  std::vector<std::string> names = root.texts("schedules");
  if (names == std::vector<std::string>{"all"}) names = known;
  for (const DependentSchedule& schedule : triggered_schedules()) known.emplace_back(to_string(schedule));
  std::vector<DependentSchedule> schedules;
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      root.fault("schedules", "no schedule is named '" + name + "'" + sim::name_hint(name, known));
    } else {
      schedules.push_back(dependent_schedule(name));
    }
  }
  return schedules;
}

ResultTable table_of_all(const std::vector<FinerGrainResult>& results) {
  using One = const FinerGrainResult&;
  return table_of<FinerGrainResult>(
      results, {{{"gemm", "gemm", ""}, &FinerGrainResult::gemm},
                {{"shape", "m x n x k", ""}, &FinerGrainResult::shape},
                {{"collective", "collective", ""}, [](One one) { return words(one.schedule.collective); }},
                {{"schedule", "schedule", ""}, &FinerGrainResult::schedule},
                {{"time_us", "time", "us"}, &FinerGrainResult::time},
                {{"speedup", "speedup", "", 3}, &FinerGrainResult::speedup},
                {{"gemm_us", "GEMM alone", "us"}, &FinerGrainResult::gemm_alone},
                {{"collective_us", "collective alone", "us"}, &FinerGrainResult::collective_alone},
                {{"decomposition_us", "lost by decomposition", "us"}, &FinerGrainResult::decomposition},
                {{"contention_us", "lost by contention", "us"}, &FinerGrainResult::contention}});
}

ResultTable table_of_best(const std::vector<FinerGrainResult>& results) {
  using One = const FinerGrainResult&;
  std::vector<const FinerGrainResult*> best;
  for (const auto& group : by_gemm(results)) best.push_back(&fastest(group));
  const auto share = [](auto part) {
    return [part](One one) { return 100.0 * (sim::to_seconds(std::invoke(part, one)) / sim::to_seconds(one.time)); };
  };
  return table_of<FinerGrainResult>(
      best, {{{"gemm", "gemm", ""}, &FinerGrainResult::gemm},
             {{"collective", "collective", ""}, [](One one) { return words(one.schedule.collective); }},
             {{"serial_us", "serial by RCCL", "us"}, &FinerGrainResult::serial},
             {{"ideal_speedup", "ideal speedup", "", 3}, &FinerGrainResult::ideal_speedup},
             {{"best", "best schedule", ""}, &FinerGrainResult::schedule},
             {{"speedup", "its speedup", "", 3}, &FinerGrainResult::speedup},
             {{"decomposition_pct", "decomposition", "% of it", 1}, share(&FinerGrainResult::decomposition)},
             {{"contention_pct", "contention", "% of it", 1}, share(&FinerGrainResult::contention)}});
}

// Names for each GEMM the best schedule of the nearest other GEMM with the same collective, by the sum of squared
// logarithms of ratios of m, n and k: a rule on static sizes, tested on cases that it has not seen.
std::vector<NamedSchedule> name_by_nearest(const std::vector<FinerGrainResult>& results) {
  const auto groups = by_gemm(results);
  std::vector<NamedSchedule> named;
  for (const auto& group : groups) {
    const FinerGrainResult& best = fastest(group);
    const FinerGrainResult* nearest = nullptr;
    for (const auto& other : groups) {
      const FinerGrainResult& theirs = *other.front();
      if (&other == &group || theirs.schedule.collective != best.schedule.collective) continue;
      if (nearest == nullptr || distance(theirs.shape, best.shape) < distance(nearest->shape, best.shape)) {
        nearest = &fastest(other);
      }
    }
    if (nearest == nullptr) continue;
    const auto chosen = std::ranges::find(group, nearest->schedule, &FinerGrainResult::schedule);
    if (chosen == group.end()) continue;
    named.push_back({best.gemm, best.schedule, nearest->schedule,
                     sim::to_seconds((*chosen)->time) / sim::to_seconds(best.time) - 1.0});
  }
  return named;
}

ResultTable table_of_heuristic(const std::vector<FinerGrainResult>& results) {
  using Named = const NamedSchedule&;
  return table_of<NamedSchedule>(name_by_nearest(results),
                                 {{{"gemm", "gemm", ""}, &NamedSchedule::gemm},
                                  {{"best", "best schedule", ""}, &NamedSchedule::best},
                                  {{"named", "of the nearest other GEMM", ""}, &NamedSchedule::named},
                                  {{"right", "right", ""}, [](Named one) { return one.best == one.named; }},
                                  {{"lost_pct", "lost", "%", 2}, [](Named one) { return 100.0 * one.lost; }}});
}

FinerGrainStudy read_study_of_ficco(sim::Section root, const Testbed& testbed) {
  FinerGrainStudy study;
  study.name = root.name("name");
  sim::Section gemms = root.section("gemms");
  study.gemms = read_gemms(gemms);
  if (study.gemms.empty() || study.gemms.size() > most_gemms) {
    root.fault("gemms", fmt::format("1 to {} GEMMs are accepted", most_gemms));
  }
  study.schedules = read_schedules(root);
  for (const NamedGemm& gemm : study.gemms) {
    std::string reason = testbed.why_impossible(Work(gemm.shape));
    for (const DependentSchedule& schedule : study.schedules) {
      if (reason.empty()) reason = why_impossible(schedule, gemm.shape, testbed.platform());
    }
    if (!reason.empty() && gemms.is_sound(gemm.name)) gemms.fault(gemm.name, std::move(reason));
  }
  return study;
}

// Returns results by GEMM and schedule. With `losses` each schedule also runs on a machine without interference;
// otherwise `apart` equals `time`.
std::vector<FinerGrainResult> run_schedules(Testbed& testbed, const FinerGrainStudy& study, bool losses,
                                            const Progress& progress, int jobs) {
  std::vector<FinerGrainResult> results;
  for (const NamedGemm& gemm : study.gemms) {
    for (const DependentSchedule& schedule : study.schedules) results.push_back({gemm.name, gemm.shape, schedule});
  }
  const models::PlatformSpec alone = without_interference(testbed.platform());
  for_each_on_testbeds(
      testbed, results.size(),
      [&](Testbed& own, std::size_t index) {
        FinerGrainResult& result = results[index];
        const DependentSchedule& schedule = result.schedule;
        const models::PlatformSpec& platform = own.platform();
        const auto run = [&](const DependentSchedule& asked) {
          return own.run(operations_of(asked, result.shape, platform)).makespan();
        };
        result.gemm_alone = own.alone_by_turns(result.shape);
        result.rccl_alone = collective_alone(own, serial_of(schedule, models::Backend::rccl), result.shape);
        result.collective_alone = collective_alone(own, serial_of(schedule, schedule.backend), result.shape);
        result.serial = run(serial_of(schedule, models::Backend::rccl));
        result.time = result.apart = run(schedule);
        if (losses) result.apart = Testbed(alone).run(operations_of(schedule, result.shape, platform)).makespan();
      },
      progress, jobs);
  return results;
}

}  // namespace

PaperStudy read_finer_grain_study(sim::Section root, const Testbed& testbed) {
  const FinerGrainStudy study = read_study_of_ficco(root, testbed);
  const auto run = [study](Testbed& asked, bool losses, const Progress& progress, int jobs) -> Results {
    const std::vector<FinerGrainResult> results = run_schedules(asked, study, losses, progress, jobs);
    const bool in_text = results.size() <= 64;
    return {.platform = asked.platform().name,
            .tables = {{"results", "", table_of_all(results), in_text},
                       {"best", "The best schedule of each GEMM", table_of_best(results)},
                       {"heuristic", "A rule on static sizes: what is best for the nearest other GEMM",
                        table_of_heuristic(results)}},
            .title = study.name};
  };
  return {fmt::format("{}: {} GEMMs by {} schedules", study.name, study.gemms.size(), study.schedules.size() + 1), run};
}

}  // namespace c3sim::study
