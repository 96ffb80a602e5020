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
constexpr sim::Bytes bucket{25e6};  // of gradients: PyTorch's DistributedDataParallel, bucket_cap_mb

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
    const std::int64_t ffn = writer_.share(model_.ffn);
    residual("down");
    if (model_.experts == 0) {
      product("down", model_.hidden, ffn, tokens_);
      activation(elements_of(tokens_, ffn));
      product("up", writer_.share(model_.first_ffn()), model_.hidden, tokens_);
    } else {
      experts(ffn);
    }
    add_up("up", model_.experts == 0);
    normalise("ffn_norm");
  }

  // The way back of the tokens' copies.
  void experts(std::int64_t ffn) {
    const Experts experts = experts_of(writer_);
    const double elements = elements_of(experts.copies, model_.hidden);
    const auto exchange = [&](const std::string& name) {
      writer_.collective(name, models::CollectiveKind::all_to_all, elements * writer_.element(), writer_.question().ep);
    };
    writer_.operate("unpermute_gradient", Kind::copy, "copy", elements);
    exchange("combine_gradient");
    product("down", model_.hidden, ffn, experts.tokens, experts.busy);
    activation(elements_of(experts.copies, ffn));
    product("up", writer_.share(model_.first_ffn()), model_.hidden, experts.tokens, experts.busy);
    exchange("dispatch_gradient");
    writer_.operate("permute_gradient", Kind::elementwise, "add", elements);
    writer_.operate("router_choice_gradient", Kind::softmax, "route", elements_of(tokens_, model_.experts), {},
                    model_.experts);
    product("router", model_.experts, model_.hidden, tokens_);
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

// The collectives that add up the gradients of a layer.
std::vector<std::string> reductions(const StepQuestion& question) {
  if (question.shard == Shard::full) return {reduction};
  const double buckets = std::round(layer_weights(question) * single_precision / bucket);
  std::vector<std::string> names;
  for (int i = 0; i < std::max(1, static_cast<int>(buckets)); ++i) names.push_back(fmt::format("reduce_bucket{}", i));
  return names;
}

}  // namespace

void write_gather(StepWriter& writer, const std::string& prefix) {
  const StepQuestion& question = writer.question();
  const double weights = layer_weights(question);
  writer.operate(prefix + "copy_in", Kind::copy, "cast_down", weights / question.replicas());
  writer.queue_on(weight_stream);
  writer.wait({prefix.empty() ? "down_residual" : "attention_norm_residual_gradient", "layer", -2});
  writer.collective(prefix + "gather", models::CollectiveKind::all_gather, weights * writer.element(),
                    question.replicas(), weight_stream);
  if (!prefix.empty()) writer.wait({reduction, "layer", -2});
  writer.operate(prefix + "copy_out", Kind::copy, "copy", weights);
  writer.wait({prefix + "gather", "layer", 0});
}

void write_backward(StepWriter& writer) { Backward(writer).write(); }

void write_reduction(StepWriter& writer) {
  const StepQuestion& question = writer.question();
  if (question.replicas() == 1) return;
  const double weights = layer_weights(question);
  if (question.shard == Shard::full) {
    writer.operate("gradient_copy_in", Kind::copy, "cast_up", weights);
    writer.collective(reduction, models::CollectiveKind::reduce_scatter, weights * single_precision,
                      question.replicas(), gradient_stream);
    writer.wait({"gradient_copy_in", "layer", 0});
    writer.wait({"backward_gather", "layer", 1});
    return;
  }
  const std::vector<std::string> names = reductions(question);
  for (std::size_t i = 0; i < names.size(); ++i) {
    writer.collective(names[i], models::CollectiveKind::all_reduce,
                      weights * single_precision / static_cast<double>(names.size()), question.replicas(),
                      gradient_stream);
    const bool early = 2 * (i + 1) <= names.size();
    const std::string last = question.mixes() ? "_gradient_cast" : "_weight_gradient";
    writer.wait({(early ? "up" : "qkv") + last, "layer", 0});
    writer.wait({(early ? "up" : "qkv") + std::string("_input_gradient"), "layer", 0});
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
  writer.collective(end_reduction, shares ? models::CollectiveKind::reduce_scatter : models::CollectiveKind::all_reduce,
                    end_weights(question) * single_precision, question.replicas());
}

void write_update(StepWriter& writer, std::int64_t layers, double ends) {
  const StepQuestion& question = writer.question();
  if (question.optimizer == Optimizer::none) return;
  const double all = static_cast<double>(layers) * layer_weights(question) + ends * end_weights(question);
  const double own = question.shard == Shard::full ? all / question.replicas() : all;
  std::vector<Pass> passes(adam_passes.begin(), adam_passes.end());
  if (question.optimizer == Optimizer::lamb) passes.insert(passes.end(), lamb_passes.begin(), lamb_passes.end());
  for (const auto& [name, operation] : passes) {
    writer.operate(fmt::format("update_{}", name), Kind::optimizer, operation, own, single_precision);
    if (name != passes.front().first || question.replicas() == 1) continue;
    for (const std::string& reduced : reductions(question)) writer.wait({reduced});
  }
}

}  // namespace c3sim::study
