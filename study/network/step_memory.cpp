#include "study/network/step_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace c3sim::study {

namespace {

// Returns the elements per token that a layer keeps for its gradient: the inputs of norms, products, attention, dropout
// and the activation, and the layer's result.
double kept_by_layer(const StepQuestion& question) {
  const ModelSpec& model = question.model;
  const double hidden = static_cast<double>(model.hidden);
  const std::int64_t per_head = model.head_dim + model.values();  // features of its query and its result
  const std::int64_t keys = model.is_latent() ? model.heads / question.tp : question.kv_heads();
  const double attention = static_cast<double>((model.heads / question.tp + keys) * per_head +
                                               (model.is_latent() ? model.latent_features() : 0));
  const int halves = model.gates() ? 2 : 1;
  const double ffn = static_cast<double>(model.first_ffn() + halves * model.ffn);
  const double shared = static_cast<double>(model.first_shared_ffn() + halves * model.shared_ffn);
  const double used = model.experts == 0 ? 1.0 : static_cast<double>(model.experts_used);
  double copies = 0.0;  // of tokens: results of experts, which are weighted, and what their products take
  if (model.experts > 0) {
    copies = used / (question.routes_shares() ? question.tp : 1);
    // Compiled kernels take the tokens of their own GPU without a copy.
    if (question.kernels == Kernels::eager || question.ep > 1) copies += used * question.expert_tp() / question.tp;
  }
  return (4.0 + copies) * hidden + attention + (used * ffn + shared) / question.tp;
}

sim::Bytes activations_of(const StepQuestion& question, int stage) {
  // Stage s starts pp - s micro-batches before it computes the first gradient.
  const double held = question.trains() ? std::min(question.pp - stage, question.micro) : 1;
  const double tokens = static_cast<double>(question.new_tokens()) / question.micro / question.cp;
  const double layers = held * static_cast<double>(question.layers_of(stage));
  const sim::Bytes element = size_of(question.activation_format());
  sim::Bytes of_layer;
  sim::Bytes of_layers;
  for (const LayerGroup& group : question.groups(most_layers, stage)) {
    if (group.layers == 0) continue;
    const sim::Bytes of_this = tokens * kept_by_layer(group.question) * element;
    of_layer = std::max(of_layer, of_this);
    of_layers += held * static_cast<double>(group.layers) * of_this;
  }
  const sim::Bytes stream = tokens * static_cast<double>(question.model.hidden) * element;
  const bool scores_all = question.phase == Phase::train && !question.layers && stage == question.pp - 1;
  const double scored = scores_all ? tokens * question.model.scored : 0.0;
  const sim::Bytes scores =
      scored * static_cast<double>(question.model.vocabulary) / question.tp * (element + single_precision);
  if (!question.trains()) return of_layer + scores;
  return scores + (question.recompute ? layers * stream + of_layer : of_layers);
}

}  // namespace

std::vector<AlikeWeights> alike_weights(const StepQuestion& question) {
  const ModelSpec& model = question.model;
  const double experts = static_cast<double>(model.expert_parameters()) / (question.ep * question.expert_tp());
  const double in_whole = static_cast<double>(model.whole_parameters());
  const double shared = static_cast<double>(model.shared_parameters());
  const double shared_out =
      static_cast<double>(model.layer_parameters() - model.expert_parameters()) - shared - in_whole;
  std::vector<AlikeWeights> all{{"", in_whole + (shared_out + shared) / question.tp, question.replicas()}};
  if (model.experts > 0 && question.expert_replicas() == question.replicas()) {
    all.front().count += experts;
  } else if (model.experts > 0) {
    all.push_back({alike_experts, experts, question.expert_replicas()});
  }
  if (model.experts > 0 && question.routes_shares()) {
    const double router = static_cast<double>(model.router_parameters());
    all.front().count -= router + shared / question.tp;
    all.push_back({alike_router, router + shared, question.stage_gpus()});
  }
  // Each GPU has at least one head of keys and values, so that several have the same one if tp exceeds their number.
  if (const int gpus_of_head = question.gpus_of_kv_head(); gpus_of_head > 1) {
    const double of_head = static_cast<double>(model.key_parameters() / model.kv_heads);
    all.front().count -= of_head / gpus_of_head;
    all.push_back({alike_keys, of_head, question.replicas() * gpus_of_head});
  }
  return all;
}

