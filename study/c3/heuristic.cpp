#include "study/c3/heuristic.h"

#include <algorithm>

#include "models/collectives/rccl_transfers.h"
#include "models/kernels/gemm_plan.h"
#include "study/work/scenario.h"

namespace c3sim::study {

namespace {

constexpr double roofline_efficiency = 0.7;  // ConCCL section V-C: the mean of observed peak efficiencies

// Representatives: the first compute-bound and the first memory-bound GEMM of ConCCL's Table I, and sizes on either
// side of the 32 MB below which its Figure 9 finds collectives bound by latency.
constexpr models::GemmShape compute_bound{8192, 8192, 8192};
constexpr models::GemmShape memory_bound{8192, 57344, 8192};
constexpr sim::Bytes latency_bound_size(1048576.0);       // 1 MiB
constexpr sim::Bytes bandwidth_bound_size(1073741824.0);  // 1 GiB

double stretch(Testbed& testbed, const Work& work, models::CuMask mask) {
  return sim::to_seconds(testbed.alone(work, mask)) / sim::to_seconds(testbed.alone(work));
}

}  // namespace

LaunchOrder order_by_workgroups(const Scenario& scenario, const models::PlatformSpec& platform) {
  const std::int64_t gemm = models::plan_gemm(platform.gpu, scenario.gemm).pieces();
  const std::int64_t collective = platform.rccl.channels(scenario.collective, scenario.channels);
  return gemm < collective ? LaunchOrder::gemm_first : LaunchOrder::collective_first;
}

int cus_by_table(Testbed& testbed, const Scenario& scenario) {
  const models::PlatformSpec& platform = testbed.platform();
  const models::CollectiveSpec collective = scenario.collective_by(models::Backend::rccl, platform);
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

}  // namespace c3sim::study
