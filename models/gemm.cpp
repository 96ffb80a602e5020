#include "models/gemm.h"

#include <algorithm>
#include <cmath>

#include "models/gpu.h"
#include "models/limits.h"

namespace models {

namespace {

// The oldest workgroup of a CU leaves something to the others.
constexpr double most_of_a_cu = 0.99;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Panels of A and B that `residents` tiles touch when the library keeps them in a block that is as square, in elements,
// as the grid of tiles allows. In elements of m plus elements of n.
double panel_extent(const GemmPlan& plan, double residents) {
  const double tile_m = plan.kernel.tile_m;
  const double tile_n = plan.kernel.tile_n;
  double rows = std::sqrt(residents * tile_n / tile_m);
  rows = std::clamp(rows, 1.0, static_cast<double>(plan.tiles_m));
  double columns = std::max(1.0, residents / rows);
  if (columns > static_cast<double>(plan.tiles_n)) {
    columns = static_cast<double>(plan.tiles_n);
    rows = std::max(1.0, residents / columns);
  }
  return rows * tile_m + columns * tile_n;
}

// The share of re-reads that still find their line: all while the window they span is far below the capacity held, none
// far above it.
double reuse(double window_bytes, double capacity_bytes, double sharpness) {
  if (capacity_bytes <= 0.0) return 0.0;
  return 1.0 / (1.0 + std::pow(window_bytes / capacity_bytes, sharpness));
}

}  // namespace

GemmSpec GemmSpec::read(sim::Section section) {
  GemmSpec spec;
  spec.flops_per_cycle_per_cu = section.number("flops_per_cycle_per_cu", 1.0, 1e6);
  spec.reuse_sharpness = section.number("reuse_sharpness", 0.1, 32.0);
  for (sim::Section row : section.list("kernels")) {
    GemmKernelSpec kernel;
    kernel.name = row.text("name");
    kernel.least_n = row.integer("least_n", 0, 1 << 24);
    kernel.least_n_over_m = row.number("least_n_over_m", 0.0, 1e6);
    kernel.tile_m = static_cast<int>(row.integer("tile_m", 16, 1024));
    kernel.tile_n = static_cast<int>(row.integer("tile_n", 16, 1024));
    kernel.workgroups_per_cu = static_cast<int>(row.integer("workgroups_per_cu", 1, 16));
    kernel.efficiency = row.number("efficiency", 0.01, 1.0);
    kernel.alone_share = row.number("alone_share", 0.1, 1.0);
    kernel.oldest_share =
        row.number("oldest_share", 1.0 / kernel.workgroups_per_cu, kernel.workgroups_per_cu == 1 ? 1.0 : most_of_a_cu);
    kernel.in_flight = row.bytes("in_flight", limits::capacity);
    kernel.l2_drift = row.integer("l2_drift", 1, 1 << 24);
    kernel.cache_drift = row.integer("cache_drift", 1, 1 << 24);
    spec.kernels.push_back(std::move(kernel));
  }
  if (spec.kernels.empty() || spec.kernels.back().least_n > 0 || spec.kernels.back().least_n_over_m > 0.0) {
    section.fault("kernels", "needs a last row for every shape: least_n 0 and least_n_over_m 0");
  }
  return spec;
}

double GemmPlan::workgroup_flops() const { return 2.0 * kernel.tile_m * kernel.tile_n * static_cast<double>(shape.k); }

GemmPlan plan_gemm(const GemmSpec& spec, const GemmShape& shape) {
  const auto fits = [&shape](const GemmKernelSpec& kernel) {
    return shape.n >= kernel.least_n &&
           static_cast<double>(shape.n) >= kernel.least_n_over_m * static_cast<double>(shape.m);
  };
  GemmPlan plan;
  plan.shape = shape;
  plan.kernel = *std::find_if(spec.kernels.begin(), spec.kernels.end(), fits);
  plan.tiles_m = ceil_divide(shape.m, plan.kernel.tile_m);
  plan.tiles_n = ceil_divide(shape.n, plan.kernel.tile_n);
  return plan;
}

GemmTraffic gemm_traffic(const GemmPlan& plan, const GemmSpec& spec, const MemorySpec& memory,
                         std::span<const int> residents, double l2_share, double cache_share) {
  constexpr double element = GemmShape::element_bytes;
  const double k = static_cast<double>(plan.shape.k);
  const double panel_reads = element * (plan.kernel.tile_m + plan.kernel.tile_n) * k;  // of one workgroup
  const double output = element * static_cast<double>(plan.kernel.tile_m) * plan.kernel.tile_n;

  // L2: what one resident fetches, others of its XCD may find, if they come before it is pushed out.
  const double l2_window_k = std::min(k, static_cast<double>(plan.kernel.l2_drift));
  double all = 0.0;
  double beyond = 0.0;  // panel bytes per k element that leave the L2s
  for (const int count : residents) {
    if (count == 0) continue;
    const double extent = panel_extent(plan, count);
    const double requested = static_cast<double>(count) * (plan.kernel.tile_m + plan.kernel.tile_n);
    const double unique = std::min(extent, requested);
    const double kept =
        reuse(element * extent * l2_window_k, l2_share * memory.l2_capacity.value(), spec.reuse_sharpness);
    beyond += unique + (requested - unique) * (1.0 - kept);
    all += count;
  }
  const double reads_beyond = element * k * beyond / all;  // of one workgroup

  // Infinity Cache: what one XCD fetched, the others may find; and panels of earlier waves, if all operands fit.
  const double gpu_extent = panel_extent(plan, all);
  const double gpu_unique = std::min(gpu_extent, beyond);
  const double capacity = cache_share * memory.cache_capacity.value();
  const double cache_window_k = std::min(k, static_cast<double>(plan.kernel.cache_drift));
  const double kept_across_xcds = reuse(element * gpu_extent * cache_window_k, capacity, spec.reuse_sharpness);
  const double operands = element * k * static_cast<double>(plan.shape.m + plan.shape.n);
  const double kept_across_waves = reuse(operands, capacity, spec.reuse_sharpness);
  const double waves = std::max(1.0, static_cast<double>(plan.workgroups()) / all);
  const double first_touch = std::min(1.0, operands / (waves * element * k * gpu_unique));
  const double wave_misses = gpu_unique * (first_touch + (1.0 - first_touch) * (1.0 - kept_across_waves));
  const double misses = wave_misses + (beyond - gpu_unique) * (1.0 - kept_across_xcds);

  const double flops = plan.workgroup_flops();
  GemmTraffic traffic;
  traffic.l2 = (panel_reads + output) / flops;
  traffic.beyond_l2.reads = reads_beyond / flops;
  traffic.beyond_l2.writes = output / flops;
  traffic.beyond_l2.cache_hits = (reads_beyond / (reads_beyond + output)) * (1.0 - misses / beyond);
  return traffic;
}

namespace {

// Of the kernel with the GPU and its caches to itself.
GemmTraffic undisturbed_traffic(const GemmPlan& plan, const GpuSpec& spec) {
  const int residents = spec.cus_per_xcd * plan.kernel.workgroups_per_cu;
  const std::vector<int> full(static_cast<std::size_t>(spec.memory.xcds), residents);
  return gemm_traffic(plan, spec.gemm, spec.memory, full, 1.0, 1.0);
}

}  // namespace

bool is_memory_bound(const GemmPlan& plan, const Gpu& gpu) {
  const GpuSpec& spec = gpu.spec();
  const GemmTraffic traffic = undisturbed_traffic(plan, spec);
  const double flops_per_byte = 1.0 / (traffic.beyond_l2.reads + traffic.beyond_l2.writes);
  return flops_per_byte < spec.peak_flops() / spec.memory.hbm_rate.value();
}

namespace {

// The waves of one GEMM on one GPU.
class GemmRun {
 public:
  GemmRun(Gpu& gpu, GemmPlan plan)
      : gpu_(gpu), plan_(std::move(plan)), residents_(static_cast<std::size_t>(gpu.spec().memory.xcds), 0) {}

