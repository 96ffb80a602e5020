// A transformer as data: its extents, and what its layers consist of. It is read from configs/models, or from a
// config.json of Hugging Face as configs/architectures.json says.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/platform/dtype.h"
#include "sim/config/choice.h"
#include "sim/config/config_error.h"

namespace c3sim::study {

enum class Norm { layer, rms };
constexpr auto all_names(Norm) { return sim::names("layer", "rms"); }
// What the feed-forward half has between its products; the last two multiply a gate by a value.
enum class Feed { gelu, relu, geglu, swiglu };
constexpr auto all_names(Feed) { return sim::names("gelu", "relu", "geglu", "swiglu"); }
enum class Positions { rotary, learned, none };  // how a token knows where it stands
constexpr auto all_names(Positions) { return sim::names("rotary", "learned", "none"); }
// Norms of queries and of keys before attention: of each head, or of all features of a token.
enum class QueryNorm { none, heads, all };
constexpr auto all_names(QueryNorm) { return sim::names("none", "heads", "all"); }

// What some of the layers have otherwise than the model says.
struct LayerVariant {
  std::string name;                  // before the names of its operations
  std::vector<std::int64_t> layers;  // by index, in order
  std::optional<std::int64_t> window{};
  std::optional<std::int64_t> ffn{};
  std::optional<std::int64_t> experts{};
  std::optional<std::int64_t> experts_used{};
  std::optional<std::int64_t> shared_ffn{};

  auto operator<=>(const LayerVariant&) const = default;
};

struct LayerKind;

struct ModelSpec {
  std::string name;
  std::int64_t layers = 1;
  std::int64_t hidden = 1;  // features of a token
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;    // of keys and values; heads are a multiple
  std::int64_t head_dim = 1;    // of queries and keys
  std::int64_t value_dim = 0;   // of values; 0: as many as of keys
  std::int64_t query_rank = 0;  // features that queries are projected to and up from; 0: they are projected at once
  // Features that keys and values are projected to together and up from (latent attention: DeepSeek-V2, arXiv
  // 2405.04434), which are cached in their place; 0: none. Beside them each token has a key's last features, which turn
  // with its position and which all heads share.
  std::int64_t kv_rank = 0;
  std::int64_t rotary_dim = 0;
  std::int64_t ffn = 1;  // features between the products of the feed-forward half, of one expert
  std::int64_t vocabulary = 1;
  std::int64_t positions = 0;  // that it knows; 0: no bound
  std::int64_t window = 0;     // that a token sees at most, itself the last of them; 0: all
  Positions position = Positions::rotary;
  Norm norm = Norm::rms;
  Feed feed = Feed::swiglu;
  QueryNorm query_norm = QueryNorm::none;
  bool causal = true;              // a token sees those before it alone
  bool biases = false;             // of all products
  bool qkv_biases = false;         // of the first alone
  bool after_norms = false;        // what each half of a layer gives is normed, too
  bool sinks = false;              // each head has a score that no value belongs to
  bool soft_cap = false;           // scores of attention pass a hyperbolic tangent
  bool head_soft_cap = false;      // scores of words do
  bool tied = false;               // the last product has the weights of the embedding
  double dropout = 0.0;            // share of the results of each half of a layer that training leaves out
  double attention_dropout = 0.0;  // the same of the scores of attention
  double scored = 1.0;             // share of the tokens whose output training scores
  std::int64_t experts = 0;        // of a layer, 0: one feed-forward half for all tokens
  std::int64_t experts_used = 0;   // by a token
  std::int64_t shared_ffn = 0;     // features of the experts that all tokens use, of all these together
  bool experts_alone = false;      // nothing else of it is known, so that no other half of a layer can be asked for
  std::vector<LayerVariant> variants{};

  auto operator<=>(const ModelSpec&) const = default;

