#include "study/step/step_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "study/step/step_memory.h"

namespace c3sim::study {

namespace {

constexpr std::int64_t most_turns = 1024;  // of all stages: where no period shows, each is simulated

class Faults {
 public:
  void add(std::string where, std::string what) { faults_.push_back({std::move(where), "", std::move(what)}); }
  void require_divisor(const std::string& where, int parts, std::int64_t whole, std::string_view of) {
    if (whole % parts == 0) return;
    add(where, fmt::format("{} GPUs do not share {} {} evenly: a divisor is accepted", parts, whole, of));
  }
  std::vector<sim::Fault> take() { return std::move(faults_); }

 private:
  std::vector<sim::Fault> faults_;
};

void check_pieces(const StepQuestion& question, Faults& faults) {
  if (!question.pieces) return;
  const bool dense = question.model.experts == 0 || question.half == Half::attention;
  if (question.phase != Phase::prefill || question.cp > 1 || question.pp > 1 || question.micro > 1 || !dense) {
    faults.add("pieces",
               "are of the dense layers of a prefill: --phase prefill without --cp, --pp and --micro is accepted");
  }
  if (question.collectives.fuses) {
    faults.add("pieces", "t3 cuts what it reduces by itself: another of --collectives is accepted");
  }
  if (question.tp == 1) faults.add("pieces", "no GPUs share out a product: --tp of at least 2 is accepted");
  if (const std::int64_t least = std::int64_t{*question.pieces} * question.tp; question.new_tokens() < least) {
    faults.add("pieces", fmt::format("{} pieces of {} GPUs cannot be had of {} tokens: {} at least are accepted",
                                     *question.pieces, question.tp, question.new_tokens(), least));
  }
}

void check_pipeline(const StepQuestion& question, Faults& faults) {
  if (question.pp == 1 && question.micro == 1) return;
  if (question.layer_count() % question.pp != 0) {
    faults.add("pp", fmt::format("{} stages do not share {} layers evenly: a divisor is accepted", question.pp,
                                 question.layer_count()));
  }
  if (const std::int64_t turns = std::int64_t{question.pp} * question.micro; turns > most_turns) {
    faults.add("micro", fmt::format("{} micro-batches through {} stages are {} turns: up to {} are accepted",
                                    question.micro, question.pp, turns, most_turns));
  }
  if (question.batch % question.micro != 0) {
    faults.add("micro", fmt::format("{} micro-batches do not share {} sequences evenly: a divisor is accepted",
                                    question.micro, question.batch));
  }
  if (question.replicas() > 1) {
    faults.add("pp", fmt::format("GPUs of a stage share out products and experts (--tp, --ep): beside --pp {} and "
                                 "--micro {} --dp and --cp of 1 are accepted, not {} and {}",
                                 question.pp, question.micro, question.dp, question.cp));
  }
  if (question.collectives.fuses) {
    faults.add("pp", "t3 is of steps without stages: another of --collectives is accepted");
  }
  if (question.decoding > 0) faults.add("decoding", "micro-batches are alike: none decodes beside a prefill");
}

void check_parallelism(const StepQuestion& question, const models::PlatformSpec& platform, Faults& faults) {
  const ModelSpec& model = question.model;
  faults.require_divisor("tp", question.tp, model.heads, "heads");
  if (model.heads % question.tp == 0 && question.tp % model.kv_heads != 0) {
    faults.require_divisor("tp", question.tp, model.kv_heads, "heads of keys and values");
  }
  faults.require_divisor("tp", question.tp, model.ffn, "features of the feed-forward half");
  if (question.ep > 1 && model.experts == 0) {
    faults.add("ep", fmt::format("{} has no experts to share out: 1 is accepted", model.name));
  } else if (question.ep > 1) {
    faults.require_divisor("ep", question.ep, model.experts, "experts");
  }
  if (platform.gpus % question.gpus() != 0) {
    faults.add(
        "tp",
        fmt::format("{} x {} x {} x {} x {} (--tp, --ep, --dp, --cp and --pp) are {} GPUs: a divisor of the "
                    "{} of the node is accepted",
                    question.tp, question.ep, question.dp, question.cp, question.pp, question.gpus(), platform.gpus));
  }
  if (question.collectives.fuses && question.tp == 1) {
    faults.add("collectives",
               "t3 fuses products with the sums over the GPUs that share them out: --tp of at least 2 is "
               "accepted");
  }
  check_pipeline(question, faults);
  check_pieces(question, faults);
  if (question.cp > 1 && question.phase == Phase::decode) {
    faults.add("cp", "decode has no sequence to share out: 1 is accepted");
  } else if (question.cp > 1 && question.tokens % (2L * question.cp) != 0) {
    faults.add("cp", fmt::format("{} GPUs have two even parts of {} tokens each: a multiple of {} tokens is accepted",
                                 question.cp, question.tokens, 2L * question.cp));
  }
  if (question.shard == Shard::full && question.replicas() == 1) {
    faults.add("shard", "full shares weights out over replicas: --dp of at least 2 is accepted");
  }
  if (question.shard == Shard::full && question.phase != Phase::train) {
    faults.add("shard", "full is of training: --phase train is accepted");
  }
}

void check_phase(const StepQuestion& question, Faults& faults) {
  if (question.phase == Phase::decode && !question.model.causal) {
    faults.add("phase", fmt::format("{} does not decode: prefill and train are accepted", question.model.name));
  }
  if (question.phase == Phase::decode && question.tokens > 4) {
    faults.add("tokens", fmt::format("decode has 1 to 4 new tokens a sequence, not {}", question.tokens));
  }
  if (question.half != Half::both && question.phase == Phase::train) {
    faults.add("half", "training is of whole layers: both is accepted");
  }
  if (question.half == Half::experts && question.model.experts == 0) {
    faults.add("half",
               fmt::format("{} has no experts: both, attention and feed_forward are accepted", question.model.name));
  }
  if (question.half != Half::both && !question.layers) {
    faults.add("half", "a whole step has both halves: --layers is accepted beside it");
  }
  if (question.phase != Phase::prefill && question.decoding > 0) {
    faults.add("decoding", "sequences decode beside a prefill: --phase prefill is accepted");
  }
  if (question.decoding_context > 0 && question.decoding == 0) {
    faults.add("decoding_context", "no sequence decodes beside the prefill: --decoding is accepted");
  }
  if (question.model.positions > 0 && question.decoding_context >= question.model.positions) {
    faults.add("decoding_context",
               fmt::format("{} cached tokens and a new one are more than the {} that {} knows the "
                           "place of",
                           question.decoding_context, question.model.positions, question.model.name));
  }
  if (question.phase == Phase::train && question.context > 0) faults.add("context", "training has no cached tokens");
  const std::int64_t length = question.context + question.tokens;
  if (question.model.positions > 0 && length > question.model.positions) {
    faults.add(question.context > 0 ? "context" : "tokens",
               fmt::format("{} tokens are more than the {} that {} knows the place of", length,
                           question.model.positions, question.model.name));
  }
  if (question.phase != Phase::decode && question.model.window > 0 && length > question.model.window) {
    faults.add(
        question.context > 0 ? "context" : "tokens",
        fmt::format("{} tokens are more than the window of {} that {} sees, past which only decode has a model: up "
                    "to {} are accepted",
                    length, question.model.window, question.model.name, question.model.window));
  }
  if (!question.trains() && question.optimizer != Optimizer::none) {
    faults.add("optimizer", "there are no gradients to update weights by: --phase train without --forward is accepted");
  }
  if (!question.trains() && question.recompute) {
    faults.add("recompute", "there are no gradients: --phase train without --forward is accepted");
  }
}

void check_carrier(const StepQuestion& question, Faults& faults) {
  if (!question.collectives.backend || question.collectives == models::Backend::sdma || question.collectives.fuses) {
    return;
  }
  const auto add = [&](const char* where, std::string_view what) {
    faults.add(where, fmt::format("{} is of engines, and {} moves the data: --collectives sdma is accepted", what,
                                  to_string(question.collectives)));
  };
  if (question.variant != models::SdmaVariant::pcpy) add("variant", models::to_string(question.variant));
  if (question.prelaunch) add("prelaunch", "what is queued before the step");
}

// An extent that memory grows with.
struct Extent {
  const char* option;
  std::int64_t StepQuestion::*count;
  std::int64_t least;
};

// The most of it that fits; none where not even the least does.
std::optional<std::int64_t> most_that_fits(StepQuestion question, const Extent& extent, sim::Bytes capacity) {
  const std::int64_t step = extent.count == &StepQuestion::batch ? question.micro : 1;
  const auto fits = [&](std::int64_t steps) {
    question.*extent.count = steps * step;
    return memory_of(question).total() <= capacity;
  };
  std::int64_t fitting = (extent.least + step - 1) / step;
  std::int64_t beyond = question.*extent.count / step;
  if (beyond <= fitting || !fits(fitting)) return {};
  while (beyond - fitting > 1) {
    const std::int64_t middle = fitting + (beyond - fitting) / 2;
    (fits(middle) ? fitting : beyond) = middle;
  }
  return fitting * step;
}

void check_memory(const StepQuestion& question, const models::PlatformSpec& platform, Faults& faults) {
  const StepMemory memory = memory_of(question);
  const sim::Bytes capacity = platform.gpu.memory.hbm_capacity;
  if (memory.total() <= capacity) return;
  const auto add = [&](const char* where, const std::string& accepted) {
    faults.add(where, fmt::format("{:.1f} GB are needed of a GPU's {:.1f} ({}): {}", memory.total().value() / 1e9,
                                  capacity.value() / 1e9, to_string(memory), accepted));
  };
  static constexpr std::array extents{
      Extent{"batch", &StepQuestion::batch, 1}, Extent{"context", &StepQuestion::context, 1},
      Extent{"tokens", &StepQuestion::tokens, 1}, Extent{"decoding", &StepQuestion::decoding, 1},
      Extent{"decoding_context", &StepQuestion::decoding_context, 1}};
  for (const Extent& extent : extents) {
    if (const auto most = most_that_fits(question, extent, capacity)) {
      std::string option = extent.option;
      std::ranges::replace(option, '_', '-');
      return add(extent.option, fmt::format("--{} {} is accepted", option, *most));
    }
  }
  add(question.layers ? "layers" : "tp",
      fmt::format("more GPUs that share weights are accepted (--tp{}), or fewer --layers",
                  question.phase == Phase::train ? ", --dp with --shard full" : ""));
}

}  // namespace

std::vector<sim::Fault> faults_of(const StepQuestion& question, const models::PlatformSpec& platform) {
  Faults faults;
  if (!platform.gpu.attention) faults.add("platform", "describes no kernels for attention (gpu.attention)");
  if (!platform.gpu.gemm.precision(question.dtype)) {
    std::string known;
    for (const models::Dtype dtype : models::all_dtypes) {
      if (platform.gpu.gemm.precision(dtype)) known += (known.empty() ? "" : ", ") + std::string(to_string(dtype));
    }
    faults.add("dtype", fmt::format("{} has no matrix rate of {}: {} are accepted", platform.name,
                                    to_string(question.dtype), known));
  }
  check_parallelism(question, platform, faults);
  check_phase(question, faults);
  check_carrier(question, faults);
  check_memory(question, platform, faults);
  return faults.take();
}

}  // namespace c3sim::study
