// What can be asked of a whole step of a model on one node.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/collective.h"
#include "models/platform/dtype.h"
#include "sim/config/choice.h"
#include "study/network/model_spec.h"
#include "study/network/routing.h"
#include "study/network/split.h"

namespace c3sim::study {

enum class Phase { decode, prefill, train };
constexpr auto all_names(Phase) { return sim::names("decode", "prefill", "train"); }
enum class Optimizer { none, adam, lamb };
constexpr auto all_names(Optimizer) { return sim::names("none", "adam", "lamb"); }
// How tokens get to their experts on other GPUs, and back. A copy for each expert, by an all-to-all of libraries; or as
// DeepEP and MORI have it, by kernels over peer memory that gather and add up themselves: each token once to every GPU
// that has any of its experts, behind an exchange of counts (high throughput), or a copy for each expert to where that
// expert's input lies, without one (low latency).
enum class Dispatch { all_to_all, high_throughput, low_latency };
constexpr auto all_names(Dispatch) { return sim::names("all_to_all", "high_throughput", "low_latency"); }
// Nothing runs beside the exchanges of a layer (none), or the experts that all tokens use run beside them
// (shared_experts), or these and the other half of the sequences, so that one half computes while the other
// communicates (two_batches; DeepSeek-V3, arXiv 2412.19437).
enum class Overlap { none, shared_experts, two_batches };
constexpr auto all_names(Overlap) { return sim::names("none", "shared_experts", "two_batches"); }
// Between products a framework runs a kernel for each operation (eager), or those that a compiler fuses them to, as
// systems that serve do (compiled): a sum with the norm behind it, an activation with the product of its halves, rope
// of queries and keys.
enum class Kernels { eager, compiled };
constexpr auto all_names(Kernels) { return sim::names("eager", "compiled"); }
enum class Half { both, attention, feed_forward, experts };  // of a layer; experts: their exchanges and products only
constexpr auto all_names(Half) { return sim::names("both", "attention", "feed_forward", "experts"); }
using sim::to_string;

inline constexpr sim::Bytes single_precision{4.0};  // of weights that are updated, gradients and states

// What moves data between GPUs.
struct Carrier {
  std::optional<models::Backend> backend;  // none: of each kind of collective what makes the step fastest
  // T3: products whose results tensor parallelism adds up are fused with the half of it that reduces
  // (models/collectives/fused_gemm.h); else by the backend.
  bool fuses = false;
  // All-reduces by the kernels over peer memory that serving frameworks have, where they are small; else by the
  // backend.
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
std::vector<sim::Choice<Carrier>> all_choices(Carrier);  // these, "t3", and "auto" for none of them

// What carries one collective of a step.
struct CollectiveCarrier {
  models::Backend backend = models::Backend::rccl;
  std::optional<int> channels{};  // workgroups of its kernels; none: as StepQuestion::channels has it

  auto operator<=>(const CollectiveCarrier&) const = default;
};
std::string to_string(const CollectiveCarrier& carrier);  // "rccl/16"
// Collectives of a name are chosen together: of pieces and buckets the name is without their numbers.
std::string_view collective_name(std::string_view operation);
using CollectiveCarriers = std::map<std::string, CollectiveCarrier, std::less<>>;

struct LayerGroup;

// Layers that are simulated: of each kind so many at most, and of one kind fewer.
struct FewLayers {
  FewLayers(std::int64_t of_each) : each(of_each) {}
  FewLayers(std::int64_t of_each, std::size_t of_kind, std::int64_t by) : each(of_each), kind(of_kind), fewer(by) {}

  std::int64_t each;
  std::size_t kind = 0;
  std::int64_t fewer = 0;
};

struct StepQuestion : Split {
  ModelSpec model;
  std::optional<int> layers{};  // that many and nothing else: no embedding, no head
  Phase phase = Phase::decode;
  std::int64_t batch = 1;    // sequences of each replica
  std::int64_t tokens = 1;   // new ones of each sequence
  std::int64_t context = 0;  // cached ones of each sequence
  // Beside a prefill, in the same step: sequences that have a new token each, and the cached ones of each of these.
  std::int64_t decoding = 0;
  std::int64_t decoding_context = 0;
  models::Dtype dtype = models::Dtype::bf16;  // of products, and of all else that `formats` does not say otherwise
  Formats formats{};
  Routing routing{};
  Dispatch dispatch = Dispatch::all_to_all;
  Overlap overlap = Overlap::none;
  Kernels kernels = Kernels::eager;
  bool graph = false;  // launched from a captured graph; else op by op by the host
  Optimizer optimizer = Optimizer::none;
  bool forward = false;  // of training: no gradients
  // GPUs that share out products share out tokens between them, too, and gather and reduce them in so many pieces;
  // none: every GPU has all tokens, and products are added up by an all-reduce.
  std::optional<int> pieces{};
  std::optional<int> ffn_pieces{};  // of the feed-forward half, where that has others
  bool recompute = false;           // of training: activations of a layer are computed again before its gradient
  Half half = Half::both;           // of each layer
  Carrier collectives = models::Backend::rccl;              // where it can
  CollectiveCarriers chosen{};                              // of some, whatever carries the others
  std::optional<int> channels{};                            // of kernels that carry collectives; none: the library's
  models::SdmaVariant variant = models::SdmaVariant::pcpy;  // on engines, of the collectives that have it
  bool prelaunch = false;                                   // on engines: commands are queued before the step
  sim::Time pause{0};                                       // of the hosts before each step, as between barriers

