#include "study/program/step_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

namespace c3sim::study {

namespace {

sim::Bytes activations_of(const StepQuestion& question, int stage, const LayerTemplates& templates) {
  // Stage s starts pp - s micro-batches before it computes the first gradient.
  const double held = question.trains() ? std::min(question.pp - stage, question.micro) : 1;
  const double tokens = static_cast<double>(question.new_tokens()) / question.micro / question.cp;
  const double layers = held * static_cast<double>(question.layers_of(stage));
  const sim::Bytes element = size_of(question.activation_format());
  sim::Bytes of_layer;
  sim::Bytes of_layers;
  for (const LayerGroup& group : question.groups(most_layers, stage)) {
    if (group.layers == 0) continue;
    const sim::Bytes of_this = tokens * elements_of(tensors_of_layer(group.question, templates, "kept")) * element;
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

StepMemory memory_of_stage(const StepQuestion& question, int stage, const LayerTemplates& templates) {
  const bool shares = question.shard == Shard::full;
  const bool is_end = stage == 0 || stage == question.pp - 1;
  const double ends_in_whole = is_end ? question.end_share() * elements_of(end_weights(question, templates)) : 0.0;
  const double ends = ends_in_whole / (shares ? question.replicas() : 1);
  double of_layers = 0.0;
  double gathered = 0.0;  // of the largest layer, with full sharding
  double cached = 0.0;    // features of all tokens and layers
  for (const auto& [of_kind, prefix, count] : question.groups(most_layers, stage)) {
    if (count == 0) continue;
    const double layers = static_cast<double>(count);
    double of_layer = 0.0;
    for (const AlikeWeights& alike : alike_weights(of_kind, templates)) {
      of_layers += layers * alike.count / (shares ? alike.holders : 1);
      if (shares && alike.holders > 1) of_layer += alike.count;
    }
    gathered = std::max(gathered, of_layer);
    cached += layers * elements_of(tensors_of_layer(of_kind, templates, "cache"));
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
  memory.activations = activations_of(question, stage, templates);
  if (question.phase != Phase::train) memory.cache = cached * size_of(question.cache_format());
  return memory;
}

// Reads off how a tensor grows by its elements for a number of tokens. One that has its size from some length on grows
// evenly up to that length; any other goes on growing as it does in the end.
CachedTensor grown(std::int64_t layers, sim::Bytes element,
                   const std::function<double(std::int64_t tokens)>& elements_at) {
  const double whole = elements_at(most_positions);
  CachedTensor tensor{.layers = layers};
  std::int64_t from = most_positions / 2;
  std::int64_t to = most_positions;
  if (elements_at(from) == whole) {
    to = std::exchange(from, 0);
    while (to - from > 1) {
      const std::int64_t middle = from + (to - from) / 2;
      (elements_at(middle) == whole ? to : from) = middle;
    }
    from = 1;
    tensor.window = to > from ? to : 0;
  }
  const double of_token = to > from ? (whole - elements_at(from)) / static_cast<double>(to - from) : 0.0;
  tensor.of_token = of_token * element;
  tensor.of_sequence = std::max(0.0, whole - of_token * static_cast<double>(to)) * element;
  return tensor;
}

}  // namespace

std::vector<CachedTensor> cached_tensors(StepQuestion question, const LayerTemplates& templates) {
  question.phase = Phase::decode;
  question.batch = question.tokens = 1;
  question.decoding = 0;
  std::vector<CachedTensor> all;
  for (LayerGroup& group : question.groups()) {
    const auto tensors_at = [&](std::int64_t tokens) {
      group.question.context = tokens - 1;
      return tensors_of_layer(group.question, templates, "cache");
    };
    const std::vector<Tensor> most = tensors_at(most_positions);
    for (std::size_t place = 0; place < most.size(); ++place) {
      all.push_back(grown(group.layers, size_of(question.cache_format()), [&](std::int64_t tokens) {
        const std::vector<Tensor> tensors = tensors_at(tokens);
        return tensors.size() == most.size() ? tensors[place].elements : 0.0;
      }));
    }
  }
  return all;
}

StepMemory memory_of(const StepQuestion& question, const LayerTemplates& templates) {
  StepMemory most = memory_of_stage(question, 0, templates);
  for (int stage = 1; stage < question.pp; ++stage) {
    const StepMemory memory = memory_of_stage(question, stage, templates);
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