  bool is_latent() const { return kv_rank > 0; }
  std::int64_t values() const { return value_dim == 0 ? head_dim : value_dim; }
  std::int64_t query_features() const { return heads * head_dim; }
  std::int64_t kv_features() const { return kv_heads * head_dim; }
  // Features of a token that are projected to attention's ranks at once: queries' unless they are projected whole.
  std::int64_t latent_features() const { return query_rank + kv_rank + rotary_dim; }
  // Features of a head that latent attention makes of the cached ones: the rest of its key, and its value.
  std::int64_t latent_head() const { return head_dim - rotary_dim + values(); }
  // Of so many tokens, those that the last one sees, and whose keys and values are kept.
  std::int64_t seen(std::int64_t tokens) const { return window == 0 ? tokens : std::min(tokens, window); }
  // Features of a token that a layer keeps for the tokens behind it.
  std::int64_t cached_features() const { return is_latent() ? kv_rank + rotary_dim : kv_heads * (head_dim + values()); }
  bool gates() const { return feed == Feed::swiglu || feed == Feed::geglu; }
  // Features that the first product of the feed-forward half gives: gates and values.
  std::int64_t first_ffn() const { return (gates() ? 2 : 1) * ffn; }
  std::int64_t first_shared_ffn() const { return (gates() ? 2 : 1) * shared_ffn; }

  // The layers that are alike, of the first so many, those of the first layer first. With `from` and `to` those of
  // these that lie between, by the same kinds in the same order, of which there may be none.
  std::vector<LayerKind> kinds(std::int64_t of_layers) const;
  std::vector<LayerKind> kinds(std::int64_t of_layers, std::int64_t from, std::int64_t to) const;

  // Weights of a layer's products, norms and biases, where all are as the model says; those of all layers, and of the
  // embeddings and the head.
  std::int64_t layer_parameters() const;
  std::int64_t expert_parameters() const;  // of these, of experts but the shared ones
  std::int64_t shared_parameters() const;  // of these, of the shared ones
  // GPUs that share out products have these in whole: norms, the router, the projections to ranks and biases behind a
  // sum.
  std::int64_t whole_parameters() const;
  std::int64_t end_parameters() const;
  std::int64_t parameters() const;
  std::int64_t used_parameters() const;  // by a token: of its experts alone
};

struct LayerKind {
  ModelSpec model;     // of layers that are all alike
  std::string prefix;  // before the names of their operations: "", or "dense_"
  std::int64_t layers = 0;
};

// How numbers lie in memory, part by part; none: as products have them.
struct Formats {
  std::optional<models::Dtype> weights{};
  std::optional<models::Dtype> activations{};  // of the stream between products, and what GPUs exchange of it
  std::optional<models::Dtype> cache{};        // keys and values
  std::optional<models::Dtype> gradients{};

