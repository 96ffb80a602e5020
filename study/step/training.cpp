#include "study/step/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "study/step/layer.h"
#include "study/step/step_memory.h"

namespace c3sim::study {

namespace {

constexpr auto weight_stream = "weights";
constexpr auto gradient_stream = "gradients";
// Collectives of one communicator take turns, whatever streams they are queued on: the weights of the layer before, and
// then the gradients of this one.
constexpr auto reduction = "reduce_gradients";
constexpr auto end_reduction = "reduce_ends";
constexpr auto head_reduction = "reduce_head";
// Of gradients, which PyTorch's DistributedDataParallel fills with whole tensors as they come until there are so many
// bytes (bucket_cap_mb); the first is complete sooner.
constexpr double mebibyte = 1 << 20;
constexpr sim::Bytes bucket{25.0 * mebibyte};
constexpr sim::Bytes first_bucket{1.0 * mebibyte};

// What PyTorch's autograd makes of an RMS norm that it composed (a profiler's trace of training on one GPU, PyTorch
// 2.11): of what was given to it, and of its weights. In single precision; "row_": of one number of each row.
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

// Gradients of the products, norms and activations of a layer, the last first.
class Backward {
 public:
  explicit Backward(StepWriter& writer)
      : writer_(writer), model_(writer.model()), tokens_(writer.tokens()), mixes_(writer.question().mixes()) {}

  void write() {
    feed_forward();
    attention_half();
  }

 private:
  double stream_elements() const { return elements_of(tokens_, model_.hidden); }

