// A StepQuestion is all that can be asked of one step of a model on one node: the model, its split over GPUs, the
// phase, the formats and what carries its collectives.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/collectives/collective.h"
#include "models/platform/gemm_shape.h"
#include "sim/config/choice.h"
#include "study/network/model_spec.h"
#include "study/network/routing.h"

namespace c3sim::study {

// A Shard says what is sharded over the GPUs with the same weights: nothing, or weights, gradients and states.
enum class Shard { none, full };
constexpr auto all_names(Shard) { return sim::names("none", "full"); }
using sim::to_string;

// A Split says how the GPUs of a node share out a model and its sequences. All code that counts tokens, weights or
// reduced gradients asks it.
//
// A stage of a pipeline has tp x dp x cp GPUs: tp GPUs share out each product, cp GPUs each sequence, and dp replicas
// of these have their own sequences. Experts are shared out over the tp x dp GPUs (Megatron-LM, vLLM): ep divides that
// number, adds no GPU, and each of the ep ranks holds equally many whole experts. The GPUs of a rank share out the
// products of each of its experts, at most tp of them (Megatron-LM's expert tensor parallelism); remaining GPUs are
// replicas of the experts. Attention, norms and the router follow tp and dp.
struct Split {
  int tp = 1;     // tensor parallelism: GPUs that share out each product
  int ep = 1;     // expert parallelism: ranks among the tp x dp GPUs that share out the experts
  int dp = 1;     // data parallelism: replicas, each with its own sequences
  int cp = 1;     // context parallelism: GPUs that share out each sequence
  int pp = 1;     // pipeline parallelism: stages, each with its own layers and GPUs
  int micro = 1;  // micro-batches that a replica runs one after the other
  Shard shard = Shard::none;

  auto operator<=>(const Split&) const = default;

  int stage_gpus() const { return tp * dp * cp; }
  int gpus() const { return stage_gpus() * pp; }
  // Returns whether the step consists of turns, each of one stage and micro-batch.
  bool has_turns() const { return pp > 1 || micro > 1; }

  // Returns the number of GPUs with the same weights (except experts), which add up their gradients.
  int replicas() const { return dp * cp; }
  // expert_tp() GPUs share out each expert; expert_replicas() GPUs hold the same share of the same experts.
  int expert_tp() const { return std::gcd(tp, tp * dp / ep); }
  int expert_replicas() const { return std::max(1, stage_gpus() / (ep * expert_tp())); }
  // Returns the least dp with which ep ranks of experts are possible beside tp.
  int least_dp() const { return ep / std::gcd(ep, tp); }

  // The arguments are tokens of one replica. tokens_of_gpu() are those of one GPU, the same on all tp GPUs;
  // tokens_in_all() are those of all replicas.
  std::int64_t tokens_of_gpu(std::int64_t of_replica) const { return of_replica / cp; }
  std::int64_t tokens_in_all(std::int64_t of_replica) const { return of_replica * dp; }
  // Returns the tokens that a GPU sends to experts. With expert parallelism, the tp GPUs also share out tokens before
  // the router, padded to equal shares, and gather the results (sequence parallelism).
  std::int64_t tokens_to_route(std::int64_t of_replica) const {
    return ep == 1 ? tokens_of_gpu(of_replica) : (tokens_of_gpu(of_replica) + tp - 1) / tp;
  }
};

// Describes the split: "tp 4, ep 8, dp 2", or "one GPU".
inline std::string to_string(const Split& split) {
  std::string text;
  for (const auto& [name, parts] : {std::pair("tp ", split.tp),
                                    {"ep ", split.ep},
                                    {"dp ", split.dp},
                                    {"cp ", split.cp},
                                    {"pp ", split.pp},
                                    {"micro ", split.micro}}) {
    if (parts > 1) text += (text.empty() ? "" : ", ") + (name + std::to_string(parts));
  }
  return text.empty() ? "one GPU" : text;
}

enum class Phase { decode, prefill, train };
constexpr auto all_names(Phase) { return sim::names("decode", "prefill", "train"); }
enum class Optimizer { none, adam, lamb };
constexpr auto all_names(Optimizer) { return sim::names("none", "adam", "lamb"); }
// A Dispatch says how tokens get to experts on other GPUs and back. all_to_all: a library's all-to-all moves one copy
// per expert. The others are kernels over peer memory that gather and add up themselves, as in DeepEP and MORI:
// high_throughput sends each token once to every GPU with any of its experts, after an exchange of counts; low_latency
// sends a copy to the input of each expert, without that exchange.
enum class Dispatch { all_to_all, high_throughput, low_latency };
constexpr auto all_names(Dispatch) { return sim::names("all_to_all", "high_throughput", "low_latency"); }
// An Overlap says what runs during the exchanges of a layer: nothing, the experts that all tokens use (shared_experts),
// or these and the other half of the sequences, so that one half computes while the other communicates (two_batches;
// DeepSeek-V3, arXiv 2412.19437).
enum class Overlap { none, shared_experts, two_batches };
constexpr auto all_names(Overlap) { return sim::names("none", "shared_experts", "two_batches"); }
// Between products a framework runs one kernel per operation (eager), or kernels fused by a compiler as serving systems
// do (compiled): a sum with the norm after it, an activation with the product of its halves, rope of queries and keys.
enum class Kernels { eager, compiled };
constexpr auto all_names(Kernels) { return sim::names("eager", "compiled"); }
// A Half is the part of each layer that is simulated; `experts` are only their exchanges and products.
enum class Half { both, attention, feed_forward, experts };
constexpr auto all_names(Half) { return sim::names("both", "attention", "feed_forward", "experts"); }
using sim::to_string;

inline constexpr sim::Bytes single_precision{4.0};  // format of updated weights, gradients and states

// A Carrier says what moves data between GPUs.
struct Carrier {
  std::optional<models::Backend> backend;  // nullopt: the fastest backend for each kind of collective
  // With T3, products whose results tensor parallelism adds up are fused with the reduce-scatter half of the all-reduce
  // (models/collectives/fused_gemm.h).
  bool fuses = false;
  // Small all-reduces use the kernels over peer memory of serving frameworks, large ones the backend.
  bool by_size = false;

