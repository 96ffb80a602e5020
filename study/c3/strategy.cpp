#include "study/c3/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/collectives/rccl.h"
#include "models/kernels/gemm.h"

namespace c3sim::study {

namespace {

constexpr double roofline_efficiency = 0.7;  // the mean of observed peak efficiencies, ConCCL section V-C

// Representatives are the first compute-bound and the first memory-bound GEMM of ConCCL's Table I, and sizes on both
// sides of the 32 MB below which its Figure 9 finds collectives latency-bound.
constexpr models::GemmShape compute_bound{8192, 8192, 8192};
constexpr models::GemmShape memory_bound{8192, 57344, 8192};
constexpr sim::Bytes latency_bound_size(1048576.0);       // 1 MiB
constexpr sim::Bytes bandwidth_bound_size(1073741824.0);  // 1 GiB

double stretch(Testbed& testbed, const Work& work, models::CuMask mask) {
  return sim::to_seconds(testbed.alone(work, mask)) / sim::to_seconds(testbed.alone(work));
}

// Fills in the isolated times that a result is compared with. They are of the whole GPU even if the strategy splits
// CUs: the GEMM has all CUs, and the collective the library's number of channels.
C3Result with_yardsticks(Testbed& testbed, const Scenario& scenario, Strategy strategy) {
  Scenario alone = scenario;
  if (splits_cus(strategy)) alone.channels.reset();
  C3Result result;
  result.scenario = scenario;
  result.strategy = strategy;
  result.chosen = strategy;
  const bool by_turns = scenario.barrier == Barrier::each && !scenario.operands;
  result.isolated_gemm = by_turns ? testbed.alone_by_turns(scenario.gemm)
                                  : testbed.alone(scenario.gemm, {}, {}, between_of(scenario.operands));
  result.isolated_collective = testbed.alone(collective_of(alone, Strategy::serial, testbed.platform()));
  result.collective_alone = testbed.alone(collective_of(alone, strategy, testbed.platform()));
  return result;
}

Operation gemm_of(const Scenario& scenario, models::CuMask mask) {
  return {.name = "gemm", .work = scenario.gemm, .mask = mask, .stream = "compute", .after = {}};
}

Operation collective_operation(const Scenario& scenario, Strategy strategy, const models::PlatformSpec& platform,
                               models::CuMask mask, sim::Time lateness = {}) {
  models::CollectiveSpec collective = collective_of(scenario, strategy, platform);
  collective.lateness = lateness;
  return {.name = "collective", .work = collective, .mask = mask, .stream = "communication", .after = {}};
}

// Runs GEMM and collective in this order, concurrently or one after the other, with the last GPU late by `lateness`.
void run_with(Testbed& testbed, C3Result& result, LaunchOrder order, const CuPartition& cus, sim::Time lateness,
              bool in_turn = false) {
  result.schedule = {
      gemm_of(result.scenario, cus.gemm),
      collective_operation(result.scenario, result.strategy, testbed.platform(), cus.collective, lateness)};
  const bool gemm_first = order == LaunchOrder::gemm_first;
  if (!gemm_first) std::swap(result.schedule.front(), result.schedule.back());
  if (in_turn) {
    result.schedule.back().after = {0};
  } else {
    result.schedule.back().delay = result.scenario.delay;
  }
  const Timeline& timeline = testbed.run(result.schedule);
  const Span& gemm = timeline.operations[gemm_first ? 0 : 1];
  const Span& collective = timeline.operations[gemm_first ? 1 : 0];
  result.gemm_start = gemm.start;
  result.gemm = gemm.end;
  result.collective_start = collective.start;
  result.collective = collective.end;
  result.makespan = timeline.makespan();
  result.means = timeline.means;
}

// Without barriers a GPU is as likely to be first as last, so that on average it waits for half of the possible
// lateness. Nobody has measured when each GPU starts.
constexpr double mean_wait = 0.5;
constexpr int most_rounds = 8;  // after which an unsettled wait is given up

C3Result run_together(Testbed& testbed, const Scenario& scenario, Strategy strategy, LaunchOrder order,
                      CuPartition cus) {
  C3Result result = with_yardsticks(testbed, scenario, strategy);
  result.reserved_cus = cus.reserved;
  run_with(testbed, result, order, cus, {});
  if (scenario.barrier == Barrier::each || on_copy_engines(strategy)) return result;
  // The wait of a GPU depends on the time of its GEMM, which depends on the CUs that the wait occupies. A change by one
  // wave may keep both from settling.
  constexpr double settled = 0.01;
  sim::Seconds lateness;
  result.settled = false;
  for (int run = 0; run < most_rounds; ++run) {
    const sim::Seconds left = sim::to_seconds(result.gemm - result.collective) + lateness;
    const sim::Seconds next = mean_wait * std::max(sim::Seconds(0.0), left);
    result.settled = std::abs((next - lateness).value()) <= settled * next.value();
    if (result.settled) break;
    lateness = next;
    run_with(testbed, result, order, cus, sim::to_time(lateness));
  }
  return result;
}

// Keeps the first of equally fast results, which has the smallest reservation and the simplest strategy.
void keep_faster(C3Result& best, const C3Result& candidate) {
  if (best.makespan == sim::Time::zero() || candidate.makespan < best.makespan) best = candidate;
}

// Returns the partitions of the CUs to try; the fastest one counts.
std::vector<CuPartition> partitions(Testbed& testbed, const Scenario& scenario, Strategy strategy) {
  const models::PlatformSpec& platform = testbed.platform();
  std::vector<CuPartition> tried;
  if (strategy == Strategy::heuristic) tried.push_back(reserve(platform, cus_by_table(testbed, scenario)));
  if (splits_cus(strategy)) {
    const std::vector<int> counts = scenario.reserved ? std::vector{*scenario.reserved} : cu_reservations(platform);
    for (const int cus : counts) tried.push_back(reserve(platform, cus));
  }
  if (strategy == Strategy::conccl_rp) {
    // ConCCL section VI-F: only memory-bound GEMMs gain from losing CUs, and eight CUs, one per XCD, are best. The
    // collective's kernels, which reduce where engines cannot, may still use every CU: on those eight alone the
    // reduce-scatter of an all-reduce takes twice its time.
    const int by_rule = testbed.is_memory_bound(scenario.gemm) ? platform.gpu.memory.xcds : 0;
    tried.push_back(reserve(platform, scenario.reserved.value_or(by_rule)));
    tried.back().collective = {};
  }
  if (tried.empty()) tried.emplace_back();
  return tried;
}

LaunchOrder order_of(const Scenario& scenario, Strategy strategy, const models::PlatformSpec& platform) {
  if (strategy == Strategy::heuristic) return order_by_workgroups(scenario, platform);
  return launches_collective_first(strategy) ? LaunchOrder::collective_first : LaunchOrder::gemm_first;
}

}  // namespace

LaunchOrder order_by_workgroups(const Scenario& scenario, const models::PlatformSpec& platform) {
  const std::int64_t gemm = models::plan_gemm(platform.gpu, scenario.gemm).pieces();
  const std::int64_t collective = models::channels_of(scenario.collective_by(scenario.kernels, platform), platform);
  return gemm < collective ? LaunchOrder::gemm_first : LaunchOrder::collective_first;
}

int cus_by_table(Testbed& testbed, const Scenario& scenario) {
  const models::PlatformSpec& platform = testbed.platform();
  const models::CollectiveSpec collective = scenario.collective_by(scenario.kernels, platform);
  const sim::Seconds gemm_time = roofline(scenario.gemm, platform);
  const sim::Seconds collective_time = roofline(collective, platform);
  int best = 0;
  sim::Seconds shortest;
  for (const int cus : cu_reservations(platform)) {
    const sim::Seconds longer = std::max(gemm_stretch(testbed, scenario.gemm, cus) * gemm_time,
                                         collective_stretch(testbed, collective, cus) * collective_time);
    if (best == 0 || longer < shortest) {
      best = cus;
      shortest = longer;
    }
  }
  if (shortest > gemm_time + collective_time) return 0;
  return best;
}

double gemm_stretch(Testbed& testbed, const models::GemmShape& shape, int cus) {
  const models::GemmShape& representative = testbed.is_memory_bound(shape) ? memory_bound : compute_bound;
  return stretch(testbed, representative, reserve(testbed.platform(), cus).gemm);
}

double collective_stretch(Testbed& testbed, models::CollectiveSpec spec, int cus) {
  const bool nearer_to_small = spec.bytes / latency_bound_size < bandwidth_bound_size / spec.bytes;
  spec.bytes = nearer_to_small ? latency_bound_size : bandwidth_bound_size;
  return stretch(testbed, spec, reserve(testbed.platform(), cus).collective);
}

sim::Seconds roofline(const models::GemmShape& shape, const models::PlatformSpec& platform) {
  const sim::Seconds arithmetic = shape.flops() / sim::FlopsPerSecond(platform.gpu.peak_flops());
  const sim::Seconds memory = shape.compulsory_bytes() / platform.gpu.memory.hbm_rate;
  return std::max(arithmetic, memory) / roofline_efficiency;
}

sim::Seconds roofline(const models::CollectiveSpec& spec, const models::PlatformSpec& platform) {
  sim::Bytes sent;
  for (int to = 1; to < spec.gpus; ++to) sent += models::payload_between(spec, 0, to);
  return sent / platform.fabric.peak_rate_out() / roofline_efficiency;
}

C3Result best_kernel_strategy(std::span<const C3Result> candidates) {
  C3Result best;
  for (const C3Result& candidate : candidates) keep_faster(best, candidate);
  best.strategy = Strategy::c3_best;
  return best;
}

double C3Result::speedup() const { return sim::to_seconds(isolated_sum()) / sim::to_seconds(makespan); }

double C3Result::ideal_speedup() const {
  return sim::to_seconds(isolated_sum()) / sim::to_seconds(std::max(isolated_gemm, isolated_collective));
}

models::CollectiveSpec collective_of(const Scenario& scenario, Strategy strategy,
                                     const models::PlatformSpec& platform) {
  if (on_copy_engines(strategy)) return scenario.collective_by(models::Backend::sdma, platform);
  return scenario.collective_by(strategy == Strategy::serial ? models::Backend::rccl : scenario.kernels, platform);
}

C3Result run_in_turn(Testbed& testbed, const Scenario& scenario, LaunchOrder order) {
  C3Result result = with_yardsticks(testbed, scenario, Strategy::serial);
  run_with(testbed, result, order, {}, {}, /*in_turn=*/true);
  return result;
}

C3Result run_strategy(Testbed& testbed, const Scenario& scenario, Strategy strategy) {
  if (strategy == Strategy::serial) return run_in_turn(testbed, scenario, LaunchOrder::gemm_first);
  if (strategy == Strategy::c3_best) {
    std::vector<C3Result> candidates;
    for (const Strategy one : all_kernel_strategies()) candidates.push_back(run_strategy(testbed, scenario, one));
    return best_kernel_strategy(candidates);
  }
  const LaunchOrder order = order_of(scenario, strategy, testbed.platform());
  C3Result best;
  for (const CuPartition& cus : partitions(testbed, scenario, strategy)) {
    keep_faster(best, run_together(testbed, scenario, strategy, order, cus));
  }
  return best;
}

std::vector<std::string> settling_warnings(std::span<const C3Result> results) {
  std::vector<std::string> warnings;
  for (const C3Result& result : results) {
    if (result.settled) continue;
    warnings.push_back(fmt::format(
        "{}: how long GPUs without barriers wait for each other did not settle in {} runs: its times are of "
        "the last",
        to_string(result.strategy), most_rounds));
  }
  return warnings;
}

std::vector<std::string> reservation_warnings(Testbed& testbed, std::span<const C3Result> results) {
  std::vector<std::string> warnings;
  for (const C3Result& result : results) {
    const bool sweeps = splits_cus(result.strategy);
    if (!sweeps || result.scenario.reserved) continue;
    const models::PlatformSpec& platform = testbed.platform();
    if (cu_reservations(platform).empty()) {
      warnings.push_back(
          fmt::format("{} reserves nothing: {} has no power of two of CUs from 8 to 128 that is as many "
                      "of each XCD and leaves the GEMM one",
                      to_string(result.strategy), platform.name));
      continue;
    }
    const Strategy without = *without_reservation(result.strategy);
    const C3Result bare = run_strategy(testbed, result.scenario, without);
    constexpr double worth_a_word = 1.01;
    if (sim::to_seconds(result.makespan) <= worth_a_word * sim::to_seconds(bare.makespan)) continue;
    warnings.push_back(
        fmt::format("{} takes {:.2f} us, but reserving nothing ({}) {:.2f} us: the sweep of the paper "
                    "always reserves some CUs",
                    to_string(result.strategy), sim::to_microseconds(result.makespan), to_string(without),
                    sim::to_microseconds(bare.makespan)));
  }
  return warnings;
}

}  // namespace c3sim::study
