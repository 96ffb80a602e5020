#include "study/step/layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "study/step/fine_grain.h"

namespace c3sim::study {

Experts experts_of(const StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const StepQuestion& question = writer.question();
  const std::int64_t sent = question.tokens_to_route(question.new_tokens()) * model.experts_used;
  // Where GPUs share out an expert, each has the tokens that came to all of them.
  const std::int64_t even = question.ep == 1 ? sent : question.expert_tp() * sent;
  const RoutedLoad load = load_of(question.routing, model.experts, model.experts_used, question.ep,
                                  even * question.ep / model.experts_used);
  const auto copies = static_cast<std::int64_t>(std::ceil(load.over_even * static_cast<double>(even)));
  const std::int64_t busy =
      std::clamp<std::int64_t>(std::llround(load.busy), 1, std::min(model.experts / question.ep, copies));
  return {load.over_even, sent, copies, busy, (copies + busy - 1) / busy, model.ffn / question.expert_tp()};
}

namespace {

sim::Bytes bytes_of_copies(const StepWriter& writer, double copies) {
  return copies * static_cast<double>(writer.model().hidden) * writer.element();
}

}  // namespace

void write_dispatch(StepWriter& writer, const std::string& name, const Experts& experts) {
  const StepQuestion& question = writer.question();
  if (question.ep == 1) return;
  writer.collective(name, models::CollectiveKind::all_to_all,
                    bytes_of_copies(writer, experts.over_even * static_cast<double>(experts.sent)), question.ep);
  writer.collective(name + "_all_gather", models::CollectiveKind::all_gather,
                    bytes_of_copies(writer, static_cast<double>(experts.copies)), question.expert_tp());
}

void write_combine(StepWriter& writer, const std::string& name, const Experts& experts) {
  const StepQuestion& question = writer.question();
  if (question.ep == 1) return;
  writer.collective(name + "_reduce_scatter", models::CollectiveKind::reduce_scatter,
                    bytes_of_copies(writer, static_cast<double>(experts.copies)), question.expert_tp());
  writer.collective(name, models::CollectiveKind::all_to_all,
                    bytes_of_copies(writer, experts.over_even * static_cast<double>(experts.sent)), question.ep);
}

namespace {

// Kernels with which PyTorch sorts tokens by expert before their products and gathers the results behind them
// (a profiler's kernels of layers with experts, torch.topk, argsort and index_add; H100, PyTorch 2.11): each a pass
// over a number for each token and expert, for each copy of a token, or for each feature of these.
constexpr auto usual_piece = static_cast<std::int64_t>(models::StreamSpec::piece_of_row);
enum class Over { choices, copies, features, tokens };
struct ExpertPass {
  const char* name;
  Kind kind;
  const char* operation;
  Over over;
  bool in_single_precision = false;
  // Selecting and sorting take so many passes one behind the other, each as long as a row of 1024; 0: a row is short.
  int passes = 0;
};
constexpr std::array before_experts{
    ExpertPass{"router_cast", Kind::copy, "cast_up", Over::choices},
    ExpertPass{"router_softmax", Kind::softmax, "softmax", Over::choices, true},
    ExpertPass{"router_select", Kind::softmax, "route", Over::choices, true, 6},  // gatherTopK: 8.0 us for 16 tokens
    ExpertPass{"router_order", Kind::softmax, "route", Over::copies, true, 3},    // bitonicSort: 4.3 us
    ExpertPass{"router_sum", Kind::elementwise, "column_sums", Over::copies, true},
    ExpertPass{"router_share", Kind::elementwise, "mul_broadcast", Over::copies, true},
    ExpertPass{"share_cast", Kind::copy, "cast_down", Over::copies},
    ExpertPass{"sort", Kind::softmax, "route", Over::copies, true, 6},              // radixSort: 8.6 us
    ExpertPass{"count", Kind::elementwise, "column_sums", Over::choices, true, 4},  // reduce of flags: 6.5 us
    ExpertPass{"offsets", Kind::elementwise, "scale", Over::copies, true},
    ExpertPass{"offsets_cast", Kind::copy, "cast_down", Over::copies},
    ExpertPass{"origins", Kind::elementwise, "scale", Over::copies, true},
    ExpertPass{"origins_cast", Kind::copy, "cast_down", Over::copies},
    ExpertPass{"shares_permute", Kind::copy, "copy", Over::copies},
    ExpertPass{"permute", Kind::copy, "copy", Over::features}};
constexpr std::array behind_experts{ExpertPass{"weigh", Kind::elementwise, "mul_broadcast", Over::features},
                                    ExpertPass{"sums_zero", Kind::elementwise, "fill", Over::tokens},
                                    ExpertPass{"unpermute", Kind::elementwise, "index_add", Over::features}};
// What a serving framework's call for experts launches beside its products and one kernel between (vLLM's
// fused_experts: moe_align_block_size before, silu_and_mul, moe_sum behind): tokens have been routed, and no copy of
// them is made.
constexpr std::array before_fused{ExpertPass{"sort", Kind::softmax, "route", Over::copies, true, 6}};
constexpr std::array behind_fused{ExpertPass{"sum", Kind::elementwise, "sum_copies", Over::features}};

class Forward {
 public:
  Forward(StepWriter& writer, const std::string& prefix)
      : writer_(writer), model_(writer.model()), prefix_(prefix), tokens_(writer.tokens()) {}