  Carrier(std::optional<models::Backend> by = {}, bool with_products = false) : backend(by), fuses(with_products) {}
  Carrier(models::Backend by, bool with_products = false) : backend(by), fuses(with_products) {}
  auto operator<=>(const Carrier&) const = default;
};
inline Carrier carrier_by_size() {
  Carrier carrier(models::Backend::rccl);
  carrier.by_size = true;
  return carrier;
}
std::string_view to_string(const Carrier& carrier);
std::vector<sim::Choice<Carrier>> plain_carriers();      // the backends, and "by_size"
std::vector<sim::Choice<Carrier>> all_choices(Carrier);  // plain_carriers(), "t3", and "auto" for no backend

// A CollectiveCarrier says what carries one collective of a step.
struct CollectiveCarrier {
  models::Backend backend = models::Backend::rccl;
  std::optional<int> channels{};  // workgroups of its kernels; nullopt: StepQuestion::channels

  auto operator<=>(const CollectiveCarrier&) const = default;
};
std::string to_string(const CollectiveCarrier& carrier);  // "rccl/16"
// Returns the name under which a collective's carrier is chosen: pieces and buckets drop their numbers and share it.
std::string_view collective_name(std::string_view operation);
using CollectiveCarriers = std::map<std::string, CollectiveCarrier, std::less<>>;

struct LayerGroup;

// Limits how many layers are simulated: `each` of every kind, and `fewer` below that of the kind at index `kind`.
struct FewLayers {
  FewLayers(std::int64_t of_each) : each(of_each) {}
  FewLayers(std::int64_t of_each, std::size_t of_kind, std::int64_t by) : each(of_each), kind(of_kind), fewer(by) {}

  std::int64_t each;
  std::size_t kind = 0;
  std::int64_t fewer = 0;
};

struct StepQuestion : Split {
  ModelSpec model;
  std::optional<int> layers{};  // simulates this many layers and neither embedding nor head
  Phase phase = Phase::decode;
  std::int64_t batch = 1;    // sequences of each replica
  std::int64_t tokens = 1;   // new tokens of each sequence
  std::int64_t context = 0;  // cached tokens of each sequence
  // `decoding` more sequences have one new token and `decoding_context` cached tokens each, in the step of a prefill.
  std::int64_t decoding = 0;
  std::int64_t decoding_context = 0;
  models::Dtype dtype = models::Dtype::bf16;  // of products, and of all data that `formats` does not set
  Formats formats{};
  Routing routing{};
  Dispatch dispatch = Dispatch::all_to_all;
  Overlap overlap = Overlap::none;
  Kernels kernels = Kernels::eager;
  bool graph = false;  // kernels are launched by a captured graph; otherwise by the host one by one
  Optimizer optimizer = Optimizer::none;
  bool forward = false;  // in training: no gradients
  // With `pieces`, the GPUs of tensor parallelism also share out tokens between products (sequence parallelism), and
  // gather and reduce them in this many pieces; nullopt: every GPU has all tokens, and products end in an all-reduce.
  std::optional<int> pieces{};
  std::optional<int> ffn_pieces{};  // of the feed-forward half, if it has another number
  bool recompute = false;           // in training: activations of a layer are computed again before its gradient
  Half half = Half::both;
  Carrier collectives = models::Backend::rccl;  // default for all collectives it can carry
  CollectiveCarriers chosen{};                  // of collectives by name, in place of `collectives`
  std::optional<int> channels{};                // of kernels that carry collectives; nullopt: the library's choice
  models::SdmaVariant variant = models::SdmaVariant::pcpy;  // of collectives by SDMA engines, if they have it
  bool prelaunch = false;                                   // SDMA commands are queued before the step
  sim::Time pause{0};                                       // of the hosts before each step, as between barriers

