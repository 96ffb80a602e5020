#include "study/program/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace c3sim::study {

Experts experts_of(const StepWriter& writer) {
  const ModelSpec& model = writer.model();
  const StepQuestion& question = writer.question();
  const std::int64_t sent = question.tokens_to_route(question.new_tokens()) * model.experts_used;
  // GPUs that share out an expert each process the tokens sent to any of them.
  const std::int64_t even = question.ep == 1 ? sent : question.expert_tp() * sent;
  const RoutedLoad load = load_of(question.routing, model.experts, model.experts_used, question.ep,
                                  even * question.ep / model.experts_used);
  const auto copies = static_cast<std::int64_t>(std::ceil(load.over_even * static_cast<double>(even)));
  const std::int64_t busy =
      std::clamp<std::int64_t>(std::llround(load.busy), 1, std::min(model.experts / question.ep, copies));
  const std::int64_t tokens = std::min((copies + busy - 1) / busy, even * question.ep / model.experts_used);
  return {load.over_even,
          sent,
          copies,
          busy,
          tokens,
          static_cast<double>(even) / static_cast<double>(busy * tokens),
          model.ffn / question.expert_tp()};
}

namespace {

// Returns how many copies a GPU sends per copy that an expert receives: high throughput sends a token once per rank.
double sent_for_copy(const StepWriter& writer) {
  const StepQuestion& question = writer.question();
  if (question.dispatch != Dispatch::high_throughput) return 1.0;
  const ModelSpec& model = writer.model();
  return ranks_of_token(question.routing, model.experts, model.experts_used, question.ep) /
         static_cast<double>(model.experts_used);
}

double features_of(const StepWriter& writer, double tokens) {
  return tokens * static_cast<double>(writer.model().hidden);
}

// Features that products take in a smaller format are sent in it, with a scale of four bytes per 128 features.
sim::Bytes element_sent(const StepWriter& writer) {
  constexpr sim::Bytes of_scale{4.0 / 128.0};
  const StepQuestion& question = writer.question();
  const bool is_small = question.dispatch != Dispatch::all_to_all && question.quantises();
  return is_small ? size_of(question.dtype) + of_scale : writer.element();
}

}  // namespace

void write_dispatch(StepWriter& writer, const std::string& name, const Experts& experts,
                    const std::function<void()>& beside) {
  const StepQuestion& question = writer.question();
  if (question.ep == 1) return;
  const bool by_counts = question.dispatch == Dispatch::high_throughput;
  if (by_counts && question.quantises()) {
    const std::int64_t tokens = experts.sent / writer.model().experts_used;
    writer.operate(name + "_quantise", Kind::copy, "quantise", features_of(writer, static_cast<double>(tokens)), {},
                   writer.model().hidden);
  }
  if (by_counts) {
    constexpr sim::Bytes count{4.0};
    writer.collective(name + "_counts", models::CollectiveKind::all_to_all,
                      static_cast<double>(writer.model().experts) * count, question.ep);
  }
  const Written before = beside ? writer.last() : Written{};
  const double sent = sent_for_copy(writer) * experts.over_even * static_cast<double>(experts.sent);
  const Written exchange = writer.collective(name, models::CollectiveKind::all_to_all,
                                             features_of(writer, sent) * element_sent(writer), question.ep);
  if (beside) {
    writer.queue_on(exchange_stream);
    writer.wait(before);
    beside();
    writer.next_waits_for(exchange);
  }
  writer.collective(name + "_all_gather", models::CollectiveKind::all_gather,
                    features_of(writer, static_cast<double>(experts.copies)) * element_sent(writer),
                    question.expert_tp());
  // The kernel makes one copy for each expert on this GPU, sorted by expert.
  if (by_counts) {
    writer.operate(name + "_expand", Kind::copy, "copy", features_of(writer, static_cast<double>(experts.copies)),
                   element_sent(writer));
  }
}

