#include "study/work/dependent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "sim/check.h"

namespace c3sim::study {

namespace {

using models::Backend;
using models::GemmShape;
using Collective = DependentSchedule::Collective;
using Grain = DependentSchedule::Grain;

constexpr std::int64_t pieces_of_a_shard = 8;  // as measured and as FiCCO has it on 8 GPUs

struct Catalogue {
  std::vector<DependentSchedule> schedules;
  std::vector<std::string> names;
  std::size_t untriggered = 0;  // those before the triggered ones

  void add(std::string name, const DependentSchedule& schedule) {
    names.push_back(std::move(name));
    schedules.push_back(schedule);
  }
  void add_finer(const std::string& prefix, DependentSchedule schedule, bool own_shard_apart) {
    schedule.grain = Grain::finer;
    for (const CutAxis axis : {CutAxis::tokens, CutAxis::contraction}) {
      for (const bool fused : {true, false}) {
        schedule.own_shard_apart = own_shard_apart;
        schedule.fused = fused;
        schedule.axis = axis;
        add(fmt::format("{}finer_{}_{}_{}", prefix, own_shard_apart ? "hetero" : "uniform", fused ? "fused" : "unfused",
                        axis == CutAxis::tokens ? "1d" : "2d"),
            schedule);
      }
    }
  }
  void add_triggered(const std::string& prefix, DependentSchedule schedule) {
    schedule.grain = Grain::triggered;
    const bool scatters = schedule.collective == Collective::scatter;
    for (std::size_t place = 0; place < models::trigger_policies().size(); ++place) {
      schedule.trigger = {place};
      for (const models::FusedPath path : {models::FusedPath::direct, models::FusedPath::ring}) {
        for (const bool stores : {false, true}) {
          if (stores && !scatters) continue;
          schedule.path = path;
          schedule.stores = stores;
          add(fmt::format("{}by_{}{}{}", prefix, models::to_string(schedule.trigger),
                          path == models::FusedPath::ring ? "_ring" : "", stores ? "_stores" : ""),
              schedule);
        }
      }
    }
  }
};

Catalogue make_catalogue() {
  Catalogue all;
  all.add("gemm_8_row_pieces", {.collective = Collective::none, .pieces = 8});
  all.add("gemm_64_row_pieces", {.collective = Collective::none, .pieces = 64});
  all.add("gemm_8_k_pieces", {.collective = Collective::none, .axis = CutAxis::contraction, .pieces = 8});
  for (const Collective collective : {Collective::gather, Collective::scatter}) {
    const std::string prefix = collective == Collective::scatter ? "scatter_" : "";
    const DependentSchedule by_kernels{.collective = collective, .backend = Backend::rccl};
    const DependentSchedule by_engines{.collective = collective, .backend = Backend::sdma};
    all.add(prefix + "serial_rccl", by_kernels);
    all.add(prefix + "serial_sdma", by_engines);
    DependentSchedule shards = by_engines;
    shards.grain = Grain::shard;
    all.add(prefix + "shard_overlap", shards);
    for (const bool own_shard_apart : {false, true}) all.add_finer(prefix, by_engines, own_shard_apart);
    all.add_finer(prefix + "rccl_", by_kernels, false);
    if (collective == Collective::gather) all.add_finer(prefix + "rccl_", by_kernels, true);
  }
  all.untriggered = all.schedules.size();
  for (const Collective collective : {Collective::gather, Collective::scatter}) {
    all.add_triggered(collective == Collective::scatter ? "scatter_" : "",
                      {.collective = collective, .backend = Backend::sdma});
  }
  return all;
}

const Catalogue& catalogue() {
  static const Catalogue all = make_catalogue();
  return all;
}

models::FusedSpec fused_of(const DependentSchedule& schedule, const GemmShape& shape) {
  const bool gathers = schedule.collective == Collective::gather;
  return {.gemm = shape,
          .kind = gathers ? models::CollectiveKind::all_gather : models::CollectiveKind::reduce_scatter,
          .path = schedule.path,
          .trigger = schedule.trigger,
          .stores = schedule.stores,
          .pieces = pieces_of_a_shard};
}

// A schedule while it is being written down.
class Plan {
 public:
  Plan(const DependentSchedule& asked, const GemmShape& shape, const models::PlatformSpec& platform)
      : asked_(asked), shape_(shape), shard_{shape.m, shape.n / platform.gpus, shape.k}, gpus_(platform.gpus) {}

