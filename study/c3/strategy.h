// The ways to run a GEMM and a collective of one node at once (C3) that ConCCL (arXiv 2412.14335) compares, and what
// each makes of a scenario.
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
  Strategy chosen = Strategy::serial;  // c3_best: the one that was fastest; otherwise `strategy`
  int reserved_cus = 0;                // per GPU, kept from the GEMM
  bool settled = true;  // how long GPUs wait for late ones; or the search for it was given up (Barrier::none)

  Schedule schedule;             // what was run
  std::optional<Means> means{};  // of that; none of what is the sum of others

  sim::Time makespan{0};
  sim::Time gemm_start{0};        // when it was launched within the run
  sim::Time gemm{0};              // its end within the run
  sim::Time collective_start{0};  // when it was launched within the run
  sim::Time collective{0};        // its end within the run
  sim::Time isolated_gemm{0};     // alone, on all CUs
  // Alone: RCCL's, and the one that the strategy uses. Where the CUs are split both have the library's own channels.
  sim::Time isolated_collective{0};
  sim::Time collective_alone{0};

  sim::Time serial() const { return isolated_gemm + isolated_collective; }
  // Against the serial run, as the paper counts.
  double speedup() const;
  // Of the longer of GEMM and RCCL with the other for nothing.
  double ideal_speedup() const;
  double fraction_of_ideal() const { return (speedup() - 1.0) / (ideal_speedup() - 1.0); }
  // Below it the fraction divides by next to nothing: where ideal saves 0.3 %, a launch counts for hundreds of it.
  static constexpr double least_ideal_speedup = 1.02;
  bool has_gain_to_be_had() const { return ideal_speedup() >= least_ideal_speedup; }
};

// A GEMM and a collective at once.
struct C3Trial {
  Scenario scenario;
  Strategy strategy = Strategy::c3_base;
  auto operator<=>(const C3Trial&) const = default;
};

// Whether copy engines carry the collective, rather than kernels.
inline bool on_copy_engines(Strategy strategy) {
  return strategy == Strategy::conccl || strategy == Strategy::conccl_rp;
}
// Of a strategy that keeps CUs from the GEMM, the one that is the same without; none of others.
inline std::optional<Strategy> without_reservation(Strategy strategy) {
  if (strategy == Strategy::c3_rp) return Strategy::c3_base;
  if (strategy == Strategy::c3_sp_rp) return Strategy::c3_sp;
  return strategy == Strategy::conccl_rp ? std::optional(Strategy::conccl) : std::nullopt;
}
// Whether CUs are reserved for the collective's kernels.
inline bool splits_cus(Strategy strategy) {
  return without_reservation(strategy).has_value() && !on_copy_engines(strategy);
}
// Whether its kernel is launched before that of the GEMM; heuristic decides by the scenario.
inline bool launches_collective_first(Strategy strategy) {
  return strategy == Strategy::c3_sp || strategy == Strategy::c3_sp_rp;
}
// The collective that a strategy runs. Whether the platform can is for Testbed::why_impossible.
models::CollectiveSpec collective_of(const Scenario& scenario, Strategy strategy, const models::PlatformSpec& platform);

// On a platform too small for any of cu_reservations, those that reserve CUs reserve none.
C3Result run_strategy(Testbed& testbed, const Scenario& scenario, Strategy strategy);
// Of what it has run, whether or not times were taken of it.
Means means_of(const Testbed& testbed, const C3Result& result);
// What c3_best is, of the results of all_kernel_strategies in that order.
C3Result best_kernel_strategy(std::span<const C3Result> candidates);

// Of results that did not settle, a sentence for each.
std::vector<std::string> settling_warnings(std::span<const C3Result> results);

// What is to be known of results that were to reserve CUs: that nothing can be reserved, or that reserving nothing
// would have been faster, by more than 1 %.
std::vector<std::string> reservation_warnings(Testbed& testbed, std::span<const C3Result> results);

// What a runtime can decide without trying: the two heuristics of ConCCL (arXiv 2412.14335, section V-C).

// Which kernel to launch first: the one of fewer workgroups, so that the other does not starve it.
LaunchOrder order_by_workgroups(const Scenario& scenario, const models::PlatformSpec& platform);

// How many CUs to reserve for the collective, of the counts that cu_reservations offers: so many that the longer of
// GEMM and collective takes least, each taking its roofline time stretched by what the table says. 0 where nothing can
// be reserved, and where by the table every reservation is slower than one after the other, which reserving nothing is
// not: the table, of isolated runs, does not say what sharing costs.
int cus_by_table(Testbed& testbed, const Scenario& scenario);

// The table, of isolated runs of a few representatives, each run once per testbed: how many times as long as with all
// CUs takes a GEMM that leaves `cus` to others (that of cb1, or of mb1 for memory-bound ones), and a collective on
// `cus` CUs (that of a latency-bound or of a bandwidth-bound size, whichever is nearer).
double gemm_stretch(Testbed& testbed, const models::GemmShape& shape, int cus);
double collective_stretch(Testbed& testbed, models::CollectiveSpec spec, int cus);

// Times at 70 % of the peak rates of arithmetic, HBM and links.
sim::Seconds roofline(const models::GemmShape& shape, const models::PlatformSpec& platform);
sim::Seconds roofline(const models::CollectiveSpec& spec, const models::PlatformSpec& platform);

}  // namespace c3sim::study