  void write() {
    const Half half = writer_.question().half;
    if (half == Half::both || half == Half::attention) attention_half();
    if (half == Half::attention) return;
    if (half == Half::experts) {
      experts_by_one_call();
    } else if (model_.experts == 0) {
      feed_forward();
    } else {
      experts();
    }
  }

 private:
  std::string name(const std::string& of) const { return prefix_ + of; }
  const char* norm() const { return model_.norm == Norm::rms ? "rmsnorm" : "layernorm"; }
  void normalise(const std::string& of) {
    const double elements = writer_.tokens_between() * static_cast<double>(model_.hidden);
    if (!writer_.composes_norms()) {
      writer_.operate(name(of), Kind::norm, norm(), elements, writer_.stream_element(), model_.hidden);
      return;
    }
    writer_.operate(name(of + "_cast_up"), Kind::elementwise, "cast_up", elements);
    writer_.operate(name(of + "_square"), Kind::elementwise, "scale", elements, single_precision);
    writer_.operate(name(of + "_mean"), Kind::elementwise, "column_sums", elements, single_precision);
    for (const char* const of_rows : {"_epsilon", "_root"}) {
      writer_.operate(name(of + of_rows), Kind::elementwise, "scale", elements_of(tokens_, 1), single_precision);
    }
    for (const char* const by : {"", "_weights"}) {
      writer_.operate(name(of + by), Kind::elementwise, "mul_broadcast", elements, single_precision);
    }
  }
  int pieces_of(const std::string& of) const {
    const StepQuestion& question = writer_.question();
    const bool feeds_forward = of == "up" || of == "down";
    return feeds_forward && question.ffn_pieces ? *question.ffn_pieces : *question.pieces;
  }
  void normalise_features(const std::string& of, std::int64_t features, std::int64_t row) {
    writer_.operate(name(of), Kind::norm, norm(), elements_of(tokens_, features), {}, row);
  }
  // Of the input of a product, where that is multiplied in a smaller format.
  void quantise(const std::string& of, double elements) {
    if (writer_.question().quantises()) writer_.operate(name(of + "_quantise"), Kind::copy, "quantise", elements);
  }
  // The product, and before it what casts its operands.
  void product(const std::string& of, std::int64_t out, std::int64_t in) {
    quantise(of, elements_of(tokens_, in));
    if (writer_.question().mixes()) {
      writer_.operate(name(of + "_cast_weights"), Kind::copy, "cast_down", elements_of(out, in));
      if (of != "out" && of != "down") {
        writer_.operate(name(of + "_cast"), Kind::copy, "cast_down", elements_of(tokens_, in));
      }
    }
    if (!writer_.question().pieces) {
      writer_.gemm(name(of), out, in, tokens_);
      if (of == "out" || of == "down") writer_.reduce_last();
    } else if (of == "out" || of == "down") {
      scattered_ = write_scattered_product(writer_, name(of), out, in, pieces_of(of));
    } else {
      write_gathered_product(writer_, name(of), out, in, pieces_of(of));
    }
  }
  void add_up(const std::string& of, bool reduced = true) {
    const double elements = writer_.tokens_between() * static_cast<double>(model_.hidden);
    if (!writer_.question().pieces) {
      if (!reduced && writer_.routes_shares()) {
        writer_.gather_tokens(name(of));
      } else {
        writer_.add_up(name(of), elements, reduced);
      }
    }
    if (model_.after_norms) normalise(of + "_norm");
    if (model_.dropout > 0.0 && writer_.question().phase == Phase::train) {
      writer_.operate(name(of + "_dropout"), Kind::elementwise, "dropout", elements);
    }
    writer_.operate(name(of + "_residual"), Kind::elementwise, writer_.question().wide_stream() ? "add_mixed" : "add",
                    elements);
    for (const Written& piece : std::exchange(scattered_, {})) writer_.wait(piece);
  }