void write_combine(StepWriter& writer, const std::string& name, const Experts& experts) {
  const StepQuestion& question = writer.question();
  if (question.ep == 1) return;
  writer.collective(name + "_reduce_scatter", models::CollectiveKind::reduce_scatter,
                    features_of(writer, static_cast<double>(experts.copies)) * writer.element(), question.expert_tp());
  const double sent = sent_for_copy(writer) * experts.over_even * static_cast<double>(experts.sent);
  const double returned = features_of(writer, sent);
  // The kernel makes a weighted sum over this GPU's experts for each token that it received.
  if (question.dispatch == Dispatch::high_throughput) {
    writer.operate(name + "_reduce", Kind::elementwise, "triad", returned);
  }
  writer.collective(name, models::CollectiveKind::all_to_all, returned * writer.element(), question.ep);
  // The kernel sums up the results of all ranks, reading two at a time.
  if (question.dispatch != Dispatch::all_to_all) {
    writer.operate(name + "_sum", Kind::elementwise, "add", 0.5 * returned / experts.over_even);
  }
}

namespace {

// PyTorch sorts tokens by expert before their products and gathers the results after them by these kernels, in the
// order of a profiler's trace (torch.topk, argsort, cumsum, _grouped_mm and index_add; H100, PyTorch 2.11). Each kernel
// is a pass over one number per token and expert, per copy of a token, per copy and expert, or per feature.
constexpr auto usual_piece = static_cast<std::int64_t>(models::StreamSpec::piece_of_row);
enum class Over { choices, copies, flags, features, tokens };
enum class Element { stream, single, indices };
// Selecting and sorting take `passes` sequential passes, each as long as a row of 1024; `by_number` stands for as many
// as PyTorch's sort needs for the number of keys.
constexpr int one_pass = 0;
constexpr int by_number = -1;
struct ExpertPass {
  const char* name;
  Kind kind;
  const char* operation;
  Over over;
  Element element = Element::stream;
  int passes = one_pass;
};
constexpr std::array before_experts{
    ExpertPass{"router_cast", Kind::copy, "cast_up", Over::choices},
    ExpertPass{"router_softmax", Kind::softmax, "softmax", Over::choices, Element::single},
    ExpertPass{"router_select", Kind::softmax, "route", Over::choices, Element::single, 6},  // gatherTopK: 8.0 us
    ExpertPass{"router_order", Kind::softmax, "route", Over::copies, Element::single, 3},    // bitonicSort: 4.3 us
    ExpertPass{"keys_copy", Kind::copy, "copy", Over::copies, Element::indices},
    ExpertPass{"places_fill", Kind::elementwise, "fill", Over::copies, Element::indices},
    ExpertPass{"places_copy", Kind::copy, "copy", Over::copies, Element::indices},
    ExpertPass{"sorted_copy", Kind::copy, "copy", Over::copies, Element::indices},
    ExpertPass{"sort", Kind::softmax, "route", Over::copies, Element::single, by_number},
    ExpertPass{"experts_fill", Kind::elementwise, "fill", Over::copies, Element::indices},
    ExpertPass{"flags", Kind::elementwise, "mul_broadcast", Over::flags},
    ExpertPass{"flags_cast", Kind::copy, "cast_up", Over::flags, Element::single},
    ExpertPass{"count", Kind::elementwise, "column_sums", Over::flags, Element::indices, 4},  // reduce: 6.5 us
    ExpertPass{"scan_start", Kind::elementwise, "fill", Over::copies},
    ExpertPass{"scan", Kind::elementwise, "scale", Over::copies},
    ExpertPass{"offsets_cast", Kind::copy, "cast_down", Over::copies},
    ExpertPass{"origins", Kind::elementwise, "scale", Over::copies, Element::indices},
    ExpertPass{"permute", Kind::embedding, "copy", Over::features},
    ExpertPass{"up_arguments", Kind::gemm, "scale", Over::copies, Element::indices},
    // A grouped kernel sets up descriptors of its experts' matrices before its first tile: 8 experts with one token
    // take 23 us per product, of which their bytes account for 17 (kernels.csv and products.csv, H100).
    ExpertPass{"up_descriptors", Kind::gemm, "route", Over::copies, Element::single, 4}};
constexpr std::size_t routing_passes = 4;  // number of first passes, which choose experts
constexpr std::array between_products{
    ExpertPass{"down_arguments", Kind::gemm, "scale", Over::copies, Element::indices},
    ExpertPass{"down_descriptors", Kind::gemm, "route", Over::copies, Element::single, 4}};
constexpr std::array behind_experts{
    ExpertPass{"sums_zero", Kind::elementwise, "fill", Over::tokens},
    ExpertPass{"targets", Kind::elementwise, "scale", Over::copies, Element::indices},
    ExpertPass{"shares_permute", Kind::embedding, "copy", Over::copies, Element::single},
    ExpertPass{"shares_cast", Kind::copy, "cast_down", Over::copies},
    ExpertPass{"weigh", Kind::elementwise, "mul_broadcast", Over::features},
    ExpertPass{"unpermute", Kind::embedding, "index_add", Over::features}};

// Returns the passes of PyTorch's sort, in rows of 1024 reduced one after the other. It sorts up to 32 keys by a
// bitonic network (3.8 us) and up to 4096 by radix in one workgroup, whose passes grow with the items per thread (8.6
// us up to 128, 26.8 us for 512, 29.6 us for 2048); more keys take eight kernels of CUB with memsets between them (63
// us, and 20 gaps; kernels.csv of two H100s, one GPU).
int passes_of_sort(std::int64_t keys) {
  if (keys <= 32) return 3;
  if (keys <= 128) return 7;
  return keys <= 4096 ? 24 : 76;
}

// Serving systems choose experts by one kernel, a wave of which holds all scores of a token (vLLM's topk_softmax).
// Their call for experts launches two more kernels around its products and activation (vLLM's fused_experts:
// moe_align_block_size before, moe_sum after) and copies no tokens.
constexpr std::array before_fused{
    ExpertPass{"router_select", Kind::softmax, "route", Over::choices, Element::single, 1},
    ExpertPass{"sort", Kind::softmax, "route", Over::copies, Element::single, 6}};
constexpr std::size_t fused_routing_passes = 1;  // number of first passes, which choose experts
constexpr std::array behind_fused{ExpertPass{"sum", Kind::elementwise, "sum_copies", Over::features}};

// With `pieces`, GPUs of tensor parallelism share out the tokens between products (FiCCO, arXiv 2512.10236; for a lone
// GEMM study/program/dependent.h): tokens of all GPUs are gathered piece by piece during the products of earlier
// pieces, and results are reduce-scattered piece by piece during the next products.
constexpr auto piece_stream = "pieces";

std::string piece_name(const std::string& of, int piece) { return fmt::format("{}_{}", of, piece); }

Written move(StepWriter& writer, const std::string& name, models::CollectiveKind kind, std::int64_t tokens,
             std::int64_t features) {
  return writer.collective(name, kind, elements_of(tokens, features) * writer.element(), writer.question().tp,
                           piece_stream);
}

// Writes a product in `pieces` pieces of whole tokens. The operation before it makes the GPU's shard of the stream;
// gathers and reductions take turns on their own stream.
void write_gathered_product(StepWriter& writer, const std::string& name, std::int64_t out, std::int64_t in,
                            int pieces) {
  const Written shard = writer.last();
  for (int piece = 0; piece < pieces; ++piece) {
    const std::int64_t tokens = piece_of(writer.tokens(), pieces, piece);
    const Written gather =
        move(writer, piece_name(name + "_gather", piece), models::CollectiveKind::all_gather, tokens, in);
    if (piece == 0) writer.wait(shard);  // later gathers follow on the same stream
    writer.gemm(piece_name(name, piece), out, in, tokens);
    writer.wait(gather);
  }
}

// Returns the scatters of the pieces, all of which an operation on the whole result must wait for.
std::vector<Written> write_scattered_product(StepWriter& writer, const std::string& name, std::int64_t out,
                                             std::int64_t in, int pieces) {
  std::vector<Written> scatters;
  for (int piece = 0; piece < pieces; ++piece) {
    const std::int64_t tokens = piece_of(writer.tokens(), pieces, piece);
    const Written product = writer.gemm(piece_name(name, piece), out, in, tokens);
    scatters.push_back(
        move(writer, piece_name(name + "_scatter", piece), models::CollectiveKind::reduce_scatter, tokens, out));
    writer.wait(product);
  }
  return scatters;
}

class Forward {
 public:
  explicit Forward(StepWriter& writer) : writer_(writer), model_(writer.model()), tokens_(writer.tokens()) {}

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
  bool compiled() const { return writer_.question().kernels == Kernels::compiled; }
  const char* norm() const { return model_.norm == Norm::rms ? "rmsnorm" : "layernorm"; }
  // Writes the norm before each half of a layer.
  void normalise_stream(const std::string& of) {
    if (writer_.question().compiles_sums()) {
      writer_.add_and_normalise(of, writer_.tokens());
    } else {
      normalise(of);
    }
  }
  void normalise(const std::string& of) {
    const double elements = writer_.tokens_between() * static_cast<double>(model_.hidden);
    if (!writer_.composes_norms()) {
      normalise_rows(of, elements, writer_.stream_element(), model_.hidden);
      return;
    }
    writer_.operate(of + "_cast_up", Kind::elementwise, "cast_up", elements);
    writer_.operate(of + "_square", Kind::elementwise, "scale", elements, single_precision);
    writer_.operate(of + "_mean", Kind::elementwise, "column_sums", elements, single_precision);
    for (const char* const of_rows : {"_epsilon", "_root"}) {
      writer_.operate(of + of_rows, Kind::elementwise, "scale", elements_of(tokens_, 1), single_precision);
    }
    for (const char* const by : {"", "_weights"}) {
      writer_.operate(of + by, Kind::elementwise, "mul_broadcast", elements, single_precision);
    }
  }
  int pieces_of(const std::string& of) const {
    const StepQuestion& question = writer_.question();
    const bool feeds_forward = of == "up" || of == "down";
    return feeds_forward && question.ffn_pieces ? *question.ffn_pieces : *question.pieces;
  }
  void normalise_features(const std::string& of, std::int64_t features, std::int64_t row) {
    normalise_rows(of, elements_of(tokens_, features), {}, row);
  }
  void normalise_rows(const std::string& of, double elements, std::optional<sim::Bytes> element, std::int64_t row) {
    writer_.operate(of, Kind::norm, compiled() ? "compiled_norm" : norm(), elements, element, row);
  }
  // Writes the quantisation of a product's input if the product uses a smaller format.
  void quantise(const std::string& of, std::int64_t rows, std::int64_t features) {
    if (!writer_.question().quantises()) return;
    writer_.operate(of + "_quantise", Kind::copy, "quantise", elements_of(rows, features), {}, features);
  }
  // Quantises the result of a norm or an activation. A compiler fuses both (vLLM's passes fuse_norm_quant and
  // fuse_act_quant), so that compiled steps have no separate kernel.
  void quantise_behind_rows(const std::string& of, std::int64_t rows, std::int64_t features) {
    if (!compiled()) quantise(of, rows, features);
  }
  // Writes a product, and before it the kernels that cast its operands.
  void product(const std::string& of, std::int64_t out, std::int64_t in) {
    if (of == "out") {
      quantise(of, tokens_, in);
    } else {
      quantise_behind_rows(of, tokens_, in);
    }
    if (writer_.question().mixes()) {
      writer_.operate(of + "_cast_weights", Kind::copy, "cast_down", elements_of(out, in));
      if (of != "out" && of != "down") {
        writer_.operate(of + "_cast", Kind::copy, "cast_down", elements_of(tokens_, in));
      }
    }
    if (!writer_.question().pieces) {
      writer_.gemm(of, out, in, tokens_);
      if (of == "out" || of == "down") writer_.reduce_last();
    } else if (of == "out" || of == "down") {
      scattered_ = write_scattered_product(writer_, of, out, in, pieces_of(of));
    } else {
      write_gathered_product(writer_, of, out, in, pieces_of(of));
    }
  }
  void add_up(const std::string& of, bool reduced = true) {
    const double elements = writer_.tokens_between() * static_cast<double>(model_.hidden);
    if (!writer_.question().pieces) {
      if (!reduced && writer_.routes_shares()) {
        writer_.gather_tokens(of);
      } else {
        writer_.add_up(of, elements, reduced);
      }
    }
    if (model_.after_norms) normalise(of + "_norm");
    if (model_.dropout > 0.0 && writer_.question().phase == Phase::train) {
      writer_.operate(of + "_dropout", Kind::elementwise, "dropout", elements);
    }
    if (writer_.question().compiles_sums()) return;  // the norm of the next half adds the residual
    writer_.operate(of + "_residual", Kind::elementwise, writer_.question().wide_stream() ? "add_mixed" : "add",
                    elements);
    for (const Written& piece : std::exchange(scattered_, {})) writer_.wait(piece);
  }

