#include "study/c3/c3_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

namespace c3sim::study {

namespace {

Cell fraction_cell(const C3Result& result) {
  if (result.has_gain_to_be_had()) return result.fraction_of_ideal();
  return NoNumber{"no gain to be had"};
}

// Returns whether a result is slower than serial by more than launches and notices of the host take.
bool loses(const C3Result& result) {
  constexpr double worth_a_word = 0.995;
  return result.strategy != Strategy::serial && result.speedup() < worth_a_word;
}

}  // namespace

std::vector<C3Result> run_all(Testbed& testbed, std::span<const C3Trial> trials, const Progress& progress, int jobs) {
  // Returns the indices of the trials that a c3_best trial is the best of; none unless all of them are given.
  const auto made_of = [&](const C3Trial& trial) {
    std::vector<std::size_t> places;
    if (trial.strategy != Strategy::c3_best) return places;
    for (const Strategy strategy : all_kernel_strategies()) {
      const auto found = std::ranges::find(trials, C3Trial{trial.scenario, strategy});
      if (found == trials.end()) return std::vector<std::size_t>();
      places.push_back(static_cast<std::size_t>(found - trials.begin()));
    }
    return places;
  };
  std::vector<C3Result> results(trials.size());
  const auto run = [&](Testbed& asked, std::size_t index) {
    const C3Trial& trial = trials[index];
    if (made_of(trial).empty()) results[index] = run_strategy(asked, trial.scenario, trial.strategy);
  };
  for_each_on_testbeds(testbed, trials.size(), run, progress, jobs);
  for (std::size_t index = 0; index < trials.size(); ++index) {
    std::vector<C3Result> candidates;
    for (const std::size_t place : made_of(trials[index])) candidates.push_back(results[place]);
    if (!candidates.empty()) results[index] = best_kernel_strategy(candidates);
  }
  return results;
}

std::string losses_of(std::span<const C3Result> results) {
  std::vector<std::string> losers;
  bool is_heuristic = false;
  for (const C3Result& result : results) {
    if (!loses(result)) continue;
    const double percent = 100.0 * (1.0 / result.speedup() - 1.0);
    losers.push_back(fmt::format("{} takes {} % longer", to_string(result.strategy),
                                 percent < 9.95 ? fmt::format("{:.2g}", percent) : fmt::format("{:.0f}", percent)));
    is_heuristic = is_heuristic || result.strategy == Strategy::heuristic;
  }
  if (losers.empty()) return {};
  return fmt::format("{} than one after the other{}", fmt::join(losers, ", "),
                     is_heuristic ? ": the heuristic looks up isolated times and tries nothing; c3_best does" : "");
}

std::vector<Shown<C3Result>> shown_of(std::span<const C3Result> results) {
  using R = const C3Result&;
  std::vector<Shown<C3Result>> shown{
      {for_programs("scenario"), [](R r) { return r.scenario.name; }},
      {for_programs("gemm"), [](R r) { return models::extents_of(r.scenario.gemm); }},
      {for_programs("collective"), [](R r) { return r.scenario.collective; }},
      // Bytes are whole and below 2^53.
      {for_programs("bytes"), [](R r) { return static_cast<std::int64_t>(r.scenario.bytes.value()); }},
      {{"strategy", "strategy", ""}, &C3Result::strategy},
      {{"makespan_us", "makespan", "us"}, &C3Result::makespan},
      {{"speedup", "speedup", "", 3}, &C3Result::speedup},
      {{"ideal_speedup", "ideal", "", 3}, &C3Result::ideal_speedup},
      {{"fraction_of_ideal", "of ideal", "", 3}, fraction_cell},
      {{"gemm_us", "GEMM end", "us"}, &C3Result::gemm},
      {{"collective_us", "collective end", "us"}, &C3Result::collective},
      {{"isolated_gemm_us", "GEMM alone", "us"}, &C3Result::isolated_gemm},
      {{"isolated_collective_us", "RCCL alone", "us"}, &C3Result::isolated_collective},
      {{"collective_alone_us", "collective alone", "us"}, &C3Result::collective_alone},
      {{"serial_us", "serial", "us"}, &C3Result::isolated_sum},
      {{"chosen", "chosen", ""}, &C3Result::chosen},
      {{"reserved_cus", "reserved", "CU"}, &C3Result::reserved_cus},
      {for_programs("gemm_start_us"), &C3Result::gemm_start},
      {for_programs("collective_start_us"), &C3Result::collective_start}};
  if (std::ranges::any_of(results, loses)) {
    shown.push_back({{"note", "note", "", 2, true, false},
                     [](R r) { return loses(r) ? Cell(std::string("slower than serial")) : Cell(); }});
  }
  return shown;
}

}  // namespace c3sim::study
