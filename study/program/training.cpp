#include "study/program/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/check.h"
#include "study/network/step_memory.h"
#include "study/program/layer.h"

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

// PyTorch's autograd runs these kernels for a composed RMS norm (a profiler's trace of training on one GPU, PyTorch
// 2.11): gradients of its input and weights, in single precision. Those with "row_" handle one number per row.
constexpr std::array<std::pair<const char*, const char*>, 14> composed_norm{{{"times_normed", "mul"},
                                                                             {"times_weights", "mul_broadcast"},
                                                                             {"weight_sums", "column_sums"},
                                                                             {"times_input", "mul"},
                                                                             {"times_root", "mul_broadcast"},
                                                                             {"root_sums", "column_sums"},
                                                                             {"row_cube", "scale"},
                                                                             {"row_half", "scale"},
                                                                             {"row_product", "mul"},
                                                                             {"mean", "mul_broadcast"},
                                                                             {"clone", "copy"},
                                                                             {"double", "scale"},
                                                                             {"square", "mul"},
                                                                             {"sum", "add"}}};

// The Form of a product's gradients.
struct Form {
  bool plain = false;   // in the format of the stream
  bool summed = false;  // the gradient of its input is added up over the tp GPUs next
};

// Backward writes the gradients of a layer's products, norms and activations, the last first.
class Backward {
 public:
  explicit Backward(StepWriter& writer)
      : writer_(writer), model_(writer.model()), tokens_(writer.tokens()), mixes_(writer.question().mixes()) {}

  std::vector<ProductGradients> write() {
    feed_forward();
    attention_half();
    return std::move(gradients_);
  }

 private:
  double stream_elements() const { return elements_of(tokens_, model_.hidden); }

  // Writes both gradients of a product, and the cast of the weight gradient.
  void product(const std::string& of, std::int64_t out, std::int64_t in, std::int64_t tokens, std::int64_t products = 1,
               Form form = {}) {
    using models::Layout;
    const Written input = writer_.product(
        of + "_input_gradient",
        {.m = in, .n = tokens, .k = out, .products = products, .layout = Layout::input_gradient}, form.plain);
    if (form.summed) writer_.reduce_last();
    Written weights = writer_.product(
        of + "_weight_gradient",
        {.m = out, .n = in, .k = tokens, .products = products, .layout = Layout::weight_gradient}, form.plain);
    if (model_.biases || (of == "qkv" && model_.qkv_biases)) {
      writer_.operate(of + "_bias_gradient", Kind::elementwise, "column_sums", elements_of(tokens * products, out));
    }
    if (mixes_) {
      weights = writer_.operate(of + "_gradient_cast", Kind::copy, "cast_up",
                                elements_of(out, in) * static_cast<double>(products));
    }
    gradients_.push_back({of, input, weights});
  }
  void residual(const std::string& of) {
    if (model_.dropout > 0.0) {
      writer_.operate(of + "_dropout_gradient", Kind::elementwise, "dropout_backward", stream_elements());
    }
    if (writer_.question().wide_stream()) {
      writer_.operate(of + "_residual_cast", Kind::copy, "cast_down", stream_elements());
    }
  }
  void normalise(const std::string& of) {
    if (mixes_) writer_.operate(of + "_gradient_cast_up", Kind::copy, "cast_up", stream_elements());
    if (writer_.composes_norms()) {
      for (const auto& [name, operation] : composed_norm) {
        const bool of_rows = std::string_view(name).starts_with("row_");
        writer_.operate(of + "_gradient_" + name, Kind::elementwise, operation,
                        of_rows ? elements_of(tokens_, 1) : stream_elements(), single_precision);
      }
      writer_.operate(of + "_cast_down", Kind::copy, "cast_down", stream_elements());
    } else {
      writer_.operate(of + "_gradient", Kind::norm, "norm_backward", stream_elements(), writer_.stream_element(),
                      model_.hidden);
      writer_.operate(of + "_weight_gradient", Kind::elementwise, "norm_weights", stream_elements(),
                      writer_.stream_element());
    }
    writer_.operate(of + "_residual_gradient", Kind::elementwise, "add", stream_elements(), writer_.stream_element());
  }

  void feed_forward() {
    residual("down");
    if (model_.after_norms) normalise("down_norm");
    if (model_.experts == 0) {
      const std::int64_t ffn = writer_.share(model_.ffn);
      product("down", model_.hidden, ffn, tokens_);
      activation(elements_of(tokens_, ffn));
      product("up", writer_.share(model_.first_ffn()), model_.hidden, tokens_, 1, {.summed = true});
    } else {
      experts();
    }
    if (writer_.routes_shares()) {
      writer_.gather_tokens("up_gradient");
    } else {
      writer_.add_up("up_gradient", stream_elements(), model_.experts == 0);
    }
    normalise("ffn_norm");
  }