  // Both gradients of a product, and the cast of that of the weights.
  void product(const std::string& of, std::int64_t out, std::int64_t in, std::int64_t tokens,
               std::int64_t products = 1) {
    writer_.input_gradient(of + "_input_gradient", out, in, tokens, products);
    if (of == "qkv" || (of == "up" && model_.experts == 0)) writer_.reduce_last();
    writer_.weight_gradient(of + "_weight_gradient", out, in, tokens, products);
    if (model_.biases || (of == "qkv" && model_.qkv_biases)) {
      writer_.operate(of + "_bias_gradient", Kind::elementwise, "column_sums", elements_of(tokens_, out));
    }
    if (mixes_) {
      writer_.operate(of + "_gradient_cast", Kind::copy, "cast_up",
                      elements_of(out, in) * static_cast<double>(products));
    }
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
  void add_up(const std::string& of, bool reduced) { writer_.add_up(of + "_gradient", stream_elements(), reduced); }

  void feed_forward() {
    residual("down");
    if (model_.experts == 0) {
      const std::int64_t ffn = writer_.share(model_.ffn);
      product("down", model_.hidden, ffn, tokens_);
      activation(elements_of(tokens_, ffn));
      product("up", writer_.share(model_.first_ffn()), model_.hidden, tokens_);
    } else {
      experts();
    }
    if (writer_.routes_shares()) {
      writer_.gather_tokens("up_gradient");
    } else {
      add_up("up", model_.experts == 0);
    }
    normalise("ffn_norm");
  }

  // The way back of the tokens' copies.
  void experts() {
    const Experts experts = experts_of(writer_);
    const std::int64_t routed = writer_.tokens_to_route();
    const double elements = elements_of(experts.sent, model_.hidden);
    writer_.operate("unpermute_gradient", Kind::copy, "copy", elements);
    write_dispatch(writer_, "combine_gradient", experts);
    product("down", model_.hidden, experts.ffn, experts.tokens, experts.busy);
    activation(elements_of(experts.copies, experts.ffn));
    product("up", model_.first_ffn() / model_.ffn * experts.ffn, model_.hidden, experts.tokens, experts.busy);
    write_combine(writer_, "dispatch_gradient", experts);
    writer_.operate("permute_gradient", Kind::elementwise, "add", elements);
    writer_.operate("router_choice_gradient", Kind::softmax, "route", elements_of(routed, model_.experts), {},
                    model_.experts);
    product("router", model_.experts, model_.hidden, routed);
  }

  void activation(double elements) {
    if (model_.feed == Feed::swiglu) {
      writer_.operate("gated_gradient", Kind::elementwise, "mul_strided", elements);
      writer_.operate("gate_value_gradient", Kind::elementwise, "mul", elements);
      writer_.operate("gate_gradient", Kind::elementwise, "silu_strided", elements);
      writer_.operate("gate_join", Kind::copy, "copy", 2.0 * elements);
    } else {
      writer_.operate("activation_gradient", Kind::elementwise,
                      model_.feed == Feed::gelu ? "gelu_backward" : "relu_backward", elements);
    }
  }

  void attention_half() {
    const std::int64_t queries = writer_.share(model_.query_features());
    const std::int64_t all = queries + 2 * writer_.kv_features();
    residual("out");
    product("out", model_.hidden, queries, tokens_);
    writer_.operate("attention_sums", Kind::elementwise, "row_dots", elements_of(tokens_, queries));
    writer_.attention("attention_gradient", true);
    writer_.operate("attention_convert", Kind::copy, "cast_down", elements_of(tokens_, all));
    writer_.collective("keys_reduce_scatter", models::CollectiveKind::reduce_scatter,
                       2.0 * elements_of(writer_.question().new_tokens(), writer_.kv_features()) * writer_.element(),
                       writer_.question().cp);
    join(elements_of(tokens_, all));
    product("qkv", all, model_.hidden, tokens_);
    add_up("qkv", true);
    normalise("attention_norm");
  }

  // Gradients of queries, keys and values to that of one product. Without rotary positions, which leave heads apart,
  // models have all three interleaved by heads, so that elements are moved one by one, and moved again.
  void join(double elements) {
    const bool apart = model_.position == Positions::rotary;
    writer_.operate("qkv_join", Kind::copy, apart ? "copy" : "copy_strided", elements);
    if (!apart) writer_.operate("qkv_permute", Kind::copy, "copy_strided", elements);
  }

  StepWriter& writer_;
  const ModelSpec& model_;
  std::int64_t tokens_;
  bool mixes_;
};

// A pass of an optimizer over all weights, by kernels that take many tensors at once, and its operation.
using Pass = std::pair<std::string_view, const char*>;
// PyTorch's foreach AdamW: decay, both moments, the root of the second, and the weights; gradients are set to zero.
constexpr std::array<Pass, 9> adam_passes{{{"decay", "scale"},
                                           {"first_moment", "add"},
                                           {"second_moment_decay", "scale"},
                                           {"second_moment", "triad"},
                                           {"root", "scale"},
                                           {"correction", "scale"},
                                           {"epsilon", "scale"},
                                           {"weights", "triad"},
                                           {"zero", "fill"}}};
// LAMB (You et al., arXiv 1904.00962): the update is scaled by the norms of weights and update, tensor by tensor.
// What Adam adds to the weights is written apart for it, and added last.
constexpr std::array<Pass, 5> lamb_passes{{{"weight_norm", "squares"},
                                           {"update_norm", "squares"},
                                           {"update_decay", "add"},
                                           {"trust", "scale"},
                                           {"apply", "add"}}};

// Gradients of a layer that are added up at once, complete behind the gradient of the product `behind`.
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

// Those of one expert, the last first.
std::vector<Tensor> tensors_of_expert(const ModelSpec& model, int shares) {
  const double each = elements_of(model.ffn, model.hidden) / shares;
  std::vector<Tensor> tensors{{"down", each}, {"up", each}};
  if (model.first_ffn() > model.ffn) tensors.push_back({"up", each});  // gates are a tensor of their own
  return tensors;
}

// Of weights that the same GPUs have alike, in the order in which their gradients come.
std::vector<Tensor> tensors_of(const StepQuestion& question, const AlikeWeights& alike, bool has_experts) {
  const ModelSpec& model = question.model;
  const bool is_dense = model.experts == 0;
  std::vector<Tensor> tensors;
  const std::int64_t count = is_dense ? 1 : has_experts ? model.experts / question.ep : 0;
  for (std::int64_t expert = 0; expert < count; ++expert) {
    const std::vector<Tensor> more = tensors_of_expert(model, is_dense ? question.tp : question.expert_tp());
    tensors.insert(tensors.end(), more.begin(), more.end());
  }
  if (!alike.of.empty()) return tensors;
  const double hidden = static_cast<double>(model.hidden);
  const double queries = hidden * static_cast<double>(model.query_features()) / question.tp;
  const double keys = hidden * static_cast<double>(question.kv_heads() * model.head_dim);
  const std::vector<Tensor> attention{{"out", queries}, {"qkv", keys}, {"qkv", keys}, {"qkv", queries}};
  tensors.insert(tensors.end(), attention.begin(), attention.end());
  double left = alike.count;  // of norms and biases
  for (const Tensor& tensor : tensors) left -= tensor.weights;
  tensors.back().weights += left;
  return tensors;
}

// Buckets of a layer: what would be left over for the next layer is a bucket, too. The first one of all is as large as
// the others but where it is the head's, as each layer has the same.
std::vector<Bucket> buckets_of(const StepQuestion& question) {
  const std::vector<AlikeWeights> all = alike_weights(question);
  std::vector<Bucket> buckets;
  for (const AlikeWeights& alike : all) {
    if (alike.holders == 1) continue;
    int number = 0;
    bool is_full = true;
    for (const Tensor& tensor : tensors_of(question, alike, all.size() == 1 || !alike.of.empty())) {
      if (is_full) {
        buckets.push_back({fmt::format("reduce_{}bucket{}", alike.of, number++), 0.0, alike.holders, ""});
      }
      buckets.back().weights += tensor.weights;
      buckets.back().behind = tensor.of;
      is_full = buckets.back().weights * single_precision >= bucket;
    }
  }
  return buckets;
}

// The collectives that add up the gradients of a layer.
std::vector<std::string> reductions(const StepQuestion& question) {
  std::vector<std::string> names;
  if (question.shard == Shard::full) {
    for (const AlikeWeights& alike : alike_weights(question)) {
      if (alike.holders > 1) names.push_back(alike.of + reduction);
    }
    return names;
  }
  for (const Bucket& one : buckets_of(question)) names.push_back(one.name);
  return names;
}

// Of the head, which is a tensor of its own, whether its gradient is a bucket while layers have theirs.
bool reduces_head(const StepQuestion& question) {
  return question.trains() && !question.layers && !question.has_turns() && question.shard == Shard::none &&
         question.replicas() > 1 && !question.model.tied && head_weights(question) * single_precision >= first_bucket;
}

}  // namespace

void write_gather(StepWriter& writer, const std::string& prefix) {
  const StepQuestion& question = writer.question();
  for (const AlikeWeights& alike : alike_weights(question)) {
    if (alike.holders == 1) continue;
    const std::string name = prefix + alike.of;
    writer.operate(name + "copy_in", Kind::copy, "cast_down", alike.count / alike.holders);
    writer.queue_on(weight_stream);
    writer.wait({prefix.empty() ? "down_residual" : "attention_norm_residual_gradient", "layer", -2});
    writer.collective(name + "gather", models::CollectiveKind::all_gather, alike.count * writer.element(),
                      alike.holders, weight_stream);
    if (!prefix.empty()) writer.wait({alike.of + reduction, "layer", -2});
    writer.operate(name + "copy_out", Kind::copy, "copy", alike.count);
    writer.wait({name + "gather", "layer", 0});
  }
}

void write_backward(StepWriter& writer) { Backward(writer).write(); }

void write_reduction(StepWriter& writer) {
  const StepQuestion& question = writer.question();
  if (question.replicas() == 1) return;
  const double weights = alike_weights(question).front().count;
  if (question.shard == Shard::full) {
    writer.operate("gradient_copy_in", Kind::copy, "cast_up", weights);
    writer.collective(reduction, models::CollectiveKind::reduce_scatter, weights * single_precision,
                      question.replicas(), gradient_stream);
    writer.wait({"gradient_copy_in", "layer", 0});
    writer.wait({"backward_gather", "layer", 1});
    for (const AlikeWeights& alike : alike_weights(question)) {
      if (alike.of.empty() || alike.holders == 1) continue;
      writer.operate(alike.of + "gradient_copy_in", Kind::copy, "cast_up", alike.count);
      writer.collective(alike.of + reduction, models::CollectiveKind::reduce_scatter, alike.count * single_precision,
                        alike.holders, gradient_stream);
      writer.wait({alike.of + "gradient_copy_in", "layer", 0});
    }
    return;
  }
  for (const Bucket& one : buckets_of(question)) {
    writer.collective(one.name, models::CollectiveKind::all_reduce, one.weights * single_precision, one.gpus,
                      gradient_stream);
    writer.wait({one.behind + (question.mixes() ? "_gradient_cast" : "_weight_gradient"), "layer", 0});
    writer.wait({one.behind + "_input_gradient", "layer", 0});
  }
}

void write_head_reduction(StepWriter& writer) {
  const StepQuestion& question = writer.question();
  if (!reduces_head(question)) return;
  writer.collective(head_reduction, models::CollectiveKind::all_reduce, head_weights(question) * single_precision,
                    question.replicas(), gradient_stream);
  writer.wait({"head_weights"});
}

void write_reduction_of_turns(StepWriter& writer, double ends) {
  const StepQuestion& question = writer.question();
  const double layers = static_cast<double>(question.stage_layers());
  for (const AlikeWeights& alike : alike_weights(question)) {
    const double of_ends = alike.of.empty() ? ends * end_weights(question) : 0.0;
    writer.collective(alike.of + reduction, models::CollectiveKind::all_reduce,
                      (layers * alike.count + of_ends) * single_precision, alike.holders);
  }
}

void write_end_gather(StepWriter& writer) {
  const StepQuestion& question = writer.question();
  if (question.shard != Shard::full) return;
  const double weights = end_weights(question);
  writer.operate("ends_copy_in", Kind::copy, "cast_down", weights / question.replicas());
  writer.collective("ends_gather", models::CollectiveKind::all_gather, weights * writer.element(), question.replicas());
  writer.operate("ends_copy_out", Kind::copy, "copy", weights);
}

void write_end_reduction(StepWriter& writer) {
  const StepQuestion& question = writer.question();
  const bool shares = question.shard == Shard::full;
  const double weights = end_weights(question) - (reduces_head(question) ? head_weights(question) : 0.0);
  writer.collective(end_reduction, shares ? models::CollectiveKind::reduce_scatter : models::CollectiveKind::all_reduce,
                    weights * single_precision, question.replicas());
}

void write_update(StepWriter& writer, std::int64_t layers, double ends) {
  const StepQuestion& question = writer.question();
  if (question.optimizer == Optimizer::none) return;
  const bool shares = question.shard == Shard::full;
  double own = ends * end_weights(question) / (shares ? question.replicas() : 1);
  for (const AlikeWeights& alike : alike_weights(question)) {
    own += static_cast<double>(layers) * alike.count / (shares ? alike.holders : 1);
  }
  std::vector<Pass> passes(adam_passes.begin(), adam_passes.end());
  if (question.optimizer == Optimizer::lamb) passes.insert(passes.end(), lamb_passes.begin(), lamb_passes.end());
  for (const auto& [name, operation] : passes) {
    writer.operate(fmt::format("update_{}", name), Kind::optimizer, operation, own, single_precision);
    if (name != passes.front().first || question.replicas() == 1 || question.has_turns()) continue;
    for (const std::string& reduced : reductions(question)) writer.wait({reduced});
    if (reduces_head(question)) writer.wait({head_reduction});
  }
}

}  // namespace c3sim::study
