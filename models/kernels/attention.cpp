#include "models/kernels/attention.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace c3sim::models {
namespace {

double count(std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }

std::int64_t tiles_of(std::int64_t extent, int tile) { return (extent + tile - 1) / tile; }

// Returns the number of unmasked scores of one head of one sequence.
double scores(const AttentionShape& shape) {
  const double all = count(shape.queries, shape.keys);
  if (!shape.causal) return all;
  const std::int64_t cached = shape.keys - shape.queries;
  if (shape.window == 0 || shape.window >= shape.keys) return all - count(shape.queries, shape.queries - 1) / 2.0;
  // The first queries see all keys before them, until the window is full.
  const std::int64_t filling = std::clamp<std::int64_t>(shape.window - cached, 0, shape.queries);
  return count(filling, cached) + count(filling, filling + 1) / 2.0 + count(shape.queries - filling, shape.window);
}

double elements_of_queries(const AttentionShape& shape) {
  return count(shape.batch * shape.queries, shape.heads * shape.head_dim);
}

double elements_of_results(const AttentionShape& shape) {
  return count(shape.batch * shape.queries, shape.heads * shape.values());
}

// Returns the elements that memory holds for a key and its value.
double stored(const AttentionShape& shape) {
  return static_cast<double>(shape.head_dim + (shape.shared_values ? 0 : shape.values()));
}

double elements_of_cache(const AttentionShape& shape) {
  return count(shape.batch * shape.keys_read(), shape.kv_heads) * stored(shape);
}

sim::Bytes element_of_cache(const AttentionShape& shape) { return size_of(shape.cache.value_or(shape.dtype)); }

// Returns the multiplications per score: head_dim for queries with keys and values() for scores with values. The
// gradient has three products over head_dim and two over values().
double multiplied_elements(const AttentionShape& shape) {
  return shape.backward ? static_cast<double>(3 * shape.head_dim + 2 * shape.values())
                        : static_cast<double>(shape.head_dim + shape.values());
}

// Returns the steps along the keys for each tile of queries of one head, the longest first. A kernel that stays on its
// CUs deals the tiles in this order, so that no CU ends with a long one.
std::vector<double> steps_of_tiles(const AttentionShape& shape, const AttentionSpec& spec) {
  const std::int64_t tiles = tiles_of(shape.queries, spec.tile_queries);
  std::vector<double> steps;
  for (std::int64_t tile = tiles; tile > 0; --tile) {
    const std::int64_t unseen = std::max<std::int64_t>(0, shape.queries - tile * spec.tile_queries);
    std::int64_t seen = shape.causal ? std::max<std::int64_t>(1, shape.keys - unseen) : shape.keys;
    if (shape.causal && shape.window > 0) seen = std::min(seen, shape.window + spec.tile_queries - 1);
    steps.push_back(static_cast<double>(tiles_of(seen, spec.tile_keys)));
  }
  return steps;
}

// A Load is the work of one CU.
struct Load {
  double tiles = 0.0;
  double steps = 0.0;
};

// Returns the load of the busiest CU if the tiles of all heads, longest first, are dealt to CUs in turn. It is the
// first CU, as lengths differ little from one tile to the next: it gets ceil(n / cus) of the first n tiles.
Load heaviest_in_turn(std::int64_t heads, const std::vector<double>& steps_of_tiles, int cus) {
  const auto of_first_cu = [cus](std::int64_t tiles) { return (tiles + cus - 1) / cus; };
  Load load;
  std::int64_t begin = 0;
  for (const double steps : steps_of_tiles) {
    const auto tiles = static_cast<double>(of_first_cu(begin + heads) - of_first_cu(begin));
    load.tiles += tiles;
    load.steps += tiles * steps;
    begin += heads;
  }
  return load;
}

// Returns the load of the last CU to finish if each takes the next tile when it has finished one (Graham's list
// scheduling, longest first). With very many tiles all CUs get the mean load.
Load last_to_finish(std::int64_t heads, const std::vector<double>& steps_of_tiles, int cus, double tile_in_steps) {
  constexpr std::int64_t many = 32;  // tiles per CU
  const auto tiles = heads * static_cast<std::int64_t>(steps_of_tiles.size());
  if (tiles > many * cus) {
    const double of_a_head = std::accumulate(steps_of_tiles.begin(), steps_of_tiles.end(), 0.0);
    return {static_cast<double>(tiles) / cus, static_cast<double>(heads) * of_a_head / cus};
  }
  const auto length = [tile_in_steps](const Load& load) { return load.tiles * tile_in_steps + load.steps; };
  const auto later = [length](const Load& a, const Load& b) { return length(a) > length(b); };
  std::vector<Load> loads(static_cast<std::size_t>(cus));  // a heap; the CU that is free first is in front
  for (const double steps : steps_of_tiles) {
    for (std::int64_t head = 0; head < heads; ++head) {
      std::ranges::pop_heap(loads, later);
      loads.back().tiles += 1.0;
      loads.back().steps += steps;
      std::ranges::push_heap(loads, later);
    }
  }
  return std::ranges::max(loads, {}, length);
}

// A soft cap takes per score two products and a hyperbolic tangent, which counts as four operations.
constexpr double soft_cap_flops = 6.0;

double dropout_flops(const AttentionShape& shape, const AttentionSpec& spec, bool by_vectors) {
  if (by_vectors) return shape.backward ? spec.vector_dropout_backward_flops : spec.vector_dropout_flops;
  return shape.backward ? spec.dropout_backward_flops : spec.dropout_flops;
}

// Returns the cycles of a CU for a step of a tile: its products, followed by the vector operations on its scores.
double cycles_of_step(const AttentionShape& shape, const GpuSpec& gpu) {
  const AttentionSpec& spec = *gpu.attention;
  const PrecisionSpec precision = gpu.gemm.precision(shape.multiplied()).value();
  const double scores_of_step = count(spec.tile_queries, spec.tile_keys);
  const double products = 2.0 * scores_of_step * multiplied_elements(shape);
  const bool by_vectors = precision.flops_per_cycle_per_cu <= gpu.vector_flops_per_cycle_per_cu;
  double flops = shape.backward ? spec.backward_flops : spec.score_flops;
  if (shape.soft_cap) flops += soft_cap_flops;
  if (shape.dropout) flops += dropout_flops(shape, spec, by_vectors);
  const double vector = scores_of_step * flops;
  const double efficiency = by_vectors ? spec.vector_efficiency : spec.efficiency;
  return products / (precision.flops_per_cycle_per_cu * efficiency) + vector / gpu.vector_flops_per_cycle_per_cu;
}

// Returns the time of the kernel that copies keys and values of new tokens into the cache before attention itself.
sim::Time time_of_appending(const AttentionShape& shape, const GpuSpec& gpu) {
  const double share = gpu.attention->append_share;
  if (share == 0.0 || shape.backward) return sim::Time(0);
  const double elements = count(shape.batch * shape.queries, shape.kv_heads) * stored(shape);
  return sim::to_time(elements * (size_of(shape.dtype) + element_of_cache(shape)) / (share * gpu.memory.hbm_rate));
}

// Returns the cycles of a tile outside its steps: its first products, the division by the sums, and the wait for the
// exposed share of its queries and results, which HBM moves for all CUs at once.
double cycles_beside_steps(const AttentionShape& shape, const GpuSpec& gpu) {
  const AttentionSpec& spec = *gpu.attention;
  const double bytes =
      spec.tile_queries * static_cast<double>(shape.head_dim + shape.values()) * size_of(shape.dtype).value();
  const double bytes_per_cycle = gpu.memory.hbm_rate.value() / (gpu.cus() * gpu.power.rated_clock.value());
  return spec.tile_cycles + spec.exposed * bytes / bytes_per_cycle;
}

// Returns a kernel whose progress counts in cycles of a CU. Tiles of one head share keys and values in the L2.
Kernel tiled_kernel(const GpuSpec& gpu, const AttentionShape& shape, int cus) {
  const AttentionSpec& spec = *gpu.attention;
  const std::int64_t heads = shape.batch * shape.heads;
  const std::vector<double> steps = steps_of_tiles(shape, spec);
  const double of_step = cycles_of_step(shape, gpu);
  const double of_tile = cycles_beside_steps(shape, gpu);
  const Load load =
      spec.next_free ? last_to_finish(heads, steps, cus, of_tile / of_step) : heaviest_in_turn(heads, steps, cus);
  const double cycles = load.tiles * of_tile + load.steps * of_step;
  const double all_cycles = cycles * cus;
  const double reads = shape.read().value() / all_cycles;
  const double writes = shape.written().value() / all_cycles;
  const double tile_loads = spec.tile_keys * stored(shape) * element_of_cache(shape).value();
  const PrecisionSpec precision = gpu.gemm.precision(shape.multiplied()).value();
  Demand demand;
  demand.own = {std::max(reads + writes, load.steps * tile_loads / cycles), {reads, writes, 0.0}, {}};
  demand.bytes_per_unit = demand.own.l2;
  demand.in_flight = sim::Bytes(2.0 * tile_loads);
  demand.matrix_per_cycle = 1.0;
  demand.matrix_energy = precision.energy * shape.flops().value() / all_cycles;
  if (shape.set > sim::Bytes(0.0)) hold_of_turn(demand, gpu.memory, shape.set, std::min(cus, gpu.memory.xcds));
  Kernel kernel;
  kernel.start_up = spec.start + time_of_appending(shape, gpu);
  kernel.work = cycles;
  kernel.l2_fill = sim::BytesPerSecond((reads + writes) * cus * gpu.power.rated_clock.value());
  kernel.demand = [demand](int, const Footing&) { return demand; };
  return kernel;
}

// Returns a kernel that streams the cache once, which bounds its rate. Matrix units multiply the cache by whole tiles
// of queries, most of whose rows are empty, which costs energy.
Kernel decoding_kernel(const GpuSpec& gpu, const AttentionShape& shape, int cus) {
  const AttentionSpec& spec = *gpu.attention;
  const double bytes = (shape.read() + shape.written()).value();
  Demand demand{.own = {1.0, {shape.read().value() / bytes, shape.written().value() / bytes, 0.0}, {}},
                .in_flight = gpu.streams.in_flight,
                .waits = true,
                .step_latency = gpu.streams.latency};
  const PrecisionSpec precision = gpu.gemm.precision(shape.multiplied()).value();
  const std::int64_t rows =
      tiles_of(shape.queries * (shape.heads / shape.kv_heads), spec.decode_rows) * spec.decode_rows;
  const double flops_per_byte =
      2.0 * static_cast<double>(rows) * multiplied_elements(shape) / (stored(shape) * element_of_cache(shape).value());
  demand.matrix_per_cycle = precision.flops_per_cycle_per_cu * spec.efficiency / flops_per_byte;
  demand.matrix_energy = precision.energy * flops_per_byte;
  if (shape.set > sim::Bytes(0.0)) hold_of_turn(demand, gpu.memory, shape.set, std::min(cus, gpu.memory.xcds));
  Kernel kernel;
  const std::int64_t caches = shape.batch * shape.kv_heads;
  const bool splits = 2 * caches < cus && shape.keys_read() > spec.tile_keys;
  kernel.start_up =
      spec.decode_start + tiles_of(caches, cus) * spec.decode_tile + (splits ? spec.decode_combine : sim::Time(0));
  kernel.work = bytes / cus;
  kernel.l2_fill = gpu.memory.hbm_rate;
  kernel.demand = [demand](int, const Footing&) { return demand; };
  return kernel;
}

// Returns the kernel that a library takes. For fewer queries than a tile has it is the faster one at the rated clock,
// as libraries go through the cache in parts where tiles would leave CUs without work.
Kernel kernel_of(const GpuSpec& gpu, const AttentionShape& shape, int cus) {
  if (shape.decodes()) return decoding_kernel(gpu, shape, cus);
  Kernel tiled = tiled_kernel(gpu, shape, cus);
  if (shape.backward || shape.queries >= gpu.attention->tile_queries) return tiled;
  Kernel decoding = decoding_kernel(gpu, shape, cus);
  const double clock = gpu.power.rated_clock.value();
  const double rate = std::min(gpu.memory.hbm_rate.value() / cus, clock * decoding.demand(0, {}).matrix_per_cycle);
  const double by_tiles = sim::to_seconds(tiled.start_up).value() + tiled.work / clock;
  const double by_cache = sim::to_seconds(decoding.start_up).value() + decoding.work / rate;
  return by_cache < by_tiles ? decoding : tiled;
}

}  // namespace

