// Runs a GEMM and a collective of one node concurrently (C3) under the strategies of ConCCL (arXiv 2412.14335).
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/play/testbed.h"
#include "study/program/scenario.h"

namespace c3sim::study {

struct C3Result {
  Scenario scenario;
  Strategy strategy = Strategy::serial;
  Strategy chosen = Strategy::serial;  // the fastest one for c3_best, otherwise `strategy`
  int reserved_cus = 0;                // CUs of a GPU that the GEMM may not use
  bool settled = true;                 // whether the search for the wait for late GPUs converged (Barrier::none)

  Schedule schedule;  // the operations that were run
  Means means{};      // clock and power over the run

  sim::Time makespan{0};
  sim::Time gemm_start{0};        // when the GEMM was launched within the run
  sim::Time gemm{0};              // when the GEMM ended within the run
  sim::Time collective_start{0};  // when the collective was launched within the run
  sim::Time collective{0};        // when the collective ended within the run
  sim::Time isolated_gemm{0};     // the GEMM alone, on all CUs
  // RCCL's collective alone, and the strategy's. If CUs are split, both use the library's number of channels.
  sim::Time isolated_collective{0};
  sim::Time collective_alone{0};

  sim::Time isolated_sum() const { return isolated_gemm + isolated_collective; }
  // Returns the speedup over the sum of the isolated times, as in the paper.
  double speedup() const;
  // Returns the speedup if the shorter of the GEMM and RCCL's collective took no time.
  double ideal_speedup() const;
  double fraction_of_ideal() const { return (speedup() - 1.0) / (ideal_speedup() - 1.0); }
  // Below this ideal the fraction divides by nearly 0: if ideal saves 0.3 %, a launch counts for hundreds of percent.
  static constexpr double least_ideal_speedup = 1.02;
  bool has_gain_to_be_had() const { return ideal_speedup() >= least_ideal_speedup; }
};

// A C3Trial is a GEMM and a collective that run concurrently under a strategy.
struct C3Trial {
  Scenario scenario;
  Strategy strategy = Strategy::c3_base;
  auto operator<=>(const C3Trial&) const = default;
};

// Returns whether copy engines rather than kernels carry the collective.
inline bool on_copy_engines(Strategy strategy) {
  return strategy == Strategy::conccl || strategy == Strategy::conccl_rp;
}
// Returns the strategy that differs only by keeping no CUs from the GEMM; none if the strategy keeps no CUs from it.
inline std::optional<Strategy> without_reservation(Strategy strategy) {
  if (strategy == Strategy::c3_rp) return Strategy::c3_base;
  if (strategy == Strategy::c3_sp_rp) return Strategy::c3_sp;
  return strategy == Strategy::conccl_rp ? std::optional(Strategy::conccl) : std::nullopt;
}
// Returns whether the strategy, or one that it tries, keeps CUs from the GEMM.
inline bool reserves_cus(Strategy strategy) {
  return without_reservation(strategy).has_value() || strategy == Strategy::c3_best;
}
// Returns whether the strategy reserves CUs for the collective's kernels.
inline bool splits_cus(Strategy strategy) {
  return without_reservation(strategy).has_value() && !on_copy_engines(strategy);
}
// Returns whether the collective's kernel is launched before the GEMM's; `heuristic` decides by the scenario.
inline bool launches_collective_first(Strategy strategy) {
  return strategy == Strategy::c3_sp || strategy == Strategy::c3_sp_rp;
}
// Returns the collective that a strategy runs. Testbed::why_impossible tells whether the platform can run it.
models::CollectiveSpec collective_of(const Scenario& scenario, Strategy strategy, const models::PlatformSpec& platform);

// Runs a scenario. Strategies that reserve CUs reserve none if the platform is too small for any of cu_reservations.
C3Result run_strategy(Testbed& testbed, const Scenario& scenario, Strategy strategy);
// Runs GEMM and collective one after the other. In one run each has the clock that results from both; alone in loops
// of their own they would have different clocks.
C3Result run_in_turn(Testbed& testbed, const Scenario& scenario, LaunchOrder order);
// Returns the result of c3_best from those of all_kernel_strategies, given in that order.
C3Result best_kernel_strategy(std::span<const C3Result> candidates);

// Returns a sentence for each result that did not settle.
std::vector<std::string> settling_warnings(std::span<const C3Result> results);

// Returns warnings about results that were to reserve CUs: that no CUs can be reserved, or that reserving none would
// have been more than 1 % faster.
std::vector<std::string> reservation_warnings(Testbed& testbed, std::span<const C3Result> results);

// The functions below are the two heuristics of ConCCL (arXiv 2412.14335, section V-C), which need no trial runs.

// Chooses to launch the kernel with fewer workgroups first, so that the other one does not starve it.
LaunchOrder order_by_workgroups(const Scenario& scenario, const models::PlatformSpec& platform);

// Chooses among cu_reservations the number of CUs for the collective that minimizes the longer of GEMM and collective:
// roofline times multiplied by the table's stretch. Returns 0 where nothing can be reserved, or where every reservation
// is slower than serial execution by the table. Without a reservation execution is never that slow, but the table of
// isolated runs does not tell what sharing CUs costs.
int cus_by_table(Testbed& testbed, const Scenario& scenario);

// The table holds isolated runs of a few representatives, each run once per testbed, relative to their times on all
// CUs: a GEMM that leaves `cus` CUs to others (that of cb1, or of mb1 if memory-bound), and a collective on `cus` CUs
// (of a latency-bound or a bandwidth-bound size, whichever is nearer).
double gemm_stretch(Testbed& testbed, const models::GemmShape& shape, int cus);
double collective_stretch(Testbed& testbed, models::CollectiveSpec spec, int cus);

// Return times at 70 % of the peak rates of arithmetic, HBM and links.
sim::Seconds roofline(const models::GemmShape& shape, const models::PlatformSpec& platform);
sim::Seconds roofline(const models::CollectiveSpec& spec, const models::PlatformSpec& platform);

}  // namespace c3sim::study
