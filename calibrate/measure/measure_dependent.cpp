// Schedules of a GEMM and the all-gather that feeds it, by the names and with the dependencies of c3sim's
// (study/work/dependent.h): the columns of B (tokens) lie on the GPUs in equal shards, and every GPU needs them all.
#include <algorithm>
#include <array>
#include <optional>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/kind.h"
#include "calibrate/measure/words.h"

namespace c3sim::measure {

namespace {

constexpr int pieces_of_a_shard = 8;
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

// Made ready once, enqueued on every GPU in each run: steps of tokens that arrive and the GEMM that needs them.
class DependentSchedule {
 public:
  DependentSchedule(Lab& lab, const Form& form, GemmShape shape)
      : lab_(lab),
        form_(form),
        gpus_(lab.gpus()),
        steps_(form.grain == Grain::serial  ? 1
               : form.grain == Grain::finer ? pieces_of_a_shard
                                            : lab.gpus() - 1),
        shard_(shape.n / gpus_),
        tokens_(form.grain == Grain::finer ? shard_ / pieces_of_a_shard : shard_),
        token_(bytes_of_bfloat16 * static_cast<std::size_t>(shape.k)),
        bytes_(token_ * static_cast<std::size_t>(shape.n)) {
    if (form.grain == Grain::shard || form.own_shard_apart) own_ = lab.gemm({shape.m, shard_, shape.k});
    const int shards = form.grain == Grain::shard ? 1 : form.own_shard_apart ? gpus_ - 1 : gpus_;
    step_ = lab.gemm({shape.m, tokens_ * shards, shape.k});
    if (form.by_library) gather_ = lab.collective(Collective::all_gather, bytes_ / static_cast<std::size_t>(steps_));
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
    if (own_) own_->launch(gpu, compute);
    for (int step = 0; step < steps_; ++step) {
      if (form_.grain == Grain::shard) {
        pull(gpu, compute, step + 1, 1, 0);  // from one peer after another
      } else {
        gather(gpu, compute, step);
      }
      step_.launch(gpu, compute);
    }
  }
  // A step's tokens of every shard; what follows on `compute` has them.
  void gather(int gpu, Stream compute, int step) const {
    if (!gather_) {
      for (int distance = 1; distance < gpus_; ++distance) pull(gpu, compute, distance, distance, step);
      return;
    }
    const Stream lane = lab_.stream(gpu, library_lane);
    gather_->launch(gpu, lane);
    hand_over(gpu, lane, compute, step * gpus_);
  }
  void pull(int gpu, Stream compute, int distance, int lane, int step) const {
    const int peer = (gpu + distance) % gpus_;
    const std::size_t own = token_ * static_cast<std::size_t>(step * tokens_);
    const std::size_t place = token_ * static_cast<std::size_t>(shard_ * peer) + own;
    const Stream stream = lab_.stream(gpu, library_lane + lane);
    lab_.gpu(gpu).copy(lab_.destination(gpu, bytes_) + place, lab_.source(peer, bytes_) + own,
                       token_ * static_cast<std::size_t>(tokens_), stream);
    hand_over(gpu, stream, compute, step * gpus_ + distance);
  }
  void hand_over(int gpu, Stream from, Stream to, int event) const {
    const Event arrived = lab_.event(gpu, fork_event + 1 + event);
    lab_.gpu(gpu).record(arrived, from);
    lab_.gpu(gpu).wait(to, arrived);
  }

  Lab& lab_;
  const Form& form_;
  int gpus_, steps_;
  std::int64_t shard_, tokens_;  // tokens of a shard, and how many of each a step waits for
  std::size_t token_;            // bytes
  std::size_t bytes_;            // gathered
  std::optional<Operation> own_, gather_;
  Operation step_;
};

}  // namespace

std::vector<std::string> dependent_schedules() {
  std::vector<std::string> names;
  for (const Form& form : forms) names.emplace_back(form.name);
  return names;
}

bool can_be_cut(GemmShape shape, int gpus) { return shape.n % (std::int64_t{gpus} * pieces_of_a_shard) == 0; }

Rows measure_dependent(Lab& lab, const Arguments& arguments) {
  const auto form = std::ranges::find(forms, arguments.text("schedule"), &Form::name);
  const GemmShape shape = arguments.shape();
  if (form == forms.end() || !can_be_cut(shape, lab.gpus())) {
    throw GpuError(GpuError::Kind::unsupported, "there is no schedule {} of {} on {} GPUs", arguments.text("schedule"),
                   to_string(shape), lab.gpus());
  }
  const DependentSchedule schedule(lab, *form, shape);
  return {row_of(lab.time({schedule.operation()}))};
}

}  // namespace c3sim::measure