  void attention_half() {
    normalise_stream("attention_norm");
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
    if (compiled()) {
      turn_and_cache(queries, keys);
    } else {
      copy_and_normalise(queries, keys);
    }
    writer_.share_keys("keys_all_gather", models::CollectiveKind::all_gather);
    writer_.attention("attention", false);
    writer_.decoding_attention("attention");
  }

  // A compiler makes one kernel of the norms of queries and keys, one of their rotary embeddings, and one that writes
  // keys and values of new tokens into the cache.
  void turn_and_cache(std::int64_t queries, std::int64_t keys) {
    if (model_.query_norm != QueryNorm::none) {
      const bool by_head = model_.query_norm == QueryNorm::heads;
      normalise_features("query_key_norm", queries + keys, by_head ? model_.head_dim : queries);
    }
    if (model_.position == Positions::rotary) {
      writer_.operate("turn", Kind::elementwise, "compiled_rope", elements_of(tokens_, queries + keys));
    }
    writer_.operate("cache", Kind::elementwise, "compiled_cache",
                    elements_of(tokens_, writer_.question().cached_features()));
  }

  void copy_and_normalise(std::int64_t queries, std::int64_t keys) {
    if (model_.query_norm != QueryNorm::none) {
      const bool by_head = model_.query_norm == QueryNorm::heads;
      // PyTorch copies parts of the product's result to separate arrays for its norms.
      for (const auto& [of, features] : {std::pair("query_norm", queries), {"key_norm", keys}}) {
        if (tokens_ > 1)
          writer_.operate(std::string(of) + "_copy", Kind::copy, "copy_strided", elements_of(tokens_, features));
        normalise_features(of, features, by_head ? model_.head_dim : features);
        // Attention over whole sequences takes its inputs head by head.
        if (writer_.question().phase != Phase::decode)
          writer_.operate(std::string(of) + "_heads", Kind::copy, "copy_strided", elements_of(tokens_, features));
      }
    }
    if (writer_.question().phase == Phase::decode) {
      for (const auto& [cached, features] :
           {std::pair("cache_keys", keys), {"cache_values", keys / model_.head_dim * model_.values()}}) {
        writer_.operate(cached, Kind::elementwise, "copy_strided", elements_of(tokens_, features));
      }
    }
  }

