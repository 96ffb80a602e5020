#include "study/dependent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/check.h"

namespace c3sim::study {

namespace {

using models::GemmShape;
using enum DependentSchedule;

constexpr int pieces_of_a_shard = 8;  // as measured and as FiCCO has it on 8 GPUs

constexpr std::array<std::pair<DependentSchedule, std::string_view>, 10> names{
    {{gemm_8_row_pieces, "gemm_8_row_pieces"},
     {gemm_64_row_pieces, "gemm_64_row_pieces"},
     {gemm_8_k_pieces, "gemm_8_k_pieces"},
     {serial_rccl, "serial_rccl"},
     {serial_sdma, "serial_sdma"},
     {shard_overlap, "shard_overlap"},
     {finer_uniform_fused_1d, "finer_uniform_fused_1d"},
     {finer_hetero_fused_1d, "finer_hetero_fused_1d"},
     {finer_hetero_unfused_1d, "finer_hetero_unfused_1d"},
     {finer_uniform_fused_2d, "finer_uniform_fused_2d"}}};
constexpr auto schedules = [] {
  std::array<DependentSchedule, names.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = names[i].first;
  return all;
}();

// One of so many pieces that together are the whole and differ by one at most.
std::int64_t piece_of(std::int64_t whole, std::int64_t pieces, std::int64_t index) {
  return whole * (index + 1) / pieces - whole * index / pieces;
}

bool is_in_shards(DependentSchedule schedule) { return schedule >= shard_overlap; }

// A schedule while it is being written down.
class Plan {
 public:
  Plan(const GemmShape& shape, const models::PlatformSpec& platform) : shape_(shape), gpus_(platform.gpus) {}

  Schedule take() && { return std::move(schedule_); }

  // On every GPU, behind what was multiplied before and whatever else is named. Of nothing there is nothing to do.
  void multiply(const GemmShape& piece, std::vector<std::size_t> after = {}) {
    if (piece.n == 0 || piece.k == 0) return;
    if (last_gemm_) after.push_back(*last_gemm_);
    std::ranges::sort(after);
    last_gemm_ = add("compute", piece, std::move(after));
  }

  std::size_t gather(models::Backend backend) {
    models::CollectiveSpec spec;
    spec.backend = backend;
    spec.bytes = gathered_bytes(shape_);
    spec.gpus = gpus_;
    spec.host_threads = models::HostThreads::per_gpu;
    return add("communication", spec, {});
  }

  // Every GPU pulls so many bytes from the peer that lies `distance` behind it; pulls from one peer follow each other.
  std::vector<std::size_t> pull(int distance, sim::Bytes bytes, std::vector<std::size_t> after = {}) {
    std::vector<std::size_t> pulls;
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      models::SdmaCopySpec copy;
      copy.from = (gpu + distance) % gpus_;
      copy.to = gpu;
      copy.bytes = bytes;
      pulls.push_back(add(fmt::format("peer {} of gpu{}", distance, gpu), copy, after));
    }
    return pulls;
  }

  void gemm_in_pieces(std::int64_t pieces, bool of_k);
  void serial(models::Backend backend) { multiply(shape_, {gather(backend)}); }
  void by_shard();
  void by_piece(bool own_shard_first, bool fused, bool of_k);

 private:
  std::size_t add(std::string stream, Work work, std::vector<std::size_t> after) {
    schedule_.push_back(operation_of(std::move(work), {}, std::move(stream)));
    schedule_.back().after = std::move(after);
    return schedule_.size() - 1;
  }

  GemmShape shape_;
  int gpus_;
  Schedule schedule_;
  std::optional<std::size_t> last_gemm_;
};

void Plan::gemm_in_pieces(std::int64_t pieces, bool of_k) {
  for (std::int64_t i = 0; i < pieces; ++i) {
    multiply(of_k ? GemmShape{shape_.m, shape_.n, piece_of(shape_.k, pieces, i)}
                  : GemmShape{shape_.m, piece_of(shape_.n, pieces, i), shape_.k});
  }
}

void Plan::by_shard() {
  const GemmShape shard{shape_.m, shape_.n / gpus_, shape_.k};
  multiply(shard);
  std::vector<std::size_t> before;
  for (int distance = 1; distance < gpus_; ++distance) {
    before = pull(distance, gathered_bytes(shard), before);
    multiply(shard, before);
  }
}

void Plan::by_piece(bool own_shard_first, bool fused, bool of_k) {
  const GemmShape shard{shape_.m, shape_.n / gpus_, shape_.k};
  const int multiplied = own_shard_first ? gpus_ - 1 : gpus_;  // shards of which a step multiplies a piece
  if (own_shard_first) multiply(shard);
  std::vector<std::vector<std::size_t>> before(static_cast<std::size_t>(gpus_));  // by distance
  for (int step = 0; step < pieces_of_a_shard; ++step) {
    GemmShape piece = shard;
    std::int64_t& cut = of_k ? piece.k : piece.n;
    cut = piece_of(cut, pieces_of_a_shard, step);
    if (cut == 0) continue;
    std::vector<std::size_t> arrivals;
    for (int distance = 1; distance < gpus_; ++distance) {
      std::vector<std::size_t>& pulls = before[static_cast<std::size_t>(distance)];
      pulls = pull(distance, gathered_bytes(piece), pulls);
      if (!fused) multiply(piece, pulls);
      arrivals.insert(arrivals.end(), pulls.begin(), pulls.end());
    }
    if (fused) multiply({piece.m, multiplied * piece.n, piece.k}, std::move(arrivals));
  }
}

}  // namespace

std::string_view to_string(DependentSchedule schedule) { return names[static_cast<std::size_t>(schedule)].second; }

std::span<const DependentSchedule> all_dependent_schedules() { return schedules; }

sim::Bytes gathered_bytes(const GemmShape& shape) {
  return sim::Bytes(static_cast<double>(shape.n) * static_cast<double>(shape.k) * GemmShape::element_bytes);
}

std::string why_impossible(DependentSchedule schedule, const GemmShape& shape, const models::PlatformSpec& platform) {
  if (!is_in_shards(schedule) || shape.n % platform.gpus == 0) return {};
  return fmt::format("{} tokens (n) do not lie on {} GPUs in equal shards: multiples of {} are accepted", shape.n,
                     platform.gpus, platform.gpus);
}

Schedule operations_of(DependentSchedule schedule, const GemmShape& shape, const models::PlatformSpec& platform) {
  Plan plan(shape, platform);
  switch (schedule) {
    case gemm_8_row_pieces:
      plan.gemm_in_pieces(8, false);
      break;
    case gemm_64_row_pieces:
      plan.gemm_in_pieces(64, false);
      break;
    case gemm_8_k_pieces:
      plan.gemm_in_pieces(8, true);
      break;
    case serial_rccl:
      plan.serial(models::Backend::rccl);
      break;
    case serial_sdma:
      plan.serial(models::Backend::sdma);
      break;
    case shard_overlap:
      plan.by_shard();
      break;
    case finer_uniform_fused_1d:
      plan.by_piece(false, true, false);
      break;
    case finer_hetero_fused_1d:
      plan.by_piece(true, true, false);
      break;
    case finer_hetero_unfused_1d:
      plan.by_piece(true, false, false);
      break;
    case finer_uniform_fused_2d:
      plan.by_piece(false, true, true);
      break;
  }
  return std::move(plan).take();
}

}  // namespace c3sim::study