  Schedule write() &&;

 private:
  using Places = std::vector<std::size_t>;

  // On every GPU, behind what was multiplied before and whatever else is named. Of nothing there is nothing to do.
  void multiply(const GemmShape& piece, Places after = {});
  // A part of the array by one collective, behind the collectives before it.
  std::size_t collective(models::CollectiveKind kind, Backend backend, sim::Bytes bytes, Places after = {});
  // Every GPU copies so many bytes from the peer that lies `distance` behind it, or to that one; copies of one distance
  // follow each other.
  std::size_t copy(int distance, sim::Bytes bytes, Places after = {});
  // What arrived from all peers is added to what every GPU has itself.
  void reduce(Places after);

  void gemm_in_pieces();
  void trigger_pieces();
  void gather_in_one_go();
  void gather_shards();
  void gather_pieces();
  void scatter_in_one_go();
  void scatter_shards();
  void scatter_pieces();
  void scatter_piece(const GemmShape& piece, Places& arrivals);

  // Piece `step` of a shard; empty in one extent where there are fewer elements than pieces.
  GemmShape piece_of_shard(std::int64_t step) const;
  sim::Bytes bytes_of(const GemmShape& piece) const {
    return asked_.collective == Collective::scatter ? scattered_bytes(piece) : gathered_bytes(piece);
  }
  bool by_kernels() const { return asked_.backend == Backend::rccl; }
  std::size_t add(std::string stream, Work work, Places after);

