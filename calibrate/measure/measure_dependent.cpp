// Schedules of a GEMM and the all-gather that feeds it, by the names and with the dependencies of c3sim's
// (study/work/dependent.h): the columns of B (tokens) lie on the GPUs in equal shards, and every GPU needs them all.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "calibrate/measure/gpu_error.h"
#include "calibrate/measure/kind.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr std::int64_t pieces_of_a_shard = 8;
constexpr int library_lane = 300;  // peers have those behind it
constexpr int fork_event = 2000;   // copies and collectives have those behind it

enum class Grain { serial, shard, finer };

struct Form {
  std::string_view name;
  Grain grain = Grain::serial;
  bool by_library = false;       // else every GPU pulls from its peers
  bool own_shard_apart = false;  // multiplied first
};

constexpr std::array forms{Form{"serial_rccl", Grain::serial, true},
                           Form{"serial_sdma"},
                           Form{"shard_overlap", Grain::shard},
                           Form{"finer_uniform_fused_1d", Grain::finer},
                           Form{"finer_hetero_fused_1d", Grain::finer, false, true},
                           Form{"rccl_finer_uniform_fused_1d", Grain::finer, true},
                           Form{"rccl_finer_hetero_fused_1d", Grain::finer, true, true}};

// Made ready once, enqueued on every GPU in each run.
class DependentSchedule {
 public:
  DependentSchedule(Lab& lab, const Form& form, GemmShape shape)
      : lab_(lab),
        form_(form),
        gpus_(lab.gpus()),
        shard_(shape.n / gpus_),
        token_(bytes_of_bfloat16 * static_cast<std::size_t>(shape.k)),
        bytes_(token_ * static_cast<std::size_t>(shape.n)) {
    const std::int64_t step = shard_ / pieces_of_a_shard;
    if (form.grain == Grain::serial) whole_ = lab.gemm(shape);
    if (form.grain == Grain::shard || form.own_shard_apart) {
      of_shard_ = lab.gemm({shape.m, shard_, shape.k});
    }
    if (form.grain == Grain::finer) {
      of_step_ = lab.gemm({shape.m, step * (form.own_shard_apart ? gpus_ - 1 : gpus_), shape.k});
    }
    if (form.by_library) {
      const std::size_t parts = form.grain == Grain::finer ? pieces_of_a_shard : 1;
      gather_ = lab.collective(Collective::all_gather, bytes_ / parts);
    }
    lab.reserve(bytes_, bytes_);
  }

  Operation operation() const {
    return {.launch = [this](int gpu, Stream stream) { enqueue(gpu, stream); }, .hot = true};
  }

 private:
  void enqueue(int gpu, Stream compute) const {
    lab_.gpu(gpu).record(lab_.event(gpu, fork_event), compute);
    for (int lane = 0; lane < gpus_; ++lane) {
      lab_.gpu(gpu).wait(lab_.stream(gpu, library_lane + lane), lab_.event(gpu, fork_event));
    }
    if (of_shard_) of_shard_->launch(gpu, compute);
    if (form_.grain == Grain::shard) return enqueue_shards(gpu, compute);
    const std::int64_t steps = form_.grain == Grain::finer ? pieces_of_a_shard : 1;
    for (std::int64_t step = 0; step < steps; ++step) {
      gather(gpu, compute, step, shard_ / steps);
      (whole_ ? whole_ : of_step_)->launch(gpu, compute);
    }
  }
  // From one peer after another.
  void enqueue_shards(int gpu, Stream compute) const {
    for (int distance = 1; distance < gpus_; ++distance) {
      pull(gpu, compute, distance, 1, 0, shard_);
      of_shard_->launch(gpu, compute);
    }
  }
  // So many tokens of every shard; what follows on `compute` has them.
  void gather(int gpu, Stream compute, std::int64_t step, std::int64_t tokens) const {
    if (!gather_) {
      for (int distance = 1; distance < gpus_; ++distance) pull(gpu, compute, distance, distance, step, tokens);
      return;
    }
    const Stream lane = lab_.stream(gpu, library_lane);
    gather_->launch(gpu, lane);
    hand_over(gpu, lane, compute, static_cast<int>(step) * gpus_);
  }
  void pull(int gpu, Stream compute, int distance, int lane, std::int64_t step, std::int64_t tokens) const {
    const int peer = (gpu + distance) % gpus_;
    const std::size_t own = token_ * static_cast<std::size_t>(step * tokens);
    const std::size_t place = token_ * static_cast<std::size_t>(shard_ * peer) + own;
    const Stream stream = lab_.stream(gpu, library_lane + lane);
    lab_.gpu(gpu).copy(lab_.destination(gpu, bytes_) + place, lab_.source(peer, bytes_) + own,
                       token_ * static_cast<std::size_t>(tokens), stream);
    hand_over(gpu, stream, compute, static_cast<int>(step) * gpus_ + distance);
  }
  void hand_over(int gpu, Stream from, Stream to, int event) const {
    const Event arrived = lab_.event(gpu, fork_event + 1 + event);
    lab_.gpu(gpu).record(arrived, from);
    lab_.gpu(gpu).wait(to, arrived);
  }

  Lab& lab_;
  const Form& form_;
  int gpus_;
  std::int64_t shard_;  // tokens
  std::size_t token_;   // bytes
  std::size_t bytes_;   // gathered
  std::optional<Operation> whole_, of_shard_, of_step_, gather_;
};

}  // namespace

std::vector<std::string> dependent_schedules() {
  std::vector<std::string> names;
  for (const Form& form : forms) names.emplace_back(form.name);
  return names;
}

bool can_be_cut(GemmShape shape, int gpus) { return shape.n % (gpus * pieces_of_a_shard) == 0; }

Rows measure_dependent(Lab& lab, const Arguments& arguments) {
  const auto form = std::ranges::find(forms, arguments.text("schedule"), &Form::name);
  const GemmShape shape = arguments.shape();
  if (form == forms.end() || !can_be_cut(shape, lab.gpus())) {
    throw GpuError(GpuError::Kind::unsupported, fmt::format("there is no schedule {} of {} on {} GPUs",
                                                            arguments.text("schedule"), to_string(shape), lab.gpus()));
  }
  const DependentSchedule schedule(lab, *form, shape);
  return {row_of(lab.time({schedule.operation()}))};
}

}  // namespace c3sim::measure
