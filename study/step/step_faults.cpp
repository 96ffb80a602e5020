#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "study/fault_list.h"
#include "study/program/step_memory.h"
#include "study/step/step.h"

namespace c3sim::study {

namespace {

constexpr std::int64_t most_turns = 1024;  // of all stages: each is placed and, with --write, written
constexpr std::int64_t most_decoded = 4;   // new tokens of a sequence in decode

void check_even(FaultList& faults, const std::string& where, int parts, std::int64_t whole, std::string_view of) {
  faults.add_if(whole % parts != 0, where, "{} GPUs do not share {} {} evenly: a divisor is accepted", parts, whole,
                of);
}

void check_pieces(const StepQuestion& question, FaultList& faults) {
  faults.add_if(question.ffn_pieces && !question.pieces, "ffn_pieces",
                "are of steps whose attention halves are in pieces, too: --pieces is accepted beside it");
  if (!question.pieces) return;
  const std::vector<LayerKind> kinds = question.model.kinds(question.layer_count());
  const bool dense = std::ranges::all_of(kinds, [](const LayerKind& kind) { return kind.model.experts == 0; }) ||
                     question.half == Half::attention;
  faults.add_if(question.phase != Phase::prefill || question.cp > 1 || question.has_turns() || !dense, "pieces",
                "cut the dense layers of a prefill: --phase prefill without --cp, --pp and --micro is accepted");
  faults.add_if(question.collectives.fuses, "pieces",
                "t3 cuts what it reduces by itself: another of --collectives is accepted");
  faults.add_if(question.tp == 1, "pieces", "no GPUs share out a product: --tp of at least 2 is accepted");
  for (const auto& [where, pieces] : {std::pair("pieces", question.pieces), {"ffn_pieces", question.ffn_pieces}}) {
    const int count = pieces.value_or(0);
    const std::int64_t least = std::int64_t{count} * question.tp;
    faults.add_if(question.new_tokens() < least, where,
                  "{} pieces of {} GPUs cannot be had of {} tokens: {} at least are accepted", count, question.tp,
                  question.new_tokens(), least);
  }
}

void check_exchanges(const StepQuestion& question, FaultList& faults) {
  faults.add_if(question.dispatch != Dispatch::all_to_all && question.ep == 1, "dispatch",
                "{} sends tokens to experts on other GPUs, of which there are none: --ep of at least 2 is accepted",
                to_string(question.dispatch));
  if (question.overlap == Overlap::none) return;
  const bool is_plain = question.phase != Phase::train && !question.has_turns() && !question.pieces &&
                        !question.collectives.fuses && question.half == Half::both && question.decoding == 0;
  faults.add_if(
      !is_plain, "overlap",
      "{} needs whole layers of decode or prefill: it is not accepted with --pp, --micro, --pieces, --decoding, "
      "--half or t3",
      to_string(question.overlap));
  if (question.overlap == Overlap::two_batches) {
    faults.add_if(question.batch % 2 != 0, "batch", "two batches do not share {} sequences evenly: {} is accepted",
                  question.batch, question.batch + 1);
    faults.add_if(question.gpus() == question.dp && question.ep == 1, "overlap",
                  "two_batches compute beside what they communicate, and nothing is: --tp or --ep of at least 2 is "
                  "accepted");
    return;
  }
  const std::vector<LayerKind> kinds = question.model.kinds(question.layer_count());
  const bool shares = std::ranges::any_of(kinds, [](const LayerKind& kind) { return kind.model.shared_ffn > 0; });
  faults.add_if(
      !shares || question.ep == 1, "overlap",
      "shared_experts compute while tokens travel: a model that has some, and --ep of at least 2, are accepted");
}

void check_pipeline(const StepQuestion& question, FaultList& faults) {
  if (question.pp == 1 && question.micro == 1) return;
  faults.add_if(question.layer_count() < question.pp, "pp",
                "each of {} stages has a layer at least: no more than there are layers, {}, is accepted", question.pp,
                question.layer_count());
  const std::int64_t turns = std::int64_t{question.pp} * question.micro;
  faults.add_if(turns > most_turns, "micro", "{} micro-batches through {} stages are {} turns: up to {} are accepted",
                question.micro, question.pp, turns, most_turns);
  faults.add_if(question.batch % question.micro != 0, "micro",
                "{} micro-batches do not share the sequences of a replica (--batch {}) evenly: a divisor is accepted",
                question.micro, question.batch);
  faults.add_if(question.shard == Shard::full, "shard",
                "full is not known of stages and micro-batches, each of which would gather the weights of its layers "
                "again: none is accepted beside --pp and --micro, or full without them");
  faults.add_if(question.collectives.fuses, "collectives",
                "t3 is not known of stages and micro-batches: another value is accepted beside --pp and --micro");
  faults.add_if(question.decoding > 0, "decoding",
                "micro-batches are alike, so that none decodes beside a prefill: 0 is accepted with --pp and --micro");
}

void check_parallelism(const StepQuestion& question, const models::PlatformSpec& platform, FaultList& faults) {
  const ModelSpec& model = question.model;
  check_even(faults, "tp", question.tp, model.heads, "heads");
  if (model.heads % question.tp == 0 && question.tp % model.kv_heads != 0 && !model.is_latent()) {
    check_even(faults, "tp", question.tp, model.kv_heads, "heads of keys and values");
  }
  bool has_experts = false;
  for (const auto& [kind, prefix, layers] : model.kinds(question.layer_count())) {
    check_even(faults, "tp", question.tp, kind.ffn, "features of the feed-forward half");
    if (kind.shared_ffn > 0) check_even(faults, "tp", question.tp, kind.shared_ffn, "features of the shared experts");
    if (kind.experts > 0) check_even(faults, "ep", question.ep, kind.experts, "experts");
    const auto routed = static_cast<std::int64_t>(question.routing.shares.size());
    faults.add_if(kind.experts > 0 && routed > 0 && routed != kind.experts, "routing",
                  "has shares of {} experts, and {} has {}: as many are accepted", routed, model.name, kind.experts);
    const std::string why = kind.experts > 0 ? why_impossible(question.routing, kind.experts_used) : std::string();
    faults.add_if(!why.empty() && routed == kind.experts, "routing", "{}", why);
    has_experts = has_experts || kind.experts > 0;
  }
  faults.add_if(question.ep > 1 && !has_experts, "ep", "{} has no experts to share out: 1 is accepted", model.name);
  faults.add_if(question.routing != Routing{} && !has_experts, "routing",
                "{} has no experts to choose from: a model with experts is accepted", model.name);
  faults.add_if(question.tp * question.dp % question.ep != 0, "ep",
                "{} ranks do not share out the {} x {} GPUs of --tp and --dp evenly, which have the experts: a divisor "
                "of {} is accepted",
                question.ep, question.tp, question.dp, question.tp * question.dp);
  const char* const last = question.pp > 1   ? "pp"
                           : question.cp > 1 ? "cp"
                           : question.ep > 1 ? "ep"
                           : question.dp > 1 ? "dp"
                                             : "tp";
  faults.add_if(platform.gpus % question.gpus() != 0, last,
                "the split into {} has {} GPUs: a divisor of the {} of the node is accepted",
                to_string(static_cast<const Split&>(question)), question.gpus(), platform.gpus);
  faults.add_if(question.collectives.fuses && question.tp == 1, "collectives",
                "t3 fuses products with the sums over the GPUs that share them out: --tp of at least 2 is accepted");
  check_pipeline(question, faults);
  check_pieces(question, faults);
  check_exchanges(question, faults);
  const bool decodes = question.phase == Phase::decode;
  faults.add_if(question.cp > 1 && decodes, "cp", "decode has no sequence to share out: 1 is accepted");
  faults.add_if(question.cp > 1 && !decodes && question.tokens % (2L * question.cp) != 0, "cp",
                "{} GPUs have two even parts of {} tokens each: a multiple of {} tokens is accepted", question.cp,
                question.tokens, 2L * question.cp);
  faults.add_if(question.cp > 1 && question.decoding > 0, "decoding",
                "--cp does not share out sequences that decode beside a prefill: 0 is accepted beside it");
  const bool shards = question.shard == Shard::full;
  faults.add_if(shards && question.replicas() == 1, "shard",
                "full shares weights out over replicas: --dp of at least 2 is accepted");
  faults.add_if(shards && question.phase != Phase::train, "shard",
                "full shares out the weights of training: --phase train is accepted");
}

// Some models have experts in later layers alone, and each stage must have something to simulate.
void check_half_of_experts(const StepQuestion& question, FaultList& faults) {
  if (question.half != Half::experts) return;
  const ModelSpec& model = question.model;
  const auto has_experts = [](const LayerKind& kind) { return kind.layers > 0 && kind.model.experts > 0; };
  if (std::ranges::none_of(model.kinds(model.layers), has_experts)) {
    faults.add_if(true, "half", "{} has no experts: both, attention and feed_forward are accepted", model.name);
    return;
  }
  std::int64_t first = 0;
  for (int stage = 0; stage < question.pp; ++stage) {
    const std::int64_t behind = first + question.layers_of(stage);
    const bool has_some = std::ranges::any_of(model.kinds(question.layer_count(), first, behind), has_experts);
    faults.add_if(!has_some && behind > first, "half",
                  "layers {} to {} of {} have no experts: feed_forward is accepted, or a number of --layers whose last "
                  "have some",
                  first, behind - 1, model.name);
    first = behind;
  }
}

void check_phase(const StepQuestion& question, FaultList& faults) {
  const ModelSpec& model = question.model;
  const bool decodes = question.phase == Phase::decode;
  const bool whole = question.half == Half::both;
  faults.add_if(decodes && !model.causal, "phase", "{} does not decode: prefill and train are accepted", model.name);
  faults.add_if(decodes && question.tokens > most_decoded, "tokens", "decode has 1 to {} new tokens a sequence, not {}",
                most_decoded, question.tokens);
  faults.add_if(!whole && question.phase == Phase::train, "half",
                "training needs both halves of its layers: both is accepted");
  check_half_of_experts(question, faults);
  faults.add_if(model.experts_alone && question.half != Half::experts, "half",
                "{} are nothing but experts: experts is accepted", model.name);
  faults.add_if(!whole && !question.layers, "half", "a whole step has both halves: --layers is accepted beside it");
  faults.add_if(question.phase != Phase::prefill && question.decoding > 0, "decoding",
                "sequences decode beside a prefill: --phase prefill is accepted");
  faults.add_if(question.decoding_context > 0 && question.decoding == 0, "decoding_context",
                "no sequence decodes beside the prefill: --decoding is accepted");
  faults.add_if(model.positions > 0 && question.decoding_context >= model.positions, "decoding_context",
                "{} cached tokens and a new one are more than the {} that {} knows the place of",
                question.decoding_context, model.positions, model.name);
  faults.add_if(question.phase == Phase::train && question.context > 0, "context", "training has no cached tokens");
  const std::int64_t length = question.context + question.tokens;
  const char* const lengthens = question.context > 0 ? "context" : "tokens";
  faults.add_if(model.positions > 0 && length > model.positions, lengthens,
                "{} tokens are more than the {} that {} knows the place of", length, model.positions, model.name);
  faults.add_if(question.phase != Phase::train && question.forward, "forward",
                "leaves out the gradients of training: --phase train is accepted beside it");
  faults.add_if(!question.trains() && question.optimizer != Optimizer::none, "optimizer",
                "there are no gradients to update weights by: --phase train without --forward is accepted");
  faults.add_if(question.phase == Phase::train && question.kernels == Kernels::compiled, "kernels",
                "compiled kernels are known of inference alone: eager is accepted of training");
  faults.add_if(!question.trains() && question.recompute, "recompute",
                "there are no gradients: --phase train without --forward is accepted");
}

void check_carrier(const StepQuestion& question, FaultList& faults) {
  if (!question.collectives.backend || question.collectives == models::Backend::sdma || question.collectives.fuses) {
    return;
  }
  for (const auto& [name, carrier] : question.chosen) {
    if (carrier.backend == models::Backend::sdma) return;
  }
  const auto check = [&](bool asks, const char* where, std::string_view what) {
    faults.add_if(asks, where,
                  "{} needs copy engines, and {} moves the data by kernels: --collectives sdma is accepted", what,
                  to_string(question.collectives));
  };
  check(question.variant != models::SdmaVariant::pcpy, "variant", models::to_string(question.variant));
  check(question.prelaunch, "prelaunch", "what is queued before the step");
}

// An Extent is a number of the question that memory grows with.
struct Extent {
  const char* option;
  std::int64_t StepQuestion::*count;
  std::int64_t least;
};
constexpr std::array extents_of_memory{
    Extent{"batch", &StepQuestion::batch, 1}, Extent{"context", &StepQuestion::context, 1},
    Extent{"tokens", &StepQuestion::tokens, 1}, Extent{"decoding", &StepQuestion::decoding, 1},
    Extent{"decoding_context", &StepQuestion::decoding_context, 1}};

// Returns the number that an extent must be a multiple of, so that it divides evenly.
std::int64_t multiple_of(const StepQuestion& question, std::int64_t StepQuestion::*extent) {
  if (extent == &StepQuestion::batch) {
    return std::lcm(question.micro, question.overlap == Overlap::two_batches ? 2 : 1);
  }
  const bool is_shared_out = extent == &StepQuestion::tokens && question.cp > 1;
  return is_shared_out && question.phase != Phase::decode ? 2L * question.cp : 1;
}

FaultList faults_but_memory(const StepQuestion& question, const models::PlatformSpec& platform) {
  FaultList faults;
  faults.add_if(
      models::hides_launches(platform.host.protocol), "protocol",
      "{} leaves launches out, and a step has its own, one by one or from a graph (--graph): steady, shot and "
      "rounds are accepted",
      models::to_string(platform.host.protocol));
  faults.add_if(!platform.gpu.attention, "platform", "describes no kernels for attention (gpu.attention)");
  std::vector<std::string_view> known;
  for (const models::Dtype dtype : models::all_dtypes) {
    if (platform.gpu.gemm.precision(dtype)) known.push_back(to_string(dtype));
  }
  faults.add_if(!platform.gpu.gemm.precision(question.dtype), "dtype", "{} has no matrix rate of {}: {} are accepted",
                platform.name, to_string(question.dtype), fmt::format("{}", fmt::join(known, ", ")));
  for (const auto& [part, format] : {std::pair("activations", question.formats.activations),
                                     {"cache", question.formats.cache},
                                     {"gradients", question.formats.gradients}}) {
    const bool is_packed = format && (*format == models::Dtype::int4 || *format == models::Dtype::mxfp4);
    faults.add_if(is_packed, "dtype", "{} are not of {}, a format of weights: bf16, fp16, fp8 and fp32 are accepted",
                  part, format ? to_string(*format) : "");
  }
  const std::optional<models::Dtype> activations = question.formats.activations;
  faults.add_if(activations && !platform.gpu.gemm.precision(*activations), "dtype",
                "{} has no matrix rate of {}, in which attention and the router multiply: {} are accepted",
                platform.name, activations ? to_string(*activations) : "", fmt::format("{}", fmt::join(known, ", ")));
  const models::Dtype attention = question.formats.attention.value_or(question.activation_format());
  faults.add_if(
      attention != question.activation_format() || (question.formats.attention && question.phase == Phase::train),
      "dtype",
      "attention has the format of all weights or, in decode and prefill, that of activations: none, or {}, is "
      "accepted",
      to_string(question.activation_format()));
  faults.add_if(question.formats.gradients && question.phase != Phase::train, "dtype",
                "there are no gradients: --phase train is accepted beside a format of theirs");
  faults.add_if(question.formats.cache && question.phase == Phase::train, "dtype", "training has no cached tokens");
  check_parallelism(question, platform, faults);
  check_phase(question, faults);
  check_carrier(question, faults);
  return faults;
}

// Returns the largest value of this extent that fits into memory; nothing if even the least does not fit, or if a
// smaller value causes other faults.
std::optional<std::int64_t> what_fits(const StepQuestion& question, const Extent& extent, const StepMachine& machine) {
  const std::int64_t step = multiple_of(question, extent.count);
  StepQuestion less = question;
  const auto fits = [&](std::int64_t steps) {
    less.*extent.count = steps * step;
    return memory_of(less, machine.templates).total() <= machine.platform.gpu.memory.hbm_capacity;
  };
  const auto steps_of = [step](std::int64_t count) { return (count + step - 1) / step; };
  std::int64_t fitting = steps_of(extent.least);
  std::int64_t beyond = steps_of(question.*extent.count);
  if (beyond <= fitting || !fits(fitting)) return {};
  while (beyond - fitting > 1) {
    const std::int64_t middle = fitting + (beyond - fitting) / 2;
    (fits(middle) ? fitting : beyond) = middle;
  }
  less.*extent.count = fitting * step;
  return faults_but_memory(less, machine.platform).is_empty() ? std::optional(less.*extent.count) : std::nullopt;
}

void check_memory(const StepQuestion& question, const StepMachine& machine, FaultList& faults) {
  const StepMemory memory = memory_of(question, machine.templates);
  const sim::Bytes capacity = machine.platform.gpu.memory.hbm_capacity;
  const auto add = [&](const char* where, const std::string& accepted) {
    faults.add_if(true, where, "{:.1f} GB are needed of a GPU's {:.1f} ({}): {}", memory.total().value() / 1e9,
                  capacity.value() / 1e9, to_string(memory), accepted);
  };
  if (memory.total() <= capacity) return;
  for (const Extent& extent : extents_of_memory) {
    const std::optional<std::int64_t> fits = what_fits(question, extent, machine);
    if (!fits) continue;
    std::string typed = extent.option;
    std::ranges::replace(typed, '_', '-');
    return add(extent.option, fmt::format("--{} {} is accepted", typed, *fits));
  }
  add(question.layers ? "layers" : "tp",
      fmt::format(
          "more GPUs that share weights are accepted (--tp{}), or {}",
          question.phase == Phase::train ? ", --dp with --shard full" : "",
          question.phase == Phase::train || question.layers ? "fewer --layers" : "weights of fewer bytes (--dtype)"));
}

}  // namespace

// Memory is that of a step which could be asked otherwise.
std::vector<sim::Fault> faults_of(const StepQuestion& question, const StepMachine& machine) {
  FaultList faults = faults_but_memory(question, machine.platform);
  if (faults.is_empty()) check_memory(question, machine, faults);
  return faults.take();
}

}  // namespace c3sim::study