  sim::Task<> run(CuMask mask);

 private:
  struct Wave {
    const Cohort* cohort;
    sim::ResourceNetwork::ActivityId activity;
    double flops_per_cycle;
  };

  sim::Task<> run_wave(const Cohort& cohort);
  sim::ActivitySpec activity(const Cohort& cohort) const;
  void reshape_waves();
  void share_matrix_pipes();
  CacheSharing::Client cache_client();

  Gpu& gpu_;
  GemmPlan plan_;
  std::vector<int> residents_;  // by XCD
  std::vector<Wave> waves_;
  CacheSharing::Handle cache_;
};

sim::Task<> GemmRun::run(CuMask mask) {
  KernelSpec kernel;
  kernel.name = "gemm";
  kernel.workgroups = static_cast<int>(plan_.workgroups());
  kernel.workgroups_per_cu = plan_.kernel.workgroups_per_cu;
  kernel.mask = mask;
  cache_ = gpu_.cache_sharing().enter(cache_client());
  CohortBody body = [this](const Cohort& cohort) { return run_wave(cohort); };
  co_await gpu_.dispatcher().run(std::move(kernel), std::move(body));
  gpu_.cache_sharing().leave(cache_);
}

// Fill rates of the undisturbed kernel: its traffic on the whole GPU at the matrix rate of the highest clock.
CacheSharing::Client GemmRun::cache_client() {
  const GpuSpec& spec = gpu_.spec();
  const GemmTraffic traffic = undisturbed_traffic(plan_, spec);
  const double rate = plan_.kernel.efficiency * spec.peak_flops();
  const double beyond = traffic.beyond_l2.reads + traffic.beyond_l2.writes;
  return {sim::BytesPerSecond(rate * beyond), sim::BytesPerSecond(rate * beyond * (1.0 - traffic.beyond_l2.cache_hits)),
          [this] { reshape_waves(); }};
}

sim::ActivitySpec GemmRun::activity(const Cohort& cohort) const {
  const GpuSpec& spec = gpu_.spec();
  const CacheSharing& sharing = gpu_.cache_sharing();
  const GemmTraffic traffic =
      gemm_traffic(plan_, spec.gemm, spec.memory, residents_, sharing.l2_share(cache_), sharing.cache_share(cache_));
  UsageList usages;
  gpu_.memory().add_from_xcds(usages, cohort.busiest_share(), traffic.l2, traffic.beyond_l2);
  sim::ActivitySpec activity;
  activity.amount = static_cast<double>(cohort.size()) * plan_.workgroup_flops();
  activity.usages = std::move(usages).take();
  // Where a memory is full, it serves requesters in proportion to what they have under way.
  activity.weight = static_cast<double>(cohort.size()) * plan_.kernel.in_flight.value() / traffic.l2;
  return activity;
}

sim::Task<> GemmRun::run_wave(const Cohort& cohort) {
  for (std::size_t xcd = 0; xcd < residents_.size(); ++xcd) residents_[xcd] += cohort.per_xcd[xcd];
  sim::Gate done(gpu_.simulator(), "a wave of a GEMM");
  const sim::ResourceNetwork::ActivityId id = gpu_.network().start(activity(cohort), [&done] { done.open(); });
  waves_.push_back({&cohort, id, 0.0});
  share_matrix_pipes();
  co_await done.wait();
  gpu_.governor().remove_matrix_work(id);
  std::erase_if(waves_, [id](const Wave& wave) { return wave.activity == id; });
  share_matrix_pipes();
  for (std::size_t xcd = 0; xcd < residents_.size(); ++xcd) residents_[xcd] -= cohort.per_xcd[xcd];
}

// A CU issues from its oldest workgroup first, so workgroups of one CU that started together run apart: one is in the
// middle of its tile when the other ends.
void GemmRun::share_matrix_pipes() {
  const GpuSpec& spec = gpu_.spec();
  const GemmKernelSpec& kernel = plan_.kernel;
  const auto cu_of = [&spec](const Cohort::Placement& placement) {
    return static_cast<std::size_t>(placement.xcd) * static_cast<std::size_t>(spec.cus_per_xcd) +
           static_cast<std::size_t>(placement.cu);
  };
  std::vector<int> residents(static_cast<std::size_t>(spec.cus()), 0);
  for (const Wave& wave : waves_) {
    if (!gpu_.network().live(wave.activity)) continue;  // ended at this instant
    for (const Cohort::Placement& placement : wave.cohort->placements) ++residents[cu_of(placement)];
  }
  std::vector<bool> has_oldest(residents.size(), false);
  for (Wave& wave : waves_) {                           // by age
    if (!gpu_.network().live(wave.activity)) continue;  // ended at this instant
    double cus = 0.0;
    for (const Cohort::Placement& placement : wave.cohort->placements) {
      const std::size_t cu = cu_of(placement);
      if (residents[cu] == 1) {
        cus += kernel.alone_share;
      } else {
        cus += has_oldest[cu] ? (1.0 - kernel.oldest_share) / (residents[cu] - 1) : kernel.oldest_share;
        has_oldest[cu] = true;
      }
    }
    const double flops_per_cycle = cus * spec.gemm.flops_per_cycle_per_cu * kernel.efficiency;
    if (flops_per_cycle == wave.flops_per_cycle) continue;
    wave.flops_per_cycle = flops_per_cycle;
    gpu_.governor().set_matrix_work(wave.activity, flops_per_cycle);
  }
}

void GemmRun::reshape_waves() {
  for (const Wave& wave : waves_) {
    if (!gpu_.network().live(wave.activity)) continue;  // ended at this instant
    sim::ActivitySpec changed = activity(*wave.cohort);
    changed.cap = wave.flops_per_cycle * gpu_.governor().clock().value();
    gpu_.network().reshape(wave.activity, changed);
  }
}

}  // namespace

sim::Task<> run_gemm_kernel(Gpu& gpu, GemmShape shape, CuMask mask) {
  GemmRun run(gpu, plan_gemm(gpu.spec().gemm, shape));
  co_await run.run(mask);
}

}  // namespace models
