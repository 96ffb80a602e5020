#include "models/kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include "models/machine/power.h"
#include "models/node.h"

namespace c3sim::models {
namespace {

// A packed weight takes four vector operations to become a number of the product's format: shift, mask, convert, scale.
constexpr double unpacking = 4.0;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Returns the share of the operands that the Infinity Cache cannot hold.
double missing_operands(const MemorySpec& memory, const GemmShape& shape) {
  return 1.0 - std::min(1.0, memory.cache_capacity / shape.operand_bytes());
}

// These are cycles of a CU while `together` workgroups that share it do a piece each. A step along k lasts as long as
// its matrix pipes are busy, its port with their operands, or the L2 with its share of what all CUs load; it has a
// least duration. First loads and output come on top, twice if the parts of a tile are added up.
struct Cycles {
  double multiplying = 0.0;
  double loading = 0.0;
  double around = 0.0;

  double steps() const { return std::max(multiplying, loading); }
};

// Returns the bytes per cycle that a CU gets from the L2s while all CUs load.
double l2_bytes_per_cycle(const GpuSpec& gpu) { return gpu.l2_bytes_per_cycle() / gpu.cus(); }

// Returns the factor by which conflicts between rows, which lie k elements apart in both operands, slow the L2.
double row_conflicts(const GemmLibrary& library, const GemmShape& shape) {
  const double rows = static_cast<double>(shape.k) * shape.element();
  const double apart = library.conflicting_rows.value();
  return apart > 0.0 && std::floor(rows / apart) * apart == rows ? library.row_conflicts : 1.0;
}

Cycles cycles_of_pieces(const GpuSpec& gpu, const GemmPlan& plan, int together, double first_loads) {
  const GemmLibrary& library = gpu.gemm.library_of(plan.shape);
  const double tile_m = plan.kernel.tile_m;
  const double tile_n = plan.kernel.tile_n;
  const double depth = plan.kernel.depth;
  const PrecisionSpec precision = gpu.gemm.precision(plan.shape.dtype).value();
  const bool is_own = plan.shape.dtype == Dtype::fp8 && library.fp8_efficiency;
  const double of_bf16 = is_own ? *library.fp8_efficiency : precision.efficiency_of(plan.shape.layout);
  const double unpacked = plan.shape.weights ? library.packed_efficiency : 1.0;
  const double flops_per_cycle = precision.flops_per_cycle_per_cu * of_bf16 * unpacked * library.efficiency;
  // A workgroup that fetches operands and multiplies them by turns keeps the pipes busy half of the time; a second one
  // has its turn meanwhile.
  const int in_turn = library.loads_ahead ? together : std::max(together, 2);
  double multiplying = in_turn * 2.0 * tile_m * tile_n * depth / flops_per_cycle;
  if (plan.shape.weights && gpu.vector_flops_per_cycle_per_cu > 0.0) {
    multiplying += together * unpacking * tile_m * depth / gpu.vector_flops_per_cycle_per_cu;
  }
  // Data that the L2 sends once to a cluster of CUs enters each of them.
  const double port = gpu.streams.bytes_per_cycle;
  const double panels = plan.shape.element() * (plan.shape.weight_ratio() * tile_m + tile_n);
  const double arriving = port > 0.0 ? together * panels * depth / port : 0.0;
  const double missing = first_loads + (1.0 - first_loads) * missing_operands(gpu.memory, plan.shape);
  // Cold operands lengthen the whole step, or only the wait if nothing is loaded ahead.
  const double longer = 1.0 + library.cold_operands * missing;
  const double step_longer = library.loads_ahead ? longer : 1.0;
  const double steps = std::ceil(plan.piece_k() / depth);
  return {steps * std::max({step_longer * multiplying, step_longer * arriving, longer * library.least_step}),
          steps * together * plan.shape.element() * plan.loaded() * depth * row_conflicts(library, plan.shape) /
              l2_bytes_per_cycle(gpu),
          together * library.tile_overhead * tile_m * tile_n * (plan.kernel.split_k > 1 ? 2.0 : 1.0)};
}

// Returns whether the kernel was tuned for this very size. Kernels for bf16 serve fp16 as they are (kernels_for).
bool is_tuned_for(const GemmKernelSpec& kernel, const GemmShape& shape) {
  GemmShape size = shape.as_forward();
  if (size.dtype == Dtype::fp16 && kernel.tuned_for.dtype == Dtype::bf16) size.dtype = Dtype::bf16;
  return kernel.tuned_for == size;
}

// Returns the number of CUs of the GPU that the library's table is of.
int tuned_cus(const GpuSpec& gpu, const GemmLibrary& library) {
  return library.tuned_cus > 0 ? library.tuned_cus : gpu.cus();
}

// Conditions are those under which a library chooses a kernel: how many CUs it reckons with, and the share of first
// loads (see plan_gemm()).
struct Conditions {
  int cus = 0;
  double first_loads = 0.0;
};

// Returns how the kernel cuts the product; the plan has no times yet.
GemmPlan cut(const GpuSpec& gpu, const GemmShape& shape, const GemmKernelSpec& kernel, int cus) {
  const GemmLibrary& library = gpu.gemm.library_of(shape);
  GemmPlan plan;
  plan.shape = shape;
  plan.kernel = kernel;
  plan.tiles_m = ceil_divide(shape.m, kernel.tile_m);
  plan.tiles_n = ceil_divide(shape.n, kernel.tile_n);
  plan.grouped_rows = library.grouped_rows;
  plan.l2_drift = library.l2_drift;
  plan.cache_drift = library.cache_drift;
  plan.per_cu = static_cast<int>(gpu.slots(1, kernel.workgroup));
  plan.in_flight = sim::Bytes(library.steps_in_flight * shape.element() *
                              (kernel.tile_m * shape.weight_ratio() + kernel.tile_n) * kernel.depth);
  // Tiles that fill so many CUs once leave others without work.
  plan.tuned = is_tuned_for(kernel, shape) && tuned_cus(gpu, library) == cus;
  return plan;
}

// Returns how many times the CUs are filled.
double rounds(int cus, const GemmPlan& plan) {
  return static_cast<double>(ceil_divide(plan.pieces(), std::int64_t{cus} * plan.per_cu));
}

double start_up_cycles(const GpuSpec& gpu, const GemmKernelSpec& kernel) {
  const GemmLibrary& library = gpu.gemm.library_of(kernel.tuned_for);
  return sim::to_seconds(start_up_of(library, kernel)).value() * gpu.power.rated_clock.value();
}

// Returns how much longer than modelled a step of this kernel was measured to take at its tuned size, as far as steps
// make up the time there. The factor is bounded: beyond 2.5 something else is the reason.
double longer_than_modelled(const GpuSpec& gpu, const GemmKernelSpec& kernel) {
  if (kernel.tuned_efficiency == 0.0) return 1.0;
  const int cus = tuned_cus(gpu, gpu.gemm.library_of(kernel.tuned_for));
  const GemmPlan plan = cut(gpu, kernel.tuned_for, kernel, cus);
  const Cycles each = cycles_of_pieces(gpu, plan, plan.per_cu, 0.0);
  const double modelled = rounds(cus, plan) * (each.steps() + each.around);
  const double peak = gpu.gemm.precision(kernel.tuned_for.dtype).value().flops_per_cycle_per_cu * cus;
  const double measured =
      kernel.tuned_for.flops().value() / (peak * kernel.tuned_efficiency) - start_up_cycles(gpu, kernel);
  return std::pow(std::clamp(measured / modelled, 0.8, 2.5), each.steps() / (each.steps() + each.around));
}

// Returns the cycles in which a piece of every workgroup of a CU passes the L2 undisturbed.
double cycles_through_l2(const GpuSpec& gpu, const GemmPlan& plan) {
  return plan.per_cu * plan.piece_l2_bytes() / l2_bytes_per_cycle(gpu);
}

// Plans the product with a kernel whose steps take `longer` times as long as modelled. A factor below one is due to the
// matrix pipes; one above is due to loads that hinder each other in the L2, as addresses a power of two apart do. An L2
// that holds a kernel back does so in first loads and output, too.
GemmPlan plan_with(const GpuSpec& gpu, const GemmShape& shape, const GemmKernelSpec& kernel, double longer,
                   const Conditions& conditions) {
  const double first_loads = conditions.first_loads;
  GemmPlan plan = cut(gpu, shape, kernel, conditions.cus);
  plan.warm = first_loads == 0.0;
  const double peak = gpu.gemm.precision(shape.dtype).value().flops_per_cycle_per_cu;
  const auto efficiency = [&](int together, const Cycles& each) {
    return together * plan.piece_flops() / (peak * (std::min(longer, 1.0) * each.multiplying + each.around));
  };
  const Cycles full = cycles_of_pieces(gpu, plan, plan.per_cu, first_loads);
  plan.efficiency = efficiency(plan.per_cu, full);
  if (plan.per_cu > 1) {
    plan.alone_share = efficiency(1, cycles_of_pieces(gpu, plan, 1, first_loads)) / plan.efficiency;
  }
  plan.cycles = longer * full.steps() + full.around;
  plan.around = full.around / plan.cycles;
  if (longer > 1.0 || full.loading > full.multiplying) {
    plan.l2_conflicts = std::max(1.0, plan.cycles / cycles_through_l2(gpu, plan));
  }
  return plan;
}

double distance(const GemmShape& a, const GemmShape& b) {
  return std::hypot(static_cast<double>(a.m - b.m), static_cast<double>(a.n - b.n), static_cast<double>(a.k - b.k));
}

// Returns the time in which memory moves each byte once; of a warm product the Infinity Cache serves what it holds.
double seconds_through_memory(const GpuSpec& gpu, const GemmPlan& plan) {
  const MemorySpec& memory = gpu.memory;
  const double operands = plan.shape.operand_bytes().value();
  const double reads = operands + static_cast<double>(plan.pieces()) * plan.piece_reads();
  const double writes = static_cast<double>(plan.pieces()) * plan.piece_writes();
  const double held = plan.warm ? memory.held_of_turn(plan.shape.compulsory_bytes()) : 0.0;
  const double of_hbm = (1.0 - held) * (reads + writes) / memory.hbm_rate.value();
  return memory.has_cache() ? std::max(of_hbm, memory.cache_bytes(reads, writes) / memory.cache_rate.value()) : of_hbm;
}

// Returns the time of the product with these CUs to itself, in cycles of the rated clock. A wave of workgroups takes
// what the matrix pipes need for its pieces, the L2s for the bytes of these, or the memory for each byte once, and has
// to be launched. In a last wave that is not full fewer workgroups share a CU. The parts of a contraction pass through
// both.
double cycles(const GpuSpec& gpu, const GemmPlan& plan, double longer, const Conditions& conditions) {
  const double clock = gpu.power.rated_clock.value();
  const auto pieces = static_cast<double>(plan.pieces());
  const double through_memory = seconds_through_memory(gpu, plan) / pieces * clock;
  const double through_l2 = plan.l2_conflicts * plan.piece_l2_bytes() / gpu.l2_bytes_per_cycle();
  const double launch = sim::to_seconds(gpu.dispatch.workgroup_launch).value() * clock;
  // Workgroups that stay are launched once; if a CU has several, those of later waves are while their neighbours work.
  const bool stays = gpu.gemm.library_of(plan.shape).schedule != Dealing::per_xcd;
  const double later_launch = stays || plan.per_cu > 1 ? 0.0 : launch;
  const auto wave = [&](std::int64_t workgroups) {
    const auto together = static_cast<int>(ceil_divide(workgroups, conditions.cus));
    const Cycles each = cycles_of_pieces(gpu, plan, together, conditions.first_loads);
    const double pipes = std::min(longer, 1.0) * each.multiplying + each.around;
    const double bent =
        1.0 / Bend{1.0 / (static_cast<double>(workgroups) * through_memory), gpu.gemm.library_of(plan.shape).knee}.of(
                  1.0 / pipes);
    return std::max(bent, static_cast<double>(workgroups) * std::max(through_l2, through_memory));
  };
  const std::int64_t slots = std::int64_t{conditions.cus} * plan.per_cu;
  const std::int64_t left = plan.pieces() % slots;
  double sum = start_up_cycles(gpu, plan.kernel);
  const std::int64_t full_waves = plan.pieces() / slots;
  if (full_waves > 0) sum += static_cast<double>(full_waves) * (wave(slots) + later_launch);
  if (left > 0) sum += wave(left) + later_launch;
  sum += launch - later_launch;
  return sum;
}

// Returns the cycles by a rule of thumb: those of whole waves, or of the memory for each byte once.
double roughly_cycles(const GpuSpec& gpu, const GemmPlan& plan, int cus) {
  const double through_memory = seconds_through_memory(gpu, plan);
  return start_up_cycles(gpu, plan.kernel) +
         std::max(rounds(cus, plan) * std::max(plan.cycles, cycles_through_l2(gpu, plan)),
                  through_memory * gpu.power.rated_clock.value());
}

// Returns the stages of the kernel's pipeline: the steps whose operands its local memory holds.
std::int64_t stages_of(const GemmShape& shape, const GemmKernelSpec& kernel) {
  const double step = shape.element() * static_cast<double>(kernel.tile_m + kernel.tile_n) * kernel.depth;
  return static_cast<std::int64_t>(kernel.workgroup.lds / step);
}

// Returns the width of the narrowest tile that holds all columns of the product. A wider one has more padding, which
// takes energy, and room in the CU from what is loaded.
int narrowest_that_holds(std::span<const GemmKernelSpec> kernels, const GemmShape& shape) {
  int narrowest = std::ranges::max(kernels, {}, &GemmKernelSpec::tile_n).tile_n;
  for (const GemmKernelSpec& kernel : kernels) {
    if (kernel.tile_n >= shape.n) narrowest = std::min(narrowest, kernel.tile_n);
  }
  return narrowest;
}

struct Choice {
  GemmPlan plan;
  double cycles = 0.0;
};

// Chooses one of these kernels, as tuned or, if the library does so and tiles leave CUs without work, with the
// contraction split further. The rule of thumb decides among tiles no wider than needed and splits that keep
// `least_busy` of the CUs at work; any other kernel that takes clearly less time is preferred, so that no product takes
// longer than a larger one. A product of few columns gets what the library was seen to give it in any case.
Choice fastest(const GpuSpec& gpu, const GemmShape& shape, std::span<const GemmKernelSpec> kernels,
               const Conditions& conditions) {
  constexpr double clearly = 0.97;  // modelled times of large products are off by about 3%
  const GemmLibrary& library = gpu.gemm.library_of(shape);
  std::optional<Choice> usual;
  std::optional<Choice> best;
  double least = 0.0;
  const bool few_columns = shape.n <= library.undivided_columns;
  const int needed = narrowest_that_holds(kernels, shape);
  for (GemmKernelSpec kernel : kernels) {
    if (few_columns && kernel.tile_n != needed) continue;
    const double longer = longer_than_modelled(gpu, kernel);
    const std::int64_t steps = ceil_divide(shape.k, kernel.depth);
    bool more_would_work = true;
    for (; more_would_work; kernel.split_k *= 2) {
      const GemmPlan plan = plan_with(gpu, shape, kernel, longer, conditions);
      const auto pieces = static_cast<double>(plan.pieces());
      more_would_work = library.splits && pieces < conditions.cus && std::int64_t{2} * kernel.split_k <= steps;
      // Parts that have ended when the pipeline is full gain nothing.
      const bool parts_fill_pipeline = steps / (std::int64_t{2} * kernel.split_k) > stages_of(shape, kernel);
      const bool asks_for_more = pieces < library.least_busy * conditions.cus && parts_fill_pipeline;
      const bool usually = kernel.tile_n <= needed && !(more_would_work && asks_for_more);
      if (few_columns && !usually) continue;
      const double taken = cycles(gpu, plan, longer, conditions);
      if (!best || taken < best->cycles) best = Choice{plan, taken};
      if (!usually) continue;
      const double roughly = roughly_cycles(gpu, plan, conditions.cus);
      if (!usual || roughly < least) {
        usual = Choice{plan, taken};
        least = roughly;
      }
    }
  }
  return few_columns || best->cycles >= clearly * usual->cycles ? *usual : *best;
}

// Returns a plan that takes no longer than any larger tuned size, whose kernel takes the product as well, padded. Far
// from all tuned sizes the nearest says little: a kernel of the table that takes less than a quarter as long replaces
// it.
GemmPlan no_slower_than_larger(const GpuSpec& gpu, Choice choice, std::span<const GemmKernelSpec> kernels,
                               const Conditions& conditions) {
  const GemmShape shape = choice.plan.shape;
  const double peak = gpu.gemm.precision(shape.dtype).value().flops_per_cycle_per_cu * conditions.cus;
  const double least = 0.8 * shape.flops().value() / peak;  // longer_than_modelled() is no less than 0.8
  for (const GemmKernelSpec& kernel : kernels) {
    GemmShape tried = shape;
    const GemmShape& size = kernel.tuned_for;
    const bool is_larger = size.m >= shape.m && size.n >= shape.n && size.k >= shape.k;
    const double clearly = is_larger ? 1.0 : 0.25;
    if (clearly * choice.cycles <= least) continue;
    if (is_larger) std::tie(tried.m, tried.n, tried.k) = std::tie(size.m, size.n, size.k);
    const double longer = longer_than_modelled(gpu, kernel);
    const double taken = cycles(gpu, plan_with(gpu, tried, kernel, longer, conditions), longer, conditions);
    if (taken < clearly * choice.cycles) choice = {plan_with(gpu, shape, kernel, longer, conditions), taken};
  }
  return choice.plan;
}

// Returns the kernels for a number format, or those for bf16 if the table has none, or all if it has neither.
std::span<const GemmKernelSpec> kernels_for(const GemmLibrary& library, Dtype dtype) {
  const std::span<const GemmKernelSpec> all = library.kernels;
  for (const Dtype wanted : {dtype, Dtype::bf16}) {
    const auto is_wanted = [wanted](const GemmKernelSpec& kernel) { return kernel.tuned_for.dtype == wanted; };
    const auto first = std::find_if(all.begin(), all.end(), is_wanted);
    if (first != all.end()) return {first, std::find_if_not(first, all.end(), is_wanted)};
  }
  return all;
}

}  // namespace

double GemmPlan::piece_writes() const {
  constexpr double partial_sum_bytes = 4.0;  // parts of a contraction are added up in single precision
  const double elements = static_cast<double>(kernel.tile_m) * kernel.tile_n;
  return (kernel.split_k == 1 ? shape.element() : partial_sum_bytes) * elements;
}

double GemmPlan::loaded() const {
  const auto sharing = [](int cluster, std::int64_t tiles) {
    return static_cast<double>(std::min<std::int64_t>(cluster, tiles));
  };
  return kernel.tile_m * shape.weight_ratio() / sharing(kernel.cluster_n, tiles_n) +
         kernel.tile_n / sharing(kernel.cluster_m, tiles_m);
}

std::int64_t stored_at_once(const GemmPlan& plan, const GpuSpec& gpu, int cus) {
  const std::int64_t resident = std::min<std::int64_t>(plan.pieces(), gpu.slots(cus, plan.kernel.workgroup));
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(resident) * plan.around));
}

