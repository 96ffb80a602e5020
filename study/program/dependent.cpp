#include "study/program/dependent.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/check.h"

namespace c3sim::study {

namespace {

using models::Backend;
using models::GemmShape;
using Collective = DependentSchedule::Collective;
using Grain = DependentSchedule::Grain;

constexpr std::int64_t pieces_of_a_shard = 8;  // as FiCCO uses and measures it on 8 GPUs

std::string make_name(const DependentSchedule& one) {
  const bool of_tokens = one.axis == CutAxis::tokens;
  if (one.collective == Collective::none) {
    return fmt::format("gemm_{}_{}_pieces", one.pieces, of_tokens ? "row" : "k");
  }
  const std::string prefix = one.collective == Collective::scatter ? "scatter_" : "";
  const bool by_kernels = one.backend == Backend::rccl;
  switch (one.grain) {
    case Grain::serial:
      return prefix + (by_kernels ? "serial_rccl" : "serial_sdma");
    case Grain::shard:
      return prefix + "shard_overlap";
    case Grain::finer:
      return fmt::format("{}{}finer_{}_{}_{}", prefix, by_kernels ? "rccl_" : "",
                         one.own_shard_apart ? "hetero" : "uniform", one.fused ? "fused" : "unfused",
                         of_tokens ? "1d" : "2d");
    case Grain::triggered:
      break;
  }
  return fmt::format("{}by_{}{}{}", prefix, models::to_string(one.trigger),
                     one.path == models::FusedPath::ring ? "_ring" : "", one.stores ? "_stores" : "");
}

struct Catalogue {
  std::vector<DependentSchedule> schedules;
  std::vector<std::string> names;
  std::size_t untriggered = 0;  // number of schedules before the triggered ones