double layer_weights(const StepQuestion& question) {
  double sum = 0.0;
  for (const AlikeWeights& alike : alike_weights(question)) sum += alike.count;
  return sum;
}

double end_weights(const StepQuestion& question) {
  return question.layers ? 0.0 : static_cast<double>(question.model.end_parameters()) / question.tp;
}

double head_weights(const StepQuestion& question) {
  const double words = static_cast<double>(question.model.vocabulary);
  return question.layers ? 0.0 : words * static_cast<double>(question.model.hidden) / question.tp;
}

double end_share(const StepQuestion& question) { return question.pp == 1 || question.model.tied ? 1.0 : 0.5; }

namespace {

StepMemory memory_of_stage(const StepQuestion& question, int stage) {
  const bool shares = question.shard == Shard::full;
  const bool is_end = stage == 0 || stage == question.pp - 1;
  const double ends_in_whole = (is_end ? end_share(question) : 0.0) * end_weights(question);
  const double ends = ends_in_whole / (shares ? question.replicas() : 1);
  double of_layers = 0.0;
  double gathered = 0.0;  // of the largest layer, with full sharding
  double cached = 0.0;    // features of all tokens and layers
  for (const auto& [of_kind, prefix, count] : question.groups(most_layers, stage)) {
    if (count == 0) continue;
    const double layers = static_cast<double>(count);
    double of_layer = 0.0;
    for (const AlikeWeights& alike : alike_weights(of_kind)) {
      of_layers += layers * alike.count / (shares ? alike.holders : 1);
      if (shares && alike.holders > 1) of_layer += alike.count;
    }
    gathered = std::max(gathered, of_layer);
    const ModelSpec& model = of_kind.model;
    cached += layers * static_cast<double>(of_kind.cached_features()) *
              static_cast<double>(question.batch * model.seen(question.context + question.tokens) +
                                  question.decoding * model.seen(question.decoding_context + 1));
  }
  const double kept = ends + of_layers;
  const sim::Bytes element = question.weight_element();
  StepMemory memory;
  // Automatic mixed precision keeps weights in single precision and casts them product by product. With full sharding,
  // two layers at a time are gathered; embedding and head stay gathered, and their gradients are scattered last.
  memory.weights = question.phase == Phase::train && !shares ? kept * single_precision
                                                             : of_layers * element + ends * question.end_element();
  memory.weights += std::min(2.0, static_cast<double>(question.layers_of(stage))) * gathered * element;
  const double gathered_ends = shares ? ends_in_whole : 0.0;
  memory.weights += gathered_ends * question.end_element();
  if (question.trains()) memory.gradients = (kept + gathered_ends) * question.gradient_element();
  if (question.trains() && question.optimizer != Optimizer::none) {
    const double copies = shares && element < single_precision ? 3.0 : 2.0;
    memory.states = copies * kept * single_precision;
  }
  memory.activations = activations_of(question, stage);
  if (question.phase != Phase::train) memory.cache = cached / question.cp * size_of(question.cache_format());
  return memory;
}

}  // namespace

StepMemory memory_of(const StepQuestion& question) {
  StepMemory most = memory_of_stage(question, 0);
  for (int stage = 1; stage < question.pp; ++stage) {
    const StepMemory memory = memory_of_stage(question, stage);
    if (memory.total() > most.total()) most = memory;
  }
  return most;
}

std::string to_string(const StepMemory& memory) {
  std::string text;
  const std::array<std::pair<const char*, sim::Bytes>, 5> parts{{{"weights", memory.weights},
                                                                 {"gradients", memory.gradients},
                                                                 {"states", memory.states},
                                                                 {"activations", memory.activations},
                                                                 {"cache", memory.cache}}};
  for (const auto& [name, bytes] : parts) {
    if (bytes <= sim::Bytes(0.0)) continue;
    text += fmt::format("{}{} {:.1f} GB", text.empty() ? "" : ", ", name, bytes.value() / 1e9);
  }
  return text;
}

}  // namespace c3sim::study