  // Writes attention through low-rank projections. A token that decodes multiplies its queries by the weights that
  // would make keys of the cached features, and its attention result by those that would make values (the absorbed
  // form); prefill and training make keys and values of all tokens once.
  void latent_attention() {
    const StepQuestion& question = writer_.question();
    const std::int64_t heads = writer_.share(model_.heads);
    const bool decodes = question.phase == Phase::decode;
    product("latent", model_.latent_features(), model_.hidden);
    if (model_.query_rank > 0) normalise_features("query_norm", model_.query_rank, model_.query_rank);
    normalise_features("key_norm", model_.kv_rank, model_.kv_rank);
    product("query_up", heads * model_.head_dim, model_.query_rank > 0 ? model_.query_rank : model_.hidden);
    if (question.phase != Phase::train)
      writer_.operate("cache_latent", Kind::elementwise, compiled() ? "compiled_cache" : "copy_strided",
                      elements_of(tokens_, model_.cached_features()));
    writer_.share_keys("keys_all_gather", models::CollectiveKind::all_gather);
    const std::int64_t absorbing = decodes ? tokens_ : question.decoding;
    const std::int64_t key = model_.head_dim - model_.rotary_dim;
    writer_.go_with_attention(true);
    if (absorbing > 0) writer_.gemm("absorb", model_.kv_rank, key, absorbing, heads);
    if (decodes) {
      writer_.attention("attention", false, true);
    } else {
      const std::int64_t seen = question.tokens_with_keys();
      quantise("key_up", seen, model_.kv_rank);
      writer_.gemm("key_up", heads * model_.latent_head(), model_.kv_rank, seen);
      writer_.attention("attention", false);
      writer_.decoding_attention("attention", true);
    }
    if (absorbing > 0) writer_.gemm("value_up", model_.values(), model_.kv_rank, absorbing, heads);
    writer_.go_with_attention(false);
  }