  void add(const DependentSchedule& schedule) {
    names.push_back(make_name(schedule));
    schedules.push_back(schedule);
  }
  void add_finer(Collective collective, Backend backend, bool own_shard_apart) {
    for (const CutAxis axis : {CutAxis::tokens, CutAxis::contraction}) {
      for (const bool fused : {true, false}) {
        add({.collective = collective,
             .grain = Grain::finer,
             .backend = backend,
             .own_shard_apart = own_shard_apart,
             .fused = fused,
             .axis = axis});
      }
    }
  }
  void add_triggered(Collective collective, models::TriggerChoice trigger) {
    for (const models::FusedPath path : {models::FusedPath::direct, models::FusedPath::ring}) {
      for (const bool stores : {false, true}) {
        if (stores && collective == Collective::gather) continue;
        add({.collective = collective,
             .grain = Grain::triggered,
             .backend = Backend::sdma,
             .trigger = trigger,
             .path = path,
             .stores = stores});
      }
    }
  }
};

Catalogue make_catalogue() {
  Catalogue all;
  all.add({.collective = Collective::none, .pieces = 8});
  all.add({.collective = Collective::none, .pieces = 64});
  all.add({.collective = Collective::none, .axis = CutAxis::contraction, .pieces = 8});
  for (const Collective collective : {Collective::gather, Collective::scatter}) {
    all.add({.collective = collective, .backend = Backend::rccl});
    all.add({.collective = collective, .backend = Backend::sdma});
    all.add({.collective = collective, .grain = Grain::shard, .backend = Backend::sdma});
    for (const bool own_shard_apart : {false, true}) all.add_finer(collective, Backend::sdma, own_shard_apart);
    all.add_finer(collective, Backend::rccl, false);
    if (collective == Collective::gather) all.add_finer(collective, Backend::rccl, true);
  }
  all.untriggered = all.schedules.size();
  for (const Collective collective : {Collective::gather, Collective::scatter}) {
    for (std::size_t place = 0; place < models::trigger_policies().size(); ++place) {
      all.add_triggered(collective, {place});
    }
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

// A Plan builds the operations of a schedule one by one.
class Plan {
 public:
  Plan(const DependentSchedule& asked, const GemmShape& shape, const models::PlatformSpec& platform)
      : asked_(asked), shape_(shape), gpus_(platform.gpus) {}

  Schedule write() && {
    if (asked_.collective == Collective::none) {
      gemm_in_pieces();
    } else if (asked_.grain == Grain::triggered) {
      add(gemms, "compute", fused_of(asked_, shape_), {});
    } else if (asked_.collective == Collective::gather) {
      gather();
    } else {
      scatter();
    }
    return std::move(schedule_);
  }

 private:
  using Places = std::vector<std::size_t>;

  void gemm_in_pieces() {
    for (std::int64_t i = 0; i < asked_.pieces; ++i) {
      GemmShape piece = shape_;
      std::int64_t& cut = asked_.axis == CutAxis::tokens ? piece.n : piece.k;
      cut = piece_of(cut, asked_.pieces, i);
      multiply(piece);
    }
  }

  void gather() {
    if (asked_.own_shard_apart) multiply(part_of(shape_));
    for (const GemmShape& all : steps()) {
      const GemmShape part = part_of(all);
      Places arrivals;
      if (by_kernels()) arrivals = {collective(models::CollectiveKind::all_gather, gathered_bytes(all))};
      if (!asked_.own_shard_apart && by_peers()) multiply(part);
      for (int distance = 1; distance < gpus_; ++distance) {
        if (!by_kernels()) arrivals.push_back(copy(distance, gathered_bytes(part)));
        if (by_peers()) multiply(part, {arrivals.back()});
      }
      if (!by_peers()) multiply(at_once(all), std::move(arrivals));
    }
  }

  void scatter() {
    Places arrivals;
    for (const GemmShape& all : steps()) {
      const GemmShape part = part_of(all);
      if (!by_peers()) multiply(at_once(all));
      for (int distance = 1; distance < gpus_; ++distance) {
        if (by_peers()) multiply(part);
        if (!by_kernels()) arrivals.push_back(copy(distance, scattered_bytes(part), {last_.at(gemms)}));
      }
      if (by_peers() && !asked_.own_shard_apart) multiply(part);
      if (by_kernels()) collective(models::CollectiveKind::reduce_scatter, scattered_bytes(all), {last_.at(gemms)});
    }
    if (asked_.own_shard_apart) multiply(part_of(shape_));
    if (by_kernels()) return;
    if (asked_.grain != Grain::serial) arrivals.push_back(last_.at(gemms));
    reduce(std::move(arrivals));
  }

  // Returns the part of all shards that each step gathers or scatters; empty parts are left out.
  std::vector<GemmShape> steps() const {
    if (asked_.grain != Grain::finer) return {shape_};
    std::vector<GemmShape> all_steps;
    for (std::int64_t step = 0; step < pieces_of_a_shard; ++step) {
      GemmShape all = shape_;
      const bool of_tokens = asked_.axis == CutAxis::tokens;
      const std::int64_t parts = of_tokens ? gpus_ : 1;
      std::int64_t& cut = of_tokens ? all.n : asked_.collective == Collective::scatter ? all.m : all.k;
      cut = parts * piece_of(cut / parts, pieces_of_a_shard, step);
      if (cut > 0) all_steps.push_back(all);
    }
    return all_steps;
  }

  // Returns one shard's part of a step.
  GemmShape part_of(GemmShape all) const {
    all.n /= gpus_;
    return all;
  }
  // Returns what the GEMM of a step multiplies at once: all shards, or all except the own one.
  GemmShape at_once(GemmShape all) const {
    if (asked_.own_shard_apart) all.n -= part_of(all).n;
    return all;
  }
  bool by_kernels() const { return asked_.backend == Backend::rccl; }
  // Returns whether the part of each peer has its own GEMM.
  bool by_peers() const { return asked_.grain == Grain::shard || !asked_.fused; }

  // A lane is a stream or, of copies of whole shards, all of their streams. Other copies have their distance as lane.
  static constexpr int gemms = 0;
  static constexpr int collectives = -1;
  static constexpr int reductions = -2;
  static constexpr int shards = -3;

  // Adds work that waits for the last of its lane, and for `after`.
  std::size_t add(int lane, std::string stream, Work work, Places after) {
    if (const auto last = last_.find(lane); last != last_.end()) after.push_back(last->second);
    std::ranges::sort(after);
    after.erase(std::unique(after.begin(), after.end()), after.end());
    schedule_.push_back(operation_of(std::move(work), {}, std::move(stream)));
    schedule_.back().after = std::move(after);
    return last_[lane] = schedule_.size() - 1;
  }

  // Adds a GEMM on every GPU after the last GEMM and after `after`. An empty piece adds nothing.
  void multiply(const GemmShape& piece, Places after = {}) {
    if (piece.m > 0 && piece.n > 0 && piece.k > 0) add(gemms, "compute", piece, std::move(after));
  }

  // Adds a collective over a part of the array, after the last collective.
  std::size_t collective(models::CollectiveKind kind, sim::Bytes bytes, Places after = {}) {
    models::CollectiveSpec spec{
        .kind = kind, .bytes = bytes, .gpus = gpus_, .host_threads = models::HostThreads::per_gpu};
    return add(collectives, "communication", spec, std::move(after));
  }

  // Adds a copy on every GPU, from (gather) or to (scatter) the peer at `distance`. Copies of one distance follow each
  // other; whole shards all do.
  std::size_t copy(int distance, sim::Bytes bytes, Places after = {}) {
    const bool pull = asked_.collective == Collective::gather;
    const models::SdmaCopySpec spec{.from = pull ? distance : 0,
                                    .to = pull ? 0 : distance,
                                    .bytes = bytes,
                                    .pull = pull,
                                    .everywhere = true,
                                    .host_threads = models::HostThreads::per_gpu};
    const int lane = asked_.grain == Grain::shard ? shards : distance;
    return add(lane, fmt::format("peer {}", distance), spec, std::move(after));
  }

  // Adds a kernel on every GPU that sums up its shard from all GPUs.
  void reduce(Places after) {
    const sim::Bytes shard = scattered_bytes(part_of(shape_));
    const double sums = shard.value() / GemmShape::element_bytes * (gpus_ - 1);
    add(reductions, "reduction", models::ElementwiseSpec{shard * static_cast<double>(gpus_), shard, sim::Flops(sums)},
        std::move(after));
  }

  const DependentSchedule& asked_;
  GemmShape shape_;
  int gpus_;
  Schedule schedule_;
  std::map<int, std::size_t> last_;  // by lane
};

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

sim::Bytes gathered_bytes(const models::GemmShape& shape) { return elements(shape.n, shape.k); }
sim::Bytes scattered_bytes(const models::GemmShape& shape) { return elements(shape.m, shape.n); }

std::string why_impossible(const DependentSchedule& schedule, const GemmShape& shape,
                           const models::PlatformSpec& platform) {
  if (platform.gpus < 2) return "a node of one GPU has no collectives: gpus of at least 2 is accepted";
  if (schedule.grain == Grain::triggered) return models::why_impossible(fused_of(schedule, shape), platform);
  const bool in_shards = schedule.collective == Collective::scatter ||
                         (schedule.collective == Collective::gather &&
                          (schedule.grain != Grain::serial || schedule.backend == Backend::sdma));
  if (!in_shards || shape.n % platform.gpus == 0) return {};
  return fmt::format("{} tokens (n) do not lie on {} GPUs in equal shards: multiples of {} are accepted", shape.n,
                     platform.gpus, platform.gpus);
}

// The GEMM comes last where its operand is gathered, and first where its result is scattered.
Schedule collective_of(const DependentSchedule& schedule, const GemmShape& shape,
                       const models::PlatformSpec& platform) {
  const DependentSchedule serial{.collective = schedule.collective, .backend = schedule.backend};
  Schedule transfers = operations_of(serial, shape, platform);
  if (schedule.collective == Collective::gather) {
    transfers.pop_back();
    return transfers;
  }
  transfers.erase(transfers.begin());
  for (Operation& operation : transfers) {
    std::erase(operation.after, 0u);
    for (std::size_t& earlier : operation.after) --earlier;
  }
  return transfers;
}

Schedule operations_of(const DependentSchedule& schedule, const GemmShape& shape,
                       const models::PlatformSpec& platform) {
  return Plan(schedule, shape, platform).write();
}

}  // namespace c3sim::study