sim::Time start_up_of(const GemmLibrary& library, const GemmKernelSpec& kernel) {
  return kernel.start_up.value_or(library.start_up) * (kernel.split_k > 1 ? 2 : 1);
}

GemmPlan plan_gemm(const GpuSpec& gpu, const GemmShape& shape, CuMask mask, double first_loads) {
  const GemmLibrary& library = gpu.gemm.library_of(shape);
  const Conditions conditions{library.told_cus ? gpu.memory.xcds * mask.cus(gpu.cus_per_xcd) : gpu.cus(), first_loads};
  const std::span<const GemmKernelSpec> kernels = kernels_for(library, shape.dtype);
  const GemmKernelSpec& nearest = *std::ranges::min_element(
      kernels, {}, [&](const GemmKernelSpec& kernel) { return distance(kernel.tuned_for, shape); });
  GemmPlan plan = plan_with(gpu, shape, nearest, longer_than_modelled(gpu, nearest), conditions);
  if (!plan.tuned) {
    plan =
        library.by_modelled_time
            ? fastest(gpu, shape, kernels, conditions).plan
            : no_slower_than_larger(gpu, fastest(gpu, shape, std::span(&nearest, 1), conditions), kernels, conditions);
  }
  for (const GemmProfile& profile : gpu.gemm.profiles) {
    if (profile.shape != shape.as_forward()) continue;
    plan.profile = profile;
    plan.efficiency = profile.efficiency;
    plan.l2_conflicts = 1.0;
    plan.warm = false;  // the profile's bytes show what caches held
  }
  return plan;
}

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
  kernel.subject = to_string(shape);
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
  return launch_kernel(node, gemm_kernel(node.spec().gpu, shape, stream), std::move(gpus));
}

}  // namespace c3sim::models