  void activate(double elements, const std::string& of = "") {
    if (model_.experts_alone) {
      writer_.operate(of + "activation", Kind::elementwise, "swiglu", elements);
    } else if (compiled() && model_.gates()) {
      writer_.operate(of + "activation", Kind::elementwise, "compiled_swiglu", elements);
    } else if (model_.gates()) {
      writer_.operate(of + "gate", Kind::elementwise, "silu_strided", elements);
      writer_.operate(of + "gated", Kind::elementwise, "mul_strided", elements);
    } else {
      writer_.operate(of + "activation", Kind::elementwise, model_.feed == Feed::gelu ? "gelu_erf" : "relu", elements);
    }
  }

  void feed_forward() {
    normalise_stream("ffn_norm");
    product("up", writer_.share(model_.first_ffn()), model_.hidden);
    activate(elements_of(tokens_, writer_.share(model_.ffn)));
    product("down", model_.hidden, writer_.share(model_.ffn));
    add_up("down");
  }

  // Returns whether kernels over peer memory exchange tokens; they gather, weight and add up themselves.
  bool by_peers() const { return writer_.question().ep > 1 && writer_.question().dispatch != Dispatch::all_to_all; }

  void experts() {
    const std::int64_t routed = writer_.tokens_to_route();
    const bool shares = model_.shared_ffn > 0;
    const bool beside = shares && writer_.question().ep > 1 && writer_.question().overlap != Overlap::none;
    normalise_stream("ffn_norm");
    if (shares && !beside) shared_experts();
    writer_.product("router", {.m = model_.experts, .n = routed, .k = model_.hidden}, true);
    const Experts experts = experts_of(writer_);
    const PassesOfExperts passes = passes_of_experts();
    operate(passes.before, routed, experts.sent);
    const auto between = [&] { operate(passes.between, routed, experts.sent); };
    exchange_and_multiply(experts, between, beside ? [this] { shared_experts(); } : std::function<void()>());
    operate(passes.behind, routed, experts.sent);
    if (shares) writer_.operate("shared_add", Kind::elementwise, "add", elements_of(shared_tokens(), model_.hidden));
    add_up("down", false);
  }