  auto operator<=>(const StepQuestion&) const = default;

  // Returns the carrier of a kind of collective, or of the collective of that name if one was chosen for it.
  models::Backend carrier_of(models::CollectiveKind kind) const;
  CollectiveCarrier carrier_of(std::string_view collective, models::CollectiveKind kind) const;
  bool decides_by_size(std::string_view collective, models::CollectiveKind kind) const;
  // Returns the carrier of a collective of `bytes` on each of `gpus` GPUs, whose size may decide.
  CollectiveCarrier carrier_of(std::string_view collective, models::CollectiveKind kind, sim::Bytes bytes,
                               int gpus) const;
  bool fuses() const { return collectives.fuses && tp > 1; }
  // Returns the heads of keys and values on a GPU: at least one, which several GPUs then hold alike.
  std::int64_t kv_heads() const { return std::max<std::int64_t>(1, model.kv_heads / tp); }
  // Returns the tokens that a GPU has in its cache at the end of the step.
  double cached_tokens() const {
    const std::int64_t decoded = decoding * model.seen(decoding_context + 1);
    return static_cast<double>(batch * model.seen(context + tokens) + decoded) / cp;
  }
  models::Dtype activation_format() const { return formats.activations.value_or(dtype); }
  models::Dtype cache_format() const { return formats.cache.value_or(activation_format()); }
  sim::Bytes weight_element() const { return size_of(formats.weights.value_or(dtype)); }
  // When weights are packed, embedding and head are in the format of the activations.
  sim::Bytes end_element() const { return formats.weights ? size_of(activation_format()) : size_of(dtype); }
  sim::Bytes gradient_element() const { return formats.gradients ? size_of(*formats.gradients) : single_precision; }
  // Returns the stage's kinds of layers, each with its question and how many of its layers `few` allows, perhaps 0. Of
  // Half::experts layers without experts have nothing.
  std::vector<LayerGroup> groups(FewLayers few = most_layers, int stage = 0) const;
  std::int64_t layer_count() const { return layers ? *layers : model.layers; }
  // If layers do not divide evenly, stages before the last have one more each (vLLM, get_pp_indices).
  std::int64_t layers_of(int stage) const {
    const bool has_one_more = stage < pp - 1 && pp - 1 - stage <= layer_count() % pp;
    return layer_count() / pp + (has_one_more ? 1 : 0);
  }
  // Returns the share of embedding and head that the first stage and the last each hold.
  double end_share() const { return pp == 1 || model.tied ? 1.0 : 0.5; }
  // Returns the layers of the largest stage.
  std::int64_t stage_layers() const { return (layer_count() + pp - 1) / pp; }
  models::LaunchMode launch() const { return graph ? models::LaunchMode::graph : models::LaunchMode::op_by_op; }
  bool trains() const { return phase == Phase::train && !forward; }
  // Returns whether training uses automatic mixed precision (PyTorch's autocast): weights and the stream between layers
  // are in single precision; each product casts its input and weights to the format that it multiplies in.
  bool mixes() const { return phase == Phase::train && shard == Shard::none && size_of(dtype) < single_precision; }
  // Returns whether the stream is in single precision, as from an embedding; layers alone get the products' format.
  bool wide_stream() const { return mixes() && !layers; }
  std::int64_t new_tokens() const { return batch * tokens + decoding; }  // of a replica
  // Takes the model, and the formats that its file gives unless the question already asks for other than the default.
  void take(const ReadModel& read);
  // Returns the question of the attention halves, whose weights may have the format of activations while others are
  // smaller.
  StepQuestion of_attention() const;
};

// StepWords are a question as the user words it, before its model has been read.
struct StepWords : StepQuestion {
  std::string model_name{};
  std::string ignored_keys{};  // keys of its config.json to ignore, separated by commas
  std::string like{};          // model_type or config.json whose architecture is assumed

  auto operator<=>(const StepWords&) const = default;
};
ReadModel read_model_of(const StepWords& words);

struct LayerGroup {
  StepQuestion question;  // its model has only layers of this kind
  std::string prefix;     // prefix of the names of its operations
  std::int64_t layers = 0;
};

}  // namespace c3sim::study