sim::Flops AttentionShape::flops() const {
  return sim::Flops(count(batch, heads) * scores(*this) * 2.0 * multiplied_elements(*this));
}

// The gradient also reads the results and their gradients.
sim::Bytes AttentionShape::read() const {
  const double of_queries = elements_of_queries(*this) + (backward ? 2.0 * elements_of_results(*this) : 0.0);
  return of_queries * size_of(dtype) + elements_of_cache(*this) * element_of_cache(*this);
}

sim::Bytes AttentionShape::written() const {
  if (!backward) return elements_of_results(*this) * size_of(dtype);
  return (elements_of_queries(*this) + elements_of_cache(*this)) * size_of(dtype);
}

std::string to_string(const AttentionShape& shape) {
  std::string text =
      fmt::format("{}attention of {} x {} queries, {} keys, {} heads of {} on {}{}{}",
                  shape.backward ? "gradient of " : "", shape.batch, shape.queries, shape.keys, shape.heads,
                  shape.head_dim, shape.kv_heads, shape.causal ? ", causal" : "", shape.dropout ? ", dropout" : "");
  if (shape.values() != shape.head_dim) text += fmt::format(", values of {}", shape.values());
  if (shape.window > 0) text += fmt::format(", window of {}", shape.window);
  if (shape.cache) text += fmt::format(", cache {}", to_string(*shape.cache));
  if (shape.set > sim::Bytes(0.0)) text += fmt::format(", in {} again and again", sim::to_string(shape.set));
  return text;
}