  auto operator<=>(const Formats&) const = default;
};

inline constexpr std::array<std::pair<std::string_view, std::optional<models::Dtype> Formats::*>, 4> parts_with_formats{
    {{"weights", &Formats::weights},
     {"activations", &Formats::activations},
     {"cache", &Formats::cache},
     {"gradients", &Formats::gradients}}};
// That of products and those of parts that are told apart: "bf16,weights=int4,cache=fp8".
std::string to_string(models::Dtype products, const Formats& parts);

struct ReadModel {
  ModelSpec model;
  std::optional<models::Dtype> products{};  // what its file says that they are computed in
  Formats formats{};                        // and how its numbers lie
  std::vector<std::string> ignored{};       // what of it is left out or taken for something else, in sentences
};

// A path of a .yaml or .json file, the name of one of configs/models, or experts alone as benchmarks of fused experts
// have them: "experts:7168x2048x33x9", features of a token and of an expert between its products, experts, and those
// that a token uses. Of a config.json keys that `ignored_keys` names, separated by commas, are left out, and the
// architecture is that of `like`, where it is given: a model_type or another config.json. Throws sim::ConfigError with
// all that is wrong with it: unknown, missing and contradictory keys, heads that do not divide.
ReadModel read_model_file(const std::string& name_or_path, std::span<const std::filesystem::path> config_folders,
                          const std::string& ignored_keys = {}, const std::string& like = {});
inline ModelSpec read_model(const std::string& name_or_path, std::span<const std::filesystem::path> config_folders) {
  return read_model_file(name_or_path, config_folders).model;
}

// Whether it is of experts alone, which no file describes.
inline constexpr std::string_view experts_prefix = "experts:";
inline bool names_experts(std::string_view name) { return name.starts_with(experts_prefix); }

// Where it is read from. Throws sim::ConfigError where it is no path and no model is named so.
std::filesystem::path model_file(const std::string& name_or_path,
                                 std::span<const std::filesystem::path> config_folders);

// What a repository of Hugging Face holds, as results of serving name it: "meta-llama/Llama-3.1-70B-Instruct".
struct HeldModel {
  std::string model;    // its name in the folder of models
  std::string weights;  // the format that its weights are published in, "fp8"; empty: one of two bytes
};

// What models/repositories.csv of the first folder that has this file says of the longest beginning of the name that it
// knows; behind the owner, letters large or small. Nothing where it knows none, or says that no model is known. A
// repository that is called as a file of one of the folders of models is that model, whatever the table says.
std::optional<HeldModel> held_by_repository(std::string_view repository,
                                            std::span<const std::filesystem::path> config_folders);

std::vector<std::string> model_names(std::span<const std::filesystem::path> config_folders);

// The same of the text of a Hugging Face config.json; `file` stands for it in positions.
ReadModel read_hugging_face(std::string_view text, const std::string& file,
                            std::span<const std::filesystem::path> config_folders,
                            std::span<const std::string> ignores = {}, const std::string& like = {});

// The extents that a network file tells, by its keys; what may differ from layer to layer.
struct Extent {
  std::string_view key;
  std::int64_t ModelSpec::*value;
  std::int64_t least;
  std::int64_t most;
  std::optional<std::int64_t> LayerVariant::*varies = nullptr;
};
std::span<const Extent> extents();

// Indices of the first layers, or of each so many-th, of so many; 0: none of these.
std::vector<std::int64_t> layers_of_pattern(std::int64_t layers, std::int64_t first, std::int64_t every);

// What contradicts itself, each in one sentence that says what would be accepted; `where` is the key of a .yaml file
// that it is about. The size of a head follows from that of all where it is not said.
std::vector<sim::Fault> contradictions(const ModelSpec& model, bool says_head_dim);

// Up to which extents may be.
inline constexpr std::int64_t most_features = 1 << 20;
inline constexpr std::int64_t most_head_features = 4096;
inline constexpr std::int64_t most_layers = 10'000;
inline constexpr std::int64_t most_words = 1 << 24;
inline constexpr std::int64_t most_positions = 1 << 30;
inline constexpr std::int64_t most_experts = 4096;

// Reads the extents and features of a network from a source of values by key, which has integer(), number(), flag() and
// choice() as sim::Section has them.
template <class Source>
ModelSpec read_network(Source& from) {
  ModelSpec model;
  for (const Extent& extent : extents()) {
    std::optional<std::int64_t> fallback = model.*extent.value;
    if (extent.key == "kv_heads") fallback = model.heads;
    if (extent.key == "head_dim") fallback = std::max<std::int64_t>(1, model.hidden / model.heads);
    for (const char* const due : {"layers", "hidden", "heads", "ffn", "vocabulary"}) {
      if (extent.key == due) fallback.reset();
    }
    model.*extent.value = from.integer(extent.key, extent.least, extent.most, fallback);
  }
  const auto choose = [&from](std::string_view key, auto& value) {
    using Choice = std::remove_reference_t<decltype(value)>;
    value = from.template choice<Choice>(key, sim::choices_of<Choice>(), value);
  };
  choose("position", model.position);
  choose("norm", model.norm);
  choose("feed", model.feed);
  choose("query_norm", model.query_norm);
  model.causal = from.flag("causal", true);
  model.biases = from.flag("biases", false);
  model.qkv_biases = from.flag("qkv_biases", model.biases);
  model.after_norms = from.flag("after_norms", false);
  model.sinks = from.flag("sinks", false);
  model.soft_cap = from.flag("soft_cap", false);
  model.head_soft_cap = from.flag("head_soft_cap", false);
  model.tied = from.flag("tied", false);
  model.dropout = from.number("dropout", 0.0, 0.99, 0.0);
  model.attention_dropout = from.number("attention_dropout", 0.0, 0.99, model.dropout);
  model.scored = from.number("scored", 0.001, 1.0, 1.0);
  return model;
}

}  // namespace c3sim::study
