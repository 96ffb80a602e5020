#include "models/kernels/gemm.h"

#include <algorithm>
#include <utility>

#include "models/kernels/gemm_traffic.h"
#include "models/node.h"

namespace c3sim::models {

namespace {

GemmTrafficModel traffic_of(const GemmPlan& plan, const GpuSpec& gpu) {
  return {plan, gpu.memory, gpu.slots(gpu.cus_per_xcd, plan.kernel.workgroup),
          static_cast<double>(gpu.slots(1, plan.kernel.workgroup))};
}

}  // namespace

bool is_memory_bound(const GemmPlan& plan, const Gpu& gpu) {
  const GpuSpec& spec = gpu.spec();
  const GemmTrafficModel traffic = traffic_of(plan, spec);
  return 1.0 / traffic.undisturbed().beyond_l2_bytes() <
         spec.peak_flops(plan.shape.dtype) / spec.memory.hbm_rate.value();
}

namespace {

// Returns a demand whose progress counts in operations.
Demand demand_of(const GemmTrafficModel& model, const GpuSpec& gpu, const Stream& stream, const Footing& footing) {
  GemmTraffic traffic = model.on(footing);
  if (stream.adds_result || stream.stored_elsewhere > 0.0) {
    // No cache keeps what memory adds to, nor what is stored elsewhere: only reads hit.
    Traffic& beyond = traffic.beyond_l2;
    beyond.cache_hits = std::min(1.0, beyond.cache_hits * (beyond.reads + beyond.writes) / beyond.reads);
    beyond.writes *= 1.0 - stream.stored_elsewhere;
    if (stream.adds_result) std::swap(beyond.writes, beyond.updates);
  }
  Demand demand;
  demand.own = {traffic.l2 * model.plan().l2_conflicts, traffic.beyond_l2, {}};
  demand.in_flight = model.plan().in_flight;
  demand.bytes_per_unit = traffic.l2;
  const PrecisionSpec precision = gpu.gemm.precision(model.plan().shape.dtype).value();
  demand.matrix_per_cycle = precision.flops_per_cycle_per_cu * model.plan().efficiency;
  demand.matrix_energy = precision.energy;
  demand.knee = gpu.gemm.library_of(model.plan().shape).knee;
  return demand;
}

// Shares out the last wave as Stream-K does (Osama et al., arXiv 2301.03598): after whole waves of tiles, all
// workgroups get even parts of the contractions left. A part has first loads, and an output that is added up.
void share_last(Kernel& kernel, const GpuSpec& gpu, const GemmPlan& plan) {
  const int cus = gpu.memory.xcds * kernel.shape.stream.mask.cus(gpu.cus_per_xcd);
  const int workgroups = static_cast<int>(gpu.slots(cus, plan.kernel.workgroup));
  const int left = kernel.shape.workgroups % workgroups;
  const double part = (1.0 - plan.around) * left / workgroups + 2.0 * plan.around;
  if (left == 0 || part >= 1.0) return;
  kernel.last_from = kernel.shape.workgroups - left;
  kernel.last_work = part * kernel.work;
  kernel.shape.workgroups = kernel.last_from + workgroups;
}

}  // namespace

Kernel gemm_kernel(const GpuSpec& gpu, const GemmShape& shape, const Stream& stream) {
  const GemmPlan cached = plan_gemm(gpu, shape, stream.mask);
  const double first = stream.cached_operands ? 0.0 : traffic_of(cached, gpu).first_loads();
  const GemmTrafficModel model = traffic_of(first > 0.0 ? plan_gemm(gpu, shape, stream.mask, first) : cached, gpu);
  const GemmPlan& plan = model.plan();
  const GemmLibrary& library = gpu.gemm.library_of(shape);
  Kernel kernel;
  kernel.shape.name = "gemm";
  kernel.shape.tenant = Tenant::gemm;
  kernel.shape.workgroups = static_cast<int>(plan.pieces());
  kernel.shape.workgroup = plan.kernel.workgroup;
  kernel.shape.dealing = library.schedule;
  kernel.shape.stream = stream;
  kernel.shape.time_spread = library.time_spread;
  kernel.start_up = start_up_of(library, plan.kernel);
  kernel.work = plan.piece_flops();
  kernel.alone = plan.alone_share;
  if (library.shares_last) share_last(kernel, gpu, plan);
  // The kernel fills caches with its traffic on the whole GPU at the matrix rate of the rated clock.
  const double rate = plan.efficiency * gpu.peak_flops(shape.dtype) * (gpu.power.rated_clock / gpu.power.highest_clock);
  kernel.l2_fill = sim::BytesPerSecond(rate * model.undisturbed().beyond_l2_bytes());
  GemmPlan cold = plan;  // what the kernel finds in the Infinity Cache counts as held, like what it fills
  cold.warm = false;
  kernel.cache_fill = sim::BytesPerSecond(rate * traffic_of(cold, gpu).undisturbed().hbm_bytes());
  kernel.demand = [model, &gpu, stream](int, const Footing& footing) { return demand_of(model, gpu, stream, footing); };
  return kernel;
}

sim::Task<> run_gemm(Node& node, GemmShape shape, Stream stream, std::vector<int> gpus) {
  Launch launch{gemm_kernel(node.spec().gpu, shape, stream), "gemm", to_string(shape)};
  if (gpus.empty()) gpus = node.all_simulated();
  co_await launch_kernel(node, std::move(gpus), std::move(launch));
}

}  // namespace c3sim::models
