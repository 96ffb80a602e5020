#include "study/program/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/check.h"
#include "study/network/step_memory.h"
#include "study/program/layer_templates.h"

namespace c3sim::study {

namespace {

constexpr auto weight_stream = "weights";
constexpr auto gradient_stream = "gradients";
// Collectives of one communicator take turns, whatever their streams: first the gather of the layer before, then the
// reduction of this layer's gradients.
constexpr auto reduction = "reduce_gradients";
constexpr auto end_reduction = "reduce_ends";
constexpr auto head_reduction = "reduce_head";
// PyTorch's DistributedDataParallel fills a bucket with whole gradients as they come until it has this many bytes
// (bucket_cap_mb); the first bucket is smaller.
constexpr double mebibyte = 1 << 20;
constexpr sim::Bytes bucket{25.0 * mebibyte};
constexpr sim::Bytes first_bucket{1.0 * mebibyte};

// A Bucket holds gradients of a layer that are reduced together, once the gradient of product `behind` is complete.
struct Bucket {
  std::string name;
  double weights = 0.0;
  int gpus = 1;
  std::string behind;
};

struct Tensor {
  const char* of;  // the product that gives its gradient
  double weights = 0.0;
};

// Returns the tensors of one expert, the last first.
std::vector<Tensor> tensors_of_expert(const ModelSpec& model, int shares) {
  const double each = elements_of(model.ffn, model.hidden) / shares;
  std::vector<Tensor> tensors{{"down", each}, {"up", each}};
  if (model.first_ffn() > model.ffn) tensors.push_back({"up", each});  // gates are a separate tensor
  return tensors;
}

// Returns the tensors of weights that the same GPUs hold alike, in the order in which their gradients are complete.
std::vector<Tensor> tensors_of(const StepQuestion& question, const AlikeWeights& alike, bool has_experts) {
  const ModelSpec& model = question.model;
  const double hidden = static_cast<double>(model.hidden);
  const double heads = static_cast<double>(question.kv_heads());
  const std::vector<Tensor> keys{{"qkv", hidden * heads * static_cast<double>(model.values())},
                                 {"qkv", hidden * heads * static_cast<double>(model.head_dim)}};
  if (alike.of == alike_keys) return keys;
  const bool is_dense = model.experts == 0;
  std::vector<Tensor> tensors;
  const std::int64_t count = is_dense ? 1 : has_experts ? model.experts / question.ep : 0;
  for (std::int64_t expert = 0; expert < count; ++expert) {
    const std::vector<Tensor> more = tensors_of_expert(model, is_dense ? question.tp : question.expert_tp());
    tensors.insert(tensors.end(), more.begin(), more.end());
  }
  if (alike.of == alike_experts) return tensors;
  const bool is_of_router = alike.of == alike_router;
  if (is_of_router) tensors.push_back({"router", static_cast<double>(model.router_parameters())});
  if (model.shared_ffn > 0 && is_of_router == question.routes_shares()) {
    const double each = elements_of(model.hidden, model.shared_ffn) / (is_of_router ? 1 : question.tp);
    tensors.insert(tensors.end(), {{"shared_down", each}, {"shared_up", (model.gates() ? 2.0 : 1.0) * each}});
  }
  if (is_of_router) return tensors;
  const double results = hidden * static_cast<double>(model.heads * model.values()) / question.tp;
  const double queries = static_cast<double>(model.query_features()) / question.tp;
  std::vector<Tensor> attention{{"out", results}};
  if (model.is_latent()) {
    const double rank = static_cast<double>(model.kv_rank);
    attention.push_back({"key_up", rank * static_cast<double>(model.heads * model.latent_head()) / question.tp});
    attention.push_back(
        {"query_up", queries * (model.query_rank > 0 ? static_cast<double>(model.query_rank) : hidden)});
    attention.push_back({"latent", hidden * static_cast<double>(model.latent_features())});
  } else {
    if (question.gpus_of_kv_head() == 1) attention.insert(attention.end(), keys.begin(), keys.end());
    attention.push_back({"qkv", hidden * queries});
  }
  tensors.insert(tensors.end(), attention.begin(), attention.end());
  return tensors;
}

// Returns the buckets of a layer. A remainder, which would go to the next layer, is a bucket, too. All layers have the
// same buckets, so that the smaller first bucket exists only for the head.
std::vector<Bucket> buckets_of(const StepQuestion& question) {
  std::vector<Bucket> buckets;
  for (const AlikeWeights& alike : alike_weights(question)) {
    if (alike.holders == 1) continue;
    int number = 0;
    bool is_full = true;
    double left = alike.count;  // in the end norms and biases
    const bool experts_apart = question.expert_replicas() != question.replicas();
    for (const Tensor& tensor : tensors_of(question, alike, alike.of == (experts_apart ? alike_experts : ""))) {
      if (is_full) {
        buckets.push_back({fmt::format("reduce_{}bucket{}", alike.of, number++), 0.0, alike.holders, ""});
      }
      buckets.back().weights += tensor.weights;
      buckets.back().behind = tensor.of;
      is_full = buckets.back().weights * question.gradient_element() >= bucket;
      left -= tensor.weights;
    }
    buckets.back().weights += left;
  }
  return buckets;
}

// Returns whether the head's gradient, which is one tensor, is reduced as the first bucket while layers compute theirs.
bool reduces_head(const StepQuestion& question) {
  return question.trains() && !question.layers && !question.has_turns() && question.shard == Shard::none &&
         question.replicas() > 1 && !question.model.tied &&
         head_weights(question) * question.gradient_element() >= first_bucket;
}

}  // namespace

std::vector<Gather> write_gather(StepWriter& writer, const std::string& prefix) {
  const StepQuestion& question = writer.question();
  std::vector<Gather> gathers;
  for (const AlikeWeights& alike : alike_weights(question)) {
    if (alike.holders == 1) continue;
    const std::string name = prefix + alike.of;
    Gather one{alike.of, operate(writer, name + "copy_in", Kind::copy, "cast_down", alike.count / alike.holders), {}};
    writer.queue_on(weight_stream);
    one.gather = writer.collective(name + "gather", models::CollectiveKind::all_gather,
                                   alike.count * question.weight_element(), alike.holders, weight_stream);
    operate(writer, name + "copy_out", Kind::copy, "copy", alike.count);
    writer.wait(one.gather);
    gathers.push_back(std::move(one));
  }
  return gathers;
}

void wait_for_layer_before(StepWriter& writer, const std::vector<Gather>& gathers, const Written& last) {
  for (const Gather& one : gathers) writer.wait(one.copy_in, last, -2);
}

std::vector<Written> write_reduction(StepWriter& writer, const std::vector<Gather>& gathers,
                                     const std::vector<ProductGradients>& gradients) {
  const StepQuestion& question = writer.question();
  std::vector<Written> reductions;
  if (question.shard == Shard::full) {
    for (const AlikeWeights& alike : alike_weights(question)) {
      if (alike.holders == 1) continue;
      const Written copied = operate(writer, alike.of + "gradient_copy_in", Kind::copy, "cast_up", alike.count);
      reductions.push_back(writer.collective(alike.of + reduction, models::CollectiveKind::reduce_scatter,
                                             alike.count * question.gradient_element(), alike.holders,
                                             gradient_stream));
      writer.wait(copied);
      // Collectives of one communicator take turns: the gather of the next layer, then this reduction.
      for (const Gather& one : gathers) {
        if (one.of != alike.of) continue;
        if (alike.of.empty()) writer.wait(one.gather, 1);
        writer.wait(one.gather, reductions.back(), -2);
      }
    }
    return reductions;
  }
  for (const Bucket& one : buckets_of(question)) {
    reductions.push_back(writer.collective(one.name, models::CollectiveKind::all_reduce,
                                           one.weights * question.gradient_element(), one.gpus, gradient_stream));
    const auto of = std::ranges::find(gradients, one.behind, &ProductGradients::of);
    SIM_CHECK(of != gradients.end());
    writer.wait(of->weights);
    writer.wait(of->input);
  }
  return reductions;
}

Written write_head_reduction(StepWriter& writer, const Written& head_weights_gradient) {
  const StepQuestion& question = writer.question();
  if (!reduces_head(question)) return {};
  Written reduced =
      writer.collective(head_reduction, models::CollectiveKind::all_reduce,
                        head_weights(question) * question.gradient_element(), question.replicas(), gradient_stream);
  writer.wait_for_all(head_weights_gradient);
  return reduced;
}

void write_reduction_of_turns(StepWriter& writer, std::span<const LayerGroup> groups, double ends) {
  const StepQuestion& question = writer.question();
  double of_ends_left = ends * end_weights(question);
  for (const LayerGroup& group : groups) {
    if (group.layers == 0) continue;
    for (const AlikeWeights& alike : alike_weights(group.question)) {
      const double of_ends = alike.of.empty() ? std::exchange(of_ends_left, 0.0) : 0.0;
      writer.collective(group.prefix + alike.of + reduction, models::CollectiveKind::all_reduce,
                        (static_cast<double>(group.layers) * alike.count + of_ends) * question.gradient_element(),
                        alike.holders);
    }
  }
}

void write_end_gather(StepWriter& writer) {
  const StepQuestion& question = writer.question();
  if (question.shard != Shard::full) return;
  const double weights = end_weights(question);
  operate(writer, "ends_copy_in", Kind::copy, "cast_down", weights / question.replicas());
  writer.collective("ends_gather", models::CollectiveKind::all_gather, weights * question.end_element(),
                    question.replicas());
  operate(writer, "ends_copy_out", Kind::copy, "copy", weights);
}

void write_end_reduction(StepWriter& writer) {
  const StepQuestion& question = writer.question();
  const bool shares = question.shard == Shard::full;
  const double weights = end_weights(question) - (reduces_head(question) ? head_weights(question) : 0.0);
  writer.collective(end_reduction, shares ? models::CollectiveKind::reduce_scatter : models::CollectiveKind::all_reduce,
                    weights * question.gradient_element(), question.replicas());
}

void write_update(StepWriter& writer, std::span<const LayerGroup> groups, const std::vector<Written>& reductions,
                  double ends) {
  const StepQuestion& question = writer.question();
  if (question.optimizer == Optimizer::none) return;
  const bool shares = question.shard == Shard::full;
  double own = ends * end_weights(question) / (shares ? question.replicas() : 1);
  for (const LayerGroup& group : groups) {
    for (const AlikeWeights& alike : alike_weights(group.question)) {
      own += static_cast<double>(group.layers) * alike.count / (shares ? alike.holders : 1);
    }
  }
  writer.templates().write(writer, question.optimizer == Optimizer::lamb ? "lamb" : "adam", {{"weights", own}});
  for (const Written& reduced : reductions) {
    if (reduced) writer.first_waits_for(*reduced);
  }
}

}  // namespace c3sim::study
