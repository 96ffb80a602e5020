#include "models/kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/node.h"

namespace c3sim::models {

namespace {

// Returns the extent of the panels of A and B that `tiles` touch when the library keeps them in a block: of its grouped
// rows, or as square in elements as the grid of tiles allows. Elements of A count by their size relative to those of B.
double block_extent(const GemmPlan& plan, double tiles) {
  const double tile_m = plan.kernel.tile_m;
  const double tile_n = plan.kernel.tile_n;
  double rows = plan.grouped_rows > 0 ? std::min<double>(plan.grouped_rows, tiles) : std::sqrt(tiles * tile_n / tile_m);
  rows = std::clamp(rows, 1.0, static_cast<double>(plan.tiles_m));
  double columns = std::max(1.0, tiles / rows);
  if (columns > static_cast<double>(plan.tiles_n)) {
    columns = static_cast<double>(plan.tiles_n);
    rows = std::max(1.0, tiles / columns);
  }
  return rows * tile_m * plan.shape.weight_ratio() + columns * tile_n;
}

// Returns the extent of the panels that `residents` workgroups touch. Those that split a contraction read different
// parts; those of one CU run at different times, so that they do not share reads; several products share nothing.
double panel_extent(const GemmPlan& plan, double residents, double per_cu) {
  double apart = plan.kernel.split_k * per_cu;
  if (plan.shape.products > 1) {
    apart = std::max(apart, residents / static_cast<double>(plan.tiles_m * plan.tiles_n));
  }
  apart = std::min(apart, residents);
  return apart * block_extent(plan, residents / apart);
}

// Returns the share of re-reads that still find their line. Readers lie anywhere in the window that they span, so the
// cache holds a line of it with probability capacity / window.
double reuse(double window_bytes, double capacity_bytes) { return std::min(1.0, capacity_bytes / window_bytes); }

}  // namespace

GemmTraffic estimate_traffic(const GemmPlan& plan, const MemorySpec& memory, const Footing& footing) {
  const double element = plan.shape.element();
  const double k = plan.piece_k();
  const double panel_width = plan.loaded();

  // Workgroups of an XCD may find in its L2 what one of them has fetched, if they come before it is evicted.
  const double l2_window_k = std::min(k, static_cast<double>(plan.l2_drift));
  const double l2_capacity = footing.l2_share * memory.l2_capacity.value();
  double all = 0.0;
  double beyond = 0.0;  // panel elements per element of k that leave the L2s
  for (const int count : footing.residents) {
    if (count == 0) continue;
    const double extent = panel_extent(plan, count, footing.per_cu);
    const double requested = count * panel_width;
    const double unique = std::min(extent, requested);
    const double kept = reuse(element * extent * l2_window_k, l2_capacity);
    beyond += unique + (requested - unique) * (1.0 - kept);
    all += count;
  }

  // XCDs may find in the Infinity Cache what another has fetched, and panels of earlier waves if all operands fit.
  const double gpu_extent = panel_extent(plan, all, footing.per_cu);
  const double gpu_unique = std::min(gpu_extent, beyond);
  const double capacity = footing.cache_share * memory.cache_capacity.value();
  const double cache_window_k = std::min(k, static_cast<double>(plan.cache_drift));
  const double kept_across_xcds = reuse(element * gpu_extent * cache_window_k, capacity);
  const double operands = plan.shape.operand_bytes().value();
  const double kept_across_waves = reuse(operands, capacity);
  const double waves = std::max(1.0, static_cast<double>(plan.pieces()) / all);
  const double held = plan.warm ? memory.held_of_turn(plan.shape.compulsory_bytes(), footing.cache_share) : 0.0;
  const double first_touch = (1.0 - held) * std::min(1.0, operands / (waves * element * k * gpu_unique));
  const double wave_misses = gpu_unique * (first_touch + (1.0 - first_touch) * (1.0 - kept_across_waves));
  const double misses = wave_misses + (beyond - gpu_unique) * (1.0 - kept_across_xcds);

  const double panel_reads = element * k * beyond / all;  // of one piece, from beyond the L2s
  const double flops = plan.piece_flops();
  GemmTraffic traffic;
  traffic.l2 = plan.piece_l2_bytes() / flops;
  traffic.beyond_l2.reads = (panel_reads + plan.piece_reads()) / flops;
  traffic.beyond_l2.writes = plan.piece_writes() / flops;
  // Lines of the result that the cache still holds are overwritten there.
  const double kept = panel_reads * (1.0 - misses / beyond) + held * plan.piece_writes();
  traffic.beyond_l2.cache_hits = kept / (panel_reads + plan.piece_reads() + plan.piece_writes());
  return traffic;
}

GemmTrafficModel::GemmTrafficModel(const GemmPlan& plan, const MemorySpec& memory, int slots_per_xcd, double per_cu)
    : plan_(plan), memory_(memory) {
  const std::vector<int> full(static_cast<std::size_t>(memory.xcds), slots_per_xcd);
  estimated_ = estimate_traffic(plan_, memory, {full, per_cu});
  undisturbed_ = correct(estimated_);
}

GemmTraffic GemmTrafficModel::on(const Footing& footing) const {
  return correct(estimate_traffic(plan_, memory_, footing));
}

double GemmTrafficModel::first_loads() const {
  const double loads = estimated_.beyond_l2.reads * static_cast<double>(plan_.pieces()) * plan_.piece_flops();
  return std::min(1.0, plan_.shape.operand_bytes().value() / loads);
}

GemmTraffic GemmTrafficModel::correct(const GemmTraffic& estimated) const {
  if (!plan_.profile) return estimated;
  const double flops = static_cast<double>(plan_.pieces()) * plan_.piece_flops();
  const double beyond =
      plan_.profile->cache.value() / flops * estimated.beyond_l2_bytes() / estimated_.beyond_l2_bytes();
  const double hbm = plan_.profile->hbm.value() / flops * estimated.hbm_bytes() / estimated_.hbm_bytes();
  GemmTraffic corrected;
  corrected.l2 = plan_.profile->l2.value() / flops;
  corrected.beyond_l2.reads = beyond * estimated.beyond_l2.reads / estimated.beyond_l2_bytes();
  corrected.beyond_l2.writes = beyond - corrected.beyond_l2.reads;
  corrected.beyond_l2.cache_hits = 1.0 - std::min(1.0, hbm / beyond);
  return corrected;
}

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
  Demand demand{.own = {traffic.l2 * model.plan().l2_conflicts, traffic.beyond_l2, {}},
                .in_flight = model.plan().in_flight,
                .bytes_per_unit = traffic.l2};
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