  void attention_half() {
    normalise("attention_norm");
    if (model_.is_latent()) {
      latent_attention();
    } else {
      attention();
    }
    product("out", model_.hidden, writer_.share(model_.heads * model_.values()));
    add_up("out");
  }

  void attention() {
    const std::int64_t queries = writer_.share(model_.query_features());
    const std::int64_t keys = writer_.question().kv_heads() * model_.head_dim;
    product("qkv", queries + writer_.question().cached_features(), model_.hidden);
    if (model_.query_norm != QueryNorm::none) {
      const bool by_head = model_.query_norm == QueryNorm::heads;
      // PyTorch's norms are given arrays of their own rather than parts of the product's result.
      for (const auto& [of, features] : {std::pair("query_norm", queries), {"key_norm", keys}}) {
        if (tokens_ > 1)
          writer_.operate(name(std::string(of) + "_copy"), Kind::copy, "copy_strided", elements_of(tokens_, features));
        normalise_features(of, features, by_head ? model_.head_dim : features);
        // Whole sequences go on to attention head by head.
        if (writer_.question().phase != Phase::decode)
          writer_.operate(name(std::string(of) + "_heads"), Kind::copy, "copy_strided", elements_of(tokens_, features));
      }
    }
    if (writer_.question().phase == Phase::decode) {
      for (const auto& [cached, features] :
           {std::pair("cache_keys", keys), {"cache_values", keys / model_.head_dim * model_.values()}}) {
        writer_.operate(name(cached), Kind::elementwise, "copy_strided", elements_of(tokens_, features));
      }
    }
    share_keys();
    writer_.attention(name("attention"), false);
    writer_.decoding_attention(name("attention"));
  }

  // Queries, keys and values by way of few features. A token that decodes multiplies its queries by the weights that
  // would make keys of the cached features, and what it gathers of these by those that would make values (the absorbed
  // form); many tokens of a sequence have keys and values made, once, of all that it sees.
  void latent_attention() {
    const StepQuestion& question = writer_.question();
    const std::int64_t heads = writer_.share(model_.heads);
    const bool decodes = question.phase == Phase::decode;
    product("latent", model_.latent_features(), model_.hidden);
    if (model_.query_rank > 0) normalise_features("query_norm", model_.query_rank, model_.query_rank);
    normalise_features("key_norm", model_.kv_rank, model_.kv_rank);
    product("query_up", heads * model_.head_dim, model_.query_rank > 0 ? model_.query_rank : model_.hidden);
    if (question.phase != Phase::train)
      writer_.operate(name("cache_latent"), Kind::elementwise, "copy_strided",
                      elements_of(tokens_, model_.cached_features()));
    share_keys();
    const std::int64_t absorbing = decodes ? tokens_ : question.decoding;
    const std::int64_t key = model_.head_dim - model_.rotary_dim;
    if (absorbing > 0) writer_.gemm(name("absorb"), model_.kv_rank, key, absorbing, heads);
    if (decodes) {
      writer_.attention(name("attention"), false, true);
    } else {
      const std::int64_t seen = question.batch * model_.seen(question.context + question.tokens);
      quantise("key_up", elements_of(seen, model_.kv_rank));
      writer_.gemm(name("key_up"), heads * model_.latent_head(), model_.kv_rank, seen);
      writer_.attention(name("attention"), false);
      writer_.decoding_attention(name("attention"), true);
    }
    if (absorbing > 0) writer_.gemm(name("value_up"), model_.values(), model_.kv_rank, absorbing, heads);
  }

  // Keys and values of the parts of a sequence that other GPUs have.
  void share_keys() {
    const double elements = elements_of(writer_.question().new_tokens(), writer_.question().cached_features());
    writer_.collective(name("keys_all_gather"), models::CollectiveKind::all_gather, elements * writer_.element(),
                       writer_.question().cp);
  }