  // Models of experts alone run a framework's call; Half::experts of a layer is its exchanges and products only.
  void experts_by_one_call() {
    const std::int64_t routed = writer_.tokens_to_route();
    const Experts experts = experts_of(writer_);
    if (model_.experts_alone) operate(std::span(before_fused).subspan(fused_routing_passes), routed, experts.sent);
    exchange_and_multiply(experts);
    if (model_.experts_alone) operate(behind_fused, routed, experts.sent);
  }

  // PassesOfExperts are kernels before, between and after the products of experts. If kernels over peer memory exchange
  // tokens, only those that choose experts remain.
  struct PassesOfExperts {
    std::span<const ExpertPass> before, between, behind;
  };
  PassesOfExperts passes_of_experts() const {
    const std::span<const ExpertPass> eager(before_experts);
    const std::span<const ExpertPass> fused(before_fused);
    if (by_peers()) return {compiled() ? fused.first(fused_routing_passes) : eager.first(routing_passes), {}, {}};
    if (compiled()) return {fused, {}, behind_fused};
    return {eager, between_products, behind_experts};
  }

  void operate(std::span<const ExpertPass> passes, std::int64_t routed, std::int64_t copies) {
    for (const ExpertPass& pass : passes) operate(pass, routed, copies);
  }

  void operate(const ExpertPass& pass, std::int64_t routed, std::int64_t copies) {
    double elements = static_cast<double>(copies);
    if (pass.over == Over::choices) elements = elements_of(routed, model_.experts);
    if (pass.over == Over::flags) elements = elements_of(copies, model_.experts);
    if (pass.over == Over::features) elements = elements_of(copies, model_.hidden);
    if (pass.over == Over::tokens) elements = elements_of(routed, model_.hidden);
    constexpr sim::Bytes of_index{8.0};
    const sim::Bytes element = pass.element == Element::single    ? single_precision
                               : pass.element == Element::indices ? of_index
                                                                  : writer_.element();
    const int passes = pass.passes == by_number ? passes_of_sort(copies) : pass.passes;
    writer_.operate(pass.name, pass.kind, pass.operation, elements, element,
                    passes > 0 ? passes * usual_piece : model_.experts);
  }