  // Writes the gradient of the experts, and the way back of the tokens' copies.
  void experts() {
    const Experts experts = experts_of(writer_);
    const std::int64_t routed = writer_.tokens_to_route();
    const double elements = elements_of(experts.sent, model_.hidden);
    writer_.operate("unpermute_gradient", Kind::copy, "copy", elements);
    write_dispatch(writer_, "combine_gradient", experts);
    writer_.count_products(experts.of_model);
    product("down", model_.hidden, experts.ffn, experts.tokens, experts.busy);
    activation(elements_of(experts.copies, experts.ffn));
    product("up", model_.first_ffn() / model_.ffn * experts.ffn, model_.hidden, experts.tokens, experts.busy);
    writer_.count_products(1.0);
    write_combine(writer_, "dispatch_gradient", experts);
    writer_.operate("permute_gradient", Kind::elementwise, "add", elements);
    writer_.operate("router_choice_gradient", Kind::softmax, "route", elements_of(routed, model_.experts), {},
                    model_.experts);
    product("router", model_.experts, model_.hidden, routed, 1, {.plain = true});
    if (model_.shared_ffn == 0) return;
    const std::int64_t tokens = writer_.routes_shares() ? routed : tokens_;
    const std::int64_t ffn = writer_.shared_ffn();
    product("shared_down", model_.hidden, ffn, tokens);
    activation(elements_of(tokens, ffn), "shared_");
    product("shared_up", model_.first_shared_ffn() / model_.shared_ffn * ffn, model_.hidden, tokens);
    writer_.operate("shared_add_gradient", Kind::elementwise, "add", elements_of(tokens, model_.hidden));
  }

  void activation(double elements, const std::string& of = "") {
    if (model_.gates()) {
      writer_.operate(of + "gated_gradient", Kind::elementwise, "mul_strided", elements);
      writer_.operate(of + "gate_value_gradient", Kind::elementwise, "mul", elements);
      writer_.operate(of + "gate_gradient", Kind::elementwise, "silu_strided", elements);
      writer_.operate(of + "gate_join", Kind::copy, "copy", 2.0 * elements);
    } else {
      writer_.operate(of + "activation_gradient", Kind::elementwise,
                      model_.feed == Feed::gelu ? "gelu_backward" : "relu_backward", elements);
    }
  }

  void attention_half() {
    const StepQuestion& question = writer_.question();
    const std::int64_t queries = writer_.share(model_.query_features());
    const std::int64_t results = writer_.share(model_.heads * model_.values());
    const std::int64_t keys = model_.is_latent() ? writer_.share(model_.heads) * (model_.head_dim + model_.values())
                                                 : question.cached_features();
    residual("out");
    if (model_.after_norms) normalise("out_norm");
    product("out", model_.hidden, results, tokens_);
    writer_.operate("attention_sums", Kind::elementwise, "row_dots", elements_of(tokens_, results));
    // A GPU keeps the keys and values of its own tokens only, unless it has just gathered those of all to compute
    // again.
    if (!question.recompute) writer_.share_keys("backward_keys_all_gather", models::CollectiveKind::all_gather);
    writer_.attention("attention_gradient", true);
    writer_.operate("attention_convert", Kind::copy, "cast_down",
                    elements_of(tokens_, queries) + elements_of(question.tokens_with_keys(), keys));
    if (model_.is_latent()) {
      latent(queries);
    } else {
      share_keys();
      if (model_.query_norm != QueryNorm::none) {
        normalise_features("query_norm", queries);
        normalise_features("key_norm", question.kv_heads() * model_.head_dim);
      }
      join(elements_of(tokens_, queries + keys));
      product("qkv", queries + keys, model_.hidden, tokens_, 1, {.summed = true});
      writer_.add_up("qkv_gradient", stream_elements(), true);
    }
    normalise("attention_norm");
  }

  // Adds up gradients of keys and values over the parts of a sequence, and gives each GPU those of its own tokens.
  void share_keys() { writer_.share_keys("keys_reduce_scatter", models::CollectiveKind::reduce_scatter); }