  auto operator<=>(const StepQuestion&) const = default;

  // Of those that were not chosen one by one; and of a collective of that name.
  models::Backend carrier_of(models::CollectiveKind kind) const;
  CollectiveCarrier carrier_of(std::string_view collective, models::CollectiveKind kind) const;
  bool decides_by_size(std::string_view collective, models::CollectiveKind kind) const;
  // Of one of so many bytes on each of so many GPUs.
  CollectiveCarrier carrier_of(std::string_view collective, models::CollectiveKind kind, sim::Bytes bytes,
                               int gpus) const;
  bool fuses() const { return collectives.fuses && tp > 1; }
  // Heads of keys and values on a GPU: one at least, of which several GPUs then hold the same.
  std::int64_t kv_heads() const { return std::max<std::int64_t>(1, model.kv_heads / tp); }
  // Features of a token that a layer keeps on a GPU: latent attention's are not shared out.
  std::int64_t cached_features() const {
    return model.is_latent() ? model.cached_features() : kv_heads() * (model.head_dim + model.values());
  }
  models::Dtype activation_format() const { return formats.activations.value_or(dtype); }
  models::Dtype cache_format() const { return formats.cache.value_or(activation_format()); }
  sim::Bytes weight_element() const { return size_of(formats.weights.value_or(dtype)); }
  // Embedding and head stay as the stream is where weights are packed.
  sim::Bytes end_element() const { return formats.weights ? size_of(activation_format()) : size_of(dtype); }
  sim::Bytes gradient_element() const { return formats.gradients ? size_of(*formats.gradients) : single_precision; }
  // Whether products are given what the stream has in a smaller format, with a scale.
  bool quantises() const { return formats.activations && size_of(dtype) < size_of(*formats.activations); }
  // The layers of a stage that are alike, each kind of the model's with the question of it; none of some kinds.
  std::vector<LayerGroup> groups(FewLayers few = most_layers, int stage = 0) const;
  std::int64_t layer_count() const { return layers ? *layers : model.layers; }
  // Where layers do not come out even, stages before the last have one more each (vLLM, get_pp_indices).
  std::int64_t layers_of(int stage) const {
    const bool has_one_more = stage < pp - 1 && pp - 1 - stage <= layer_count() % pp;
    return layer_count() / pp + (has_one_more ? 1 : 0);
  }
  // Of the stage that has most.
  std::int64_t stage_layers() const { return (layer_count() + pp - 1) / pp; }
  models::LaunchMode launch() const { return graph ? models::LaunchMode::graph : models::LaunchMode::op_by_op; }
  // Sums that are shared out in pieces wait for these one by one: they stay kernels of their own.
  bool compiles_sums() const { return kernels == Kernels::compiled && !pieces; }
  bool trains() const { return phase == Phase::train && !forward; }
  // Automatic mixed precision (PyTorch's autocast): weights and the stream between layers are in single precision, each
  // product reads its input and its weights cast to the format that it multiplies in.
  bool mixes() const { return phase == Phase::train && shard == Shard::none && size_of(dtype) < single_precision; }
  // Embeddings give it so; layers alone are given the format of the products.
  bool wide_stream() const { return mixes() && !layers; }
  std::int64_t new_tokens() const { return batch * tokens + decoding; }  // of a replica
  // The model, and the formats that its file tells of, where none but the usual one is asked for.
  void take(const ReadModel& read);
};

// What is said of a step, before its model has been read.
struct StepWords : StepQuestion {
  std::string model_name{};
  std::string ignored_keys{};  // of its config.json, separated by commas
  std::string like{};          // what its config.json is read as

  auto operator<=>(const StepWords&) const = default;
};
ReadModel read_model_of(const StepWords& words);

struct LayerGroup {
  StepQuestion question;  // whose model has these layers alone
  std::string prefix;     // before the names of their operations
  std::int64_t layers = 0;
};

}  // namespace c3sim::study