  // Returns the tokens for which a GPU computes shared experts: its share if the tp GPUs route different tokens.
  std::int64_t shared_tokens() const { return writer_.routes_shares() ? writer_.tokens_to_route() : tokens_; }
  void shared_experts() {
    const std::int64_t ffn = writer_.shared_ffn();
    const std::int64_t tokens = shared_tokens();
    quantise_behind_rows("shared_up", tokens, model_.hidden);
    writer_.gemm("shared_up", model_.first_shared_ffn() / model_.shared_ffn * ffn, model_.hidden, tokens);
    activate(elements_of(tokens, ffn), "shared_");
    quantise_behind_rows("shared_down", tokens, ffn);
    writer_.gemm("shared_down", model_.hidden, ffn, tokens);
  }

  // Writes the exchanges and products of experts: tokens are spread evenly over busy experts, which are one kernel.
  void exchange_and_multiply(const Experts& experts, const std::function<void()>& between = {},
                             const std::function<void()>& beside = {}) {
    const std::int64_t first = model_.first_ffn() / model_.ffn * experts.ffn;
    // Compiled steps have kernels of their own for experts, as serving systems do.
    const auto multiply = [&](const char* name, std::int64_t out, std::int64_t in) {
      writer_.product(name,
                      {.m = out, .n = experts.tokens, .k = in, .products = experts.busy, .of_experts = compiled()});
    };
    write_dispatch(writer_, "dispatch", experts, beside);
    if (!by_peers()) quantise("up", experts.copies, model_.hidden);
    writer_.count_products(experts.of_model);
    multiply("up", first, model_.hidden);
    activate(elements_of(experts.copies, experts.ffn));
    quantise("down", experts.copies, experts.ffn);
    if (between) between();
    multiply("down", model_.hidden, experts.ffn);
    writer_.count_products(1.0);
    write_combine(writer_, "combine", experts);
  }

  StepWriter& writer_;
  const ModelSpec& model_;
  std::int64_t tokens_;
  std::vector<Written> scattered_;  // scatters that the sum after a product in pieces waits for
};

}  // namespace

Written write_forward(StepWriter& writer, bool again) {
  writer.do_again(again);
  Forward(writer).write();
  writer.do_again(false);
  return writer.last();
}

}  // namespace c3sim::study