  // Each GPU has keys of all tokens for its heads. Gradients of what heads share, which each GPU projects in whole, are
  // added up before they reach these projections.
  void latent(std::int64_t queries) {
    const std::int64_t with_keys = writer_.question().tokens_with_keys();
    product("key_up", writer_.share(model_.heads) * model_.latent_head(), model_.kv_rank, with_keys, 1,
            {.summed = true});
    writer_.add_up("key_up_gradient", elements_of(with_keys, model_.cached_features()), true);
    share_keys();
    const std::int64_t rank = model_.query_rank > 0 ? model_.query_rank : model_.hidden;
    product("query_up", queries, rank, tokens_, 1, {.summed = true});
    writer_.add_up("query_up_gradient", elements_of(tokens_, rank), true);
    normalise_features("key_norm", model_.kv_rank);
    if (model_.query_rank > 0) normalise_features("query_norm", model_.query_rank);
    product("latent", model_.latent_features(), model_.hidden, tokens_);
  }
  void normalise_features(const std::string& of, std::int64_t features) {
    const double elements = elements_of(tokens_, features);
    writer_.operate(of + "_gradient", Kind::norm, "norm_backward", elements);
    writer_.operate(of + "_weight_gradient", Kind::elementwise, "norm_weights", elements);
  }

  // Joins the gradients of queries, keys and values to one array. Models without rotary positions interleave all three
  // by heads, so that elements are moved one by one, and permuted once more.
  void join(double elements) {
    const bool apart = model_.position == Positions::rotary;
    writer_.operate("qkv_join", Kind::copy, apart ? "copy" : "copy_strided", elements);
    if (!apart) writer_.operate("qkv_permute", Kind::copy, "copy_strided", elements);
  }

  StepWriter& writer_;
  const ModelSpec& model_;
  std::int64_t tokens_;
  bool mixes_;
  std::vector<ProductGradients> gradients_;
};

// A Pass is one kernel of an optimizer over many tensors at once: its name and its operator.
using Pass = std::pair<std::string_view, const char*>;
// PyTorch's foreach AdamW has these passes: decay, both moments, the root of the second, the weights, zeroed gradients.
constexpr std::array<Pass, 9> adam_passes{{{"decay", "scale"},
                                           {"first_moment", "add"},
                                           {"second_moment_decay", "scale"},
                                           {"second_moment", "triad"},
                                           {"root", "scale"},
                                           {"correction", "scale"},
                                           {"epsilon", "scale"},
                                           {"weights", "triad"},
                                           {"zero", "fill"}}};
// LAMB (You et al., arXiv 1904.00962) scales the update by the norms of weights and update, tensor by tensor. Adam's
// update is written to a separate array and added last.
constexpr std::array<Pass, 5> lamb_passes{{{"weight_norm", "squares"},
                                           {"update_norm", "squares"},
                                           {"update_decay", "add"},
                                           {"trust", "scale"},
                                           {"apply", "add"}}};

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
    Gather one{alike.of, writer.operate(name + "copy_in", Kind::copy, "cast_down", alike.count / alike.holders), {}};
    writer.queue_on(weight_stream);
    one.gather = writer.collective(name + "gather", models::CollectiveKind::all_gather,
                                   alike.count * question.weight_element(), alike.holders, weight_stream);
    writer.operate(name + "copy_out", Kind::copy, "copy", alike.count);
    writer.wait(one.gather);
    gathers.push_back(std::move(one));
  }
  return gathers;
}

void wait_for_layer_before(StepWriter& writer, const std::vector<Gather>& gathers, const Written& last) {
  for (const Gather& one : gathers) writer.wait(one.copy_in, last, -2);
}

std::vector<ProductGradients> write_backward(StepWriter& writer) { return Backward(writer).write(); }

std::vector<Written> write_reduction(StepWriter& writer, const std::vector<Gather>& gathers,
                                     const std::vector<ProductGradients>& gradients) {
  const StepQuestion& question = writer.question();
  std::vector<Written> reductions;
  if (question.shard == Shard::full) {
    for (const AlikeWeights& alike : alike_weights(question)) {
      if (alike.holders == 1) continue;
      const Written copied = writer.operate(alike.of + "gradient_copy_in", Kind::copy, "cast_up", alike.count);
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
  writer.operate("ends_copy_in", Kind::copy, "cast_down", weights / question.replicas());
  writer.collective("ends_gather", models::CollectiveKind::all_gather, weights * question.end_element(),
                    question.replicas());
  writer.operate("ends_copy_out", Kind::copy, "copy", weights);
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
  std::vector<Pass> passes(adam_passes.begin(), adam_passes.end());
  if (question.optimizer == Optimizer::lamb) passes.insert(passes.end(), lamb_passes.begin(), lamb_passes.end());
  for (const auto& [name, operation] : passes) {
    writer.operate(fmt::format("update_{}", name), Kind::optimizer, operation, own, single_precision);
    if (name != passes.front().first) continue;
    for (const Written& reduced : reductions) writer.wait_for_all(reduced);
  }
}

}  // namespace c3sim::study