  const DependentSchedule& asked_;
  GemmShape shape_;
  GemmShape shard_;
  int gpus_;
  Schedule schedule_;
  std::optional<std::size_t> last_gemm_;
  std::optional<std::size_t> last_collective_;
  std::vector<Places> last_copy_ = std::vector<Places>(static_cast<std::size_t>(gpus_));  // by distance
};

std::size_t Plan::add(std::string stream, Work work, Places after) {
  std::ranges::sort(after);
  after.erase(std::unique(after.begin(), after.end()), after.end());
  schedule_.push_back(operation_of(std::move(work), {}, std::move(stream)));
  schedule_.back().after = std::move(after);
  return schedule_.size() - 1;
}

void Plan::multiply(const GemmShape& piece, Places after) {
  if (piece.m == 0 || piece.n == 0 || piece.k == 0) return;
  if (last_gemm_) after.push_back(*last_gemm_);
  last_gemm_ = add("compute", piece, std::move(after));
}

std::size_t Plan::collective(models::CollectiveKind kind, Backend backend, sim::Bytes bytes, Places after) {
  models::CollectiveSpec spec;
  spec.kind = kind;
  spec.backend = backend;
  spec.bytes = bytes;
  spec.gpus = gpus_;
  spec.host_threads = models::HostThreads::per_gpu;
  if (last_collective_) after.push_back(*last_collective_);
  last_collective_ = add("communication", spec, std::move(after));
  return *last_collective_;
}

std::size_t Plan::copy(int distance, sim::Bytes bytes, Places after) {
  const bool pull = asked_.collective == Collective::gather;
  const models::SdmaCopySpec spec{.from = pull ? distance : 0,
                                  .to = pull ? 0 : distance,
                                  .bytes = bytes,
                                  .pull = pull,
                                  .everywhere = true,
                                  .host_threads = models::HostThreads::per_gpu};
  Places& last = last_copy_[static_cast<std::size_t>(distance)];
  after.insert(after.end(), last.begin(), last.end());
  last = {add(fmt::format("peer {}", distance), spec, std::move(after))};
  return last.front();
}

void Plan::reduce(Places after) {
  const sim::Bytes shard = scattered_bytes(shard_);
  const double sums = shard.value() / GemmShape::element_bytes * (gpus_ - 1);
  add("reduction", models::ElementwiseSpec{shard * static_cast<double>(gpus_), shard, sim::Flops(sums)},
      std::move(after));
}

GemmShape Plan::piece_of_shard(std::int64_t step) const {
  GemmShape piece = shard_;
  const bool tokens = asked_.axis == CutAxis::tokens;
  std::int64_t& cut = tokens ? piece.n : asked_.collective == Collective::scatter ? piece.m : piece.k;
  cut = piece_of(cut, pieces_of_a_shard, step);
  return piece;
}

void Plan::gemm_in_pieces() {
  for (std::int64_t i = 0; i < asked_.pieces; ++i) {
    GemmShape piece = shape_;
    std::int64_t& cut = asked_.axis == CutAxis::tokens ? piece.n : piece.k;
    cut = piece_of(cut, asked_.pieces, i);
    multiply(piece);
  }
}

void Plan::trigger_pieces() { add("compute", fused_of(asked_, shape_), {}); }

void Plan::gather_in_one_go() {
  Places arrivals;
  if (by_kernels()) {
    arrivals = {collective(models::CollectiveKind::all_gather, asked_.backend, gathered_bytes(shape_))};
  } else {
    for (int distance = 1; distance < gpus_; ++distance) arrivals.push_back(copy(distance, gathered_bytes(shard_)));
  }
  multiply(shape_, std::move(arrivals));
}

// Shards come from one peer after another.
void Plan::gather_shards() {
  multiply(shard_);
  Places before;
  for (int distance = 1; distance < gpus_; ++distance) {
    before = {copy(distance, gathered_bytes(shard_), before)};
    multiply(shard_, before);
  }
}

void Plan::gather_pieces() {
  const int multiplied = asked_.own_shard_apart ? gpus_ - 1 : gpus_;  // shards of which a step multiplies a piece
  if (asked_.own_shard_apart) multiply(shard_);
  for (std::int64_t step = 0; step < pieces_of_a_shard; ++step) {
    const GemmShape piece = piece_of_shard(step);
    const sim::Bytes bytes = gathered_bytes(piece);
    if (bytes == sim::Bytes(0.0)) continue;
    Places arrivals;
    if (by_kernels()) arrivals = {collective(models::CollectiveKind::all_gather, asked_.backend, bytes * gpus_)};
    if (!asked_.own_shard_apart && !asked_.fused) multiply(piece);
    for (int distance = 1; distance < gpus_; ++distance) {
      Places arrived = arrivals;
      if (!by_kernels()) arrived = {copy(distance, bytes)};
      if (!asked_.fused) multiply(piece, arrived);
      if (!by_kernels()) arrivals.insert(arrivals.end(), arrived.begin(), arrived.end());
    }
    if (asked_.fused) multiply({piece.m, multiplied * piece.n, piece.k}, std::move(arrivals));
  }
}

void Plan::scatter_in_one_go() {
  multiply(shape_);
  const Places product{*last_gemm_};
  if (by_kernels()) {
    collective(models::CollectiveKind::reduce_scatter, asked_.backend, scattered_bytes(shape_), product);
    return;
  }
  Places arrivals;
  for (int distance = 1; distance < gpus_; ++distance)
    arrivals.push_back(copy(distance, scattered_bytes(shard_), product));
  reduce(std::move(arrivals));
}

// Shards go to one peer after another, the GPU's own is multiplied last.
void Plan::scatter_shards() {
  Places arrivals;
  for (int distance = 1; distance < gpus_; ++distance) {
    multiply(shard_);
    Places after{*last_gemm_};
    if (!arrivals.empty()) after.push_back(arrivals.back());
    arrivals.push_back(copy(distance, scattered_bytes(shard_), std::move(after)));
  }
  multiply(shard_);
  arrivals.push_back(*last_gemm_);
  reduce(std::move(arrivals));
}

// Piece by piece of what goes to each peer, or of all that at once.
void Plan::scatter_piece(const GemmShape& piece, Places& arrivals) {
  const int multiplied = asked_.own_shard_apart ? gpus_ - 1 : gpus_;
  if (asked_.fused) multiply({piece.m, multiplied * piece.n, piece.k});
  for (int distance = 1; distance < gpus_; ++distance) {
    if (!asked_.fused) multiply(piece);
    if (!by_kernels()) arrivals.push_back(copy(distance, scattered_bytes(piece), {*last_gemm_}));
  }
  if (!asked_.fused && !asked_.own_shard_apart) multiply(piece);
  if (by_kernels()) {
    collective(models::CollectiveKind::reduce_scatter, asked_.backend, scattered_bytes(piece) * gpus_, {*last_gemm_});
  }
}

void Plan::scatter_pieces() {
  Places arrivals;
  for (std::int64_t step = 0; step < pieces_of_a_shard; ++step) {
    const GemmShape piece = piece_of_shard(step);
    if (scattered_bytes(piece) > sim::Bytes(0.0)) scatter_piece(piece, arrivals);
  }
  if (asked_.own_shard_apart) multiply(shard_);
  if (by_kernels()) return;
  arrivals.push_back(*last_gemm_);
  reduce(std::move(arrivals));
}

Schedule Plan::write() && {
  const bool gathers = asked_.collective == Collective::gather;
  if (asked_.collective == Collective::none) {
    gemm_in_pieces();
  } else if (asked_.grain == Grain::triggered) {
    trigger_pieces();
  } else if (asked_.grain == Grain::serial) {
    gathers ? gather_in_one_go() : scatter_in_one_go();
  } else if (asked_.grain == Grain::shard) {
    gathers ? gather_shards() : scatter_shards();
  } else {
    gathers ? gather_pieces() : scatter_pieces();
  }
  return std::move(schedule_);
}

sim::Bytes elements(std::int64_t rows, std::int64_t columns) {
  return sim::Bytes(static_cast<double>(rows) * static_cast<double>(columns) * GemmShape::element_bytes);
}

}  // namespace

std::string_view to_string(const DependentSchedule& schedule) {
  const Catalogue& all = catalogue();
  const auto known = std::ranges::find(all.schedules, schedule);
  SIM_CHECK(known != all.schedules.end() && "a schedule that has a name");
  return all.names[static_cast<std::size_t>(known - all.schedules.begin())];
}

std::span<const DependentSchedule> all_dependent_schedules() {
  return std::span(catalogue().schedules).first(catalogue().untriggered);
}
std::span<const DependentSchedule> triggered_schedules() {
  return std::span(catalogue().schedules).subspan(catalogue().untriggered);
}

const DependentSchedule& dependent_schedule(std::string_view name) {
  const Catalogue& all = catalogue();
  const auto known = std::ranges::find(all.names, name);
  SIM_CHECK(known != all.names.end() && "a name of a schedule");
  return all.schedules[static_cast<std::size_t>(known - all.names.begin())];
}

sim::Bytes gathered_bytes(const models::GemmShape& shape) { return elements(shape.n, shape.k); }
sim::Bytes scattered_bytes(const models::GemmShape& shape) { return elements(shape.m, shape.n); }

std::string why_impossible(const DependentSchedule& schedule, const GemmShape& shape,
                           const models::PlatformSpec& platform) {
  if (schedule.grain == Grain::triggered) return models::why_impossible(fused_of(schedule, shape), platform);
  const bool in_shards = schedule.collective == Collective::scatter ||
                         (schedule.collective == Collective::gather &&
                          (schedule.grain != Grain::serial || schedule.backend == Backend::sdma));
  if (!in_shards || shape.n % platform.gpus == 0) return {};
  return fmt::format("{} tokens (n) do not lie on {} GPUs in equal shards: multiples of {} are accepted", shape.n,
                     platform.gpus, platform.gpus);
}

Schedule operations_of(const DependentSchedule& schedule, const GemmShape& shape,
                       const models::PlatformSpec& platform) {
  return Plan(schedule, shape, platform).write();
}

}  // namespace c3sim::study