  void activate(double elements, const std::string& of = "") {
    if (model_.experts_alone) {
      writer_.operate(name(of + "activation"), Kind::elementwise, "swiglu", elements);
    } else if (model_.gates()) {
      writer_.operate(name(of + "gate"), Kind::elementwise, "silu_strided", elements);
      writer_.operate(name(of + "gated"), Kind::elementwise, "mul_strided", elements);
    } else {
      writer_.operate(name(of + "activation"), Kind::elementwise, model_.feed == Feed::gelu ? "gelu_erf" : "relu",
                      elements);
    }
  }

  void feed_forward() {
    normalise("ffn_norm");
    product("up", writer_.share(model_.first_ffn()), model_.hidden);
    activate(elements_of(tokens_, writer_.share(model_.ffn)));
    product("down", model_.hidden, writer_.share(model_.ffn));
    add_up("down");
  }

  void experts() {
    const std::int64_t routed = writer_.tokens_to_route();
    normalise("ffn_norm");
    if (model_.shared_ffn > 0) shared_experts();
    writer_.plain_gemm(name("router"), model_.experts, model_.hidden, routed);
    const Experts experts = experts_of(writer_);
    for (const ExpertPass& pass : before_experts) operate(pass, routed, experts.sent);
    exchange_and_multiply(experts);
    for (const ExpertPass& pass : behind_experts) operate(pass, routed, experts.sent);
    if (model_.shared_ffn > 0)
      writer_.operate(name("shared_add"), Kind::elementwise, "add", elements_of(shared_tokens(), model_.hidden));
    add_up("down", false);
  }

  // Experts that are all that is known of a model are a framework's call for them; those of a layer are its exchanges
  // and products.
  void experts_by_one_call() {
    const std::int64_t routed = writer_.tokens_to_route();
    const Experts experts = experts_of(writer_);
    if (model_.experts_alone) {
      for (const ExpertPass& pass : before_fused) operate(pass, routed, experts.sent);
    }
    exchange_and_multiply(experts);
    if (model_.experts_alone) {
      for (const ExpertPass& pass : behind_fused) operate(pass, routed, experts.sent);
    }
  }

  void operate(const ExpertPass& pass, std::int64_t routed, std::int64_t copies) {
    const double elements = pass.over == Over::choices ? elements_of(routed, model_.experts)
                            : pass.over == Over::copies
                                ? static_cast<double>(copies)
                                : elements_of(pass.over == Over::tokens ? routed : copies, model_.hidden);
    writer_.operate(name(pass.name), pass.kind, pass.operation, elements,
                    pass.in_single_precision ? single_precision : writer_.element(),
                    pass.passes > 0 ? pass.passes * usual_piece : model_.experts);
  }

  // Where GPUs share out tokens before the router, each has all of the shared experts for its share of these.
  std::int64_t shared_tokens() const { return writer_.routes_shares() ? writer_.tokens_to_route() : tokens_; }
  void shared_experts() {
    const std::int64_t ffn = writer_.shared_ffn();
    const std::int64_t tokens = shared_tokens();
    quantise("shared_up", elements_of(tokens, model_.hidden));
    writer_.gemm(name("shared_up"), model_.first_shared_ffn() / model_.shared_ffn * ffn, model_.hidden, tokens);
    activate(elements_of(tokens, ffn), "shared_");
    quantise("shared_down", elements_of(tokens, ffn));
    writer_.gemm(name("shared_down"), model_.hidden, ffn, tokens);
  }

  // Tokens go to the GPUs of their experts and come back, to each in even parts; experts of a GPU are one kernel.
  void exchange_and_multiply(const Experts& experts) {
    const std::int64_t first = model_.first_ffn() / model_.ffn * experts.ffn;
    write_dispatch(writer_, name("dispatch"), experts);
    quantise("up", elements_of(experts.copies, model_.hidden));
    writer_.gemm(name("up"), first, model_.hidden, experts.tokens, experts.busy);
    activate(elements_of(experts.copies, experts.ffn));
    quantise("down", elements_of(experts.copies, experts.ffn));
    writer_.gemm(name("down"), model_.hidden, experts.ffn, experts.tokens, experts.busy);
    write_combine(writer_, name("combine"), experts);
  }

  StepWriter& writer_;
  const ModelSpec& model_;
  std::string prefix_;
  std::int64_t tokens_;
  std::vector<Written> scattered_;  // that the sum behind a product in pieces waits for
};

}  // namespace

Written write_forward(StepWriter& writer, const std::string& prefix) {
  Forward(writer, prefix).write();
  return writer.last();
}

}  // namespace c3sim::study