std::string why_impossible(const AttentionShape& shape, const GpuSpec& gpu) {
  if (!gpu.attention) return "the platform does not describe kernels for attention (gpu.attention)";
  if (!gpu.gemm.precision(shape.multiplied())) {
    return fmt::format("the platform has no matrix rate of {} (gpu.gemm.precisions)", to_string(shape.multiplied()));
  }
  if (gpu.vector_flops_per_cycle_per_cu == 0.0) {
    return "the platform does not say how many vector operations a CU does (gpu.vector_flops_per_cycle_per_cu)";
  }
  if (shape.heads % shape.kv_heads != 0) {
    return fmt::format("{} heads do not share {} heads of keys and values evenly: a multiple is accepted", shape.heads,
                       shape.kv_heads);
  }
  if (shape.shared_values && shape.values() > shape.head_dim) {
    return fmt::format("values of {} elements are no part of keys of {}: up to {} are accepted", shape.values(),
                       shape.head_dim, shape.head_dim);
  }
  if (shape.causal && shape.queries > shape.keys) {
    return fmt::format("{} queries see no more than {} keys where each sees those before it: as many keys are accepted",
                       shape.queries, shape.keys);
  }
  return {};
}

Kernel attention_kernel(const GpuSpec& gpu, const AttentionShape& shape, const Stream& stream) {
  const int cus = gpu.memory.xcds * stream.mask.cus(gpu.cus_per_xcd);
  Kernel kernel = kernel_of(gpu, shape, cus);
  kernel.shape.name = "attention";
  kernel.subject = to_string(shape);
  kernel.shape.workgroups = cus;
  kernel.shape.workgroup = gpu.cu;
  kernel.shape.stream = stream;
  kernel.cache_fill = kernel.l2_fill;
  return kernel;
}

sim::Task<> run_attention(Node& node, AttentionShape shape, Stream stream, std::vector<int> gpus) {
  return launch_kernel(node, attention_kernel(node.spec().gpu, shape, stream), std::move(gpus));
}

}  // namespace c3sim::models
