// A ModelSpec describes a transformer as data: its extents and the makeup of its layers. The functions read one from a
// file of configs/models, or from a config.json of Hugging Face as configs/architectures.json prescribes.
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

#include "models/platform/gemm_shape.h"
#include "sim/config/choice.h"
#include "sim/config/config_error.h"

namespace c3sim::study {

enum class Norm { layer, rms };
constexpr auto all_names(Norm) { return sim::names("layer", "rms"); }
// A Feed is the activation between the products of the feed-forward half; geglu and swiglu multiply a gate by a value.
enum class Feed { gelu, relu, geglu, swiglu };
constexpr auto all_names(Feed) { return sim::names("gelu", "relu", "geglu", "swiglu"); }
enum class Positions { rotary, learned, none };  // how attention learns the position of a token
constexpr auto all_names(Positions) { return sim::names("rotary", "learned", "none"); }
// A QueryNorm says how queries and keys are normed before attention: not, per head, or over all features of a token.
enum class QueryNorm { none, heads, all };
constexpr auto all_names(QueryNorm) { return sim::names("none", "heads", "all"); }

// A LayerVariant lists layers that differ from the model, and the values that differ in these layers.
struct LayerVariant {
  std::string name;                  // prefix of the names of its operations
  std::vector<std::int64_t> layers;  // indices of the layers, in ascending order
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
  std::int64_t kv_heads = 1;    // heads of keys and values; `heads` is a multiple of it
  std::int64_t head_dim = 1;    // features of a head's queries and keys
  std::int64_t value_dim = 0;   // features of a head's values; 0: head_dim
  std::int64_t query_rank = 0;  // rank that queries are projected to and up from; 0: queries are projected directly
  // `kv_rank` is the rank that keys and values are jointly projected to and up from in latent attention (DeepSeek-V2,
  // arXiv 2405.04434); 0 means other attention. The cache holds these features. `rotary_dim` is the number of last
  // features of a key, which carry the rotary position, are shared by all heads and are cached as well.
  std::int64_t kv_rank = 0;
  std::int64_t rotary_dim = 0;
  std::int64_t ffn = 1;  // features between the products of the feed-forward half, or of one expert
  std::int64_t vocabulary = 1;
  std::int64_t positions = 0;  // longest sequence that the model supports; 0: unlimited
  std::int64_t window = 0;     // most tokens that a token attends to, including itself; 0: all
  Positions position = Positions::rotary;
  Norm norm = Norm::rms;
  Feed feed = Feed::swiglu;
  QueryNorm query_norm = QueryNorm::none;
  bool causal = true;              // a token attends to itself and to earlier tokens only
  bool biases = false;             // all products have biases
  bool qkv_biases = false;         // the product that makes queries, keys and values has biases
  bool after_norms = false;        // the result of each half of a layer is normed, too
  bool sinks = false;              // each head has an attention score that belongs to no value
  bool soft_cap = false;           // attention scores pass through a hyperbolic tangent
  bool head_soft_cap = false;      // scores of words pass through a hyperbolic tangent
  bool tied = false;               // the last product uses the weights of the embedding
  double dropout = 0.0;            // share of the results of each half of a layer that training drops
  double attention_dropout = 0.0;  // share of the attention scores that training drops
  double scored = 1.0;             // share of the tokens whose output training scores
  std::int64_t experts = 0;        // experts of a layer; 0: one feed-forward half for all tokens
  std::int64_t experts_used = 0;   // experts that a token uses
  std::int64_t shared_ffn = 0;     // sum of the features of the shared experts, which all tokens use
  bool experts_alone = false;      // only experts of the model are known; no other part of a layer can be simulated
  // The files of configs/layers that both halves of a layer are written from; empty: the shipped file for what the
  // model is, such as latent_attention.
  std::string attention{};
  std::string feed_forward{};
  std::vector<LayerVariant> variants{};

  auto operator<=>(const ModelSpec&) const = default;

  bool is_latent() const { return kv_rank > 0; }
  std::int64_t values() const { return value_dim == 0 ? head_dim : value_dim; }
  // Returns how many of the given number of tokens the last one attends to; their keys and values are cached.
  std::int64_t seen(std::int64_t tokens) const { return window == 0 ? tokens : std::min(tokens, window); }
  bool gates() const { return feed == Feed::swiglu || feed == Feed::geglu; }

  // Returns the kinds of layers among the first `of_layers` layers, in the order of their first layers. With `from` and
  // `to`, each kind counts only its layers in [from, to), possibly none; kinds and their order stay the same.
  std::vector<LayerKind> kinds(std::int64_t of_layers) const;
  std::vector<LayerKind> kinds(std::int64_t of_layers, std::int64_t from, std::int64_t to) const;
};

struct LayerKind {
  ModelSpec model;     // a model all of whose layers are of this kind
  std::string prefix;  // prefix of the names of its operations: "", or "dense_"
  std::int64_t layers = 0;
};

// Formats says in which format each kind of data lies in memory; nullopt means the format of the products.
struct Formats {
  std::optional<models::Dtype> weights{};
  std::optional<models::Dtype> attention{};    // weights of its products, which then multiply as activations do
  std::optional<models::Dtype> activations{};  // the stream between products, and what GPUs exchange of it
  std::optional<models::Dtype> cache{};        // keys and values
  std::optional<models::Dtype> gradients{};

  auto operator<=>(const Formats&) const = default;
};

inline constexpr std::array<std::pair<std::string_view, std::optional<models::Dtype> Formats::*>, 5> parts_with_formats{
    {{"weights", &Formats::weights},
     {"attention", &Formats::attention},
     {"activations", &Formats::activations},
     {"cache", &Formats::cache},
     {"gradients", &Formats::gradients}}};
// Returns the format of products, then the formats of Formats that are set: "bf16,weights=int4,cache=fp8".
std::string to_string(models::Dtype products, const Formats& parts);

struct ReadModel {
  ModelSpec model;
  std::optional<models::Dtype> products{};  // format of products, if the file says one
  Formats formats{};                        // formats in memory
  std::vector<std::string> ignored{};       // sentences about what the file says that is left out or approximated
};

// Reads a model: the path of a .yaml or .json file, the name of a file of configs/models, or experts alone as in
// benchmarks of fused experts: "experts:7168x2048x33x9", which are features of a token, features between the products
// of an expert, experts, and experts that a token uses. `ignored_keys` are keys of a config.json to leave out,
// separated by commas; `like` is a model_type or another config.json, whose architecture is assumed. Throws
// sim::ConfigError with all that is wrong: unknown, missing and contradictory keys, heads that do not divide.
ReadModel read_model_file(const std::string& name_or_path, std::span<const std::filesystem::path> config_folders,
                          const std::string& ignored_keys = {}, const std::string& like = {});
inline ModelSpec read_model(const std::string& name_or_path, std::span<const std::filesystem::path> config_folders) {
  return read_model_file(name_or_path, config_folders).model;
}

// A name with this prefix stands for experts alone and is no file.
inline constexpr std::string_view experts_prefix = "experts:";
inline bool names_experts(std::string_view name) { return name.starts_with(experts_prefix); }

// Returns the file that a model is read from. Throws sim::ConfigError if the text is no path and names no model.
std::filesystem::path model_file(const std::string& name_or_path,
                                 std::span<const std::filesystem::path> config_folders);

// A HeldModel is the model of a Hugging Face repository, such as "meta-llama/Llama-3.1-70B-Instruct".
struct HeldModel {
  std::string model;    // its name in configs/models
  std::string weights;  // the format that its weights are published in, such as "fp8"; empty: one of two bytes
};

// Looks a repository up in the first models/repositories.csv of the folders: the row with the longest matching
// beginning of the name counts, without owner and regardless of case. Returns nothing if no row matches or the row has
// no model. A repository with the exact name of a file of configs/models is that model, whatever the table says.
std::optional<HeldModel> held_by_repository(std::string_view repository,
                                            std::span<const std::filesystem::path> config_folders);

std::vector<std::string> model_names(std::span<const std::filesystem::path> config_folders);

// Reads a model as read_model_file() does from the text of a config.json; `file` is its name in messages.
ReadModel read_hugging_face(std::string_view text, const std::string& file,
                            std::span<const std::filesystem::path> config_folders,
                            std::span<const std::string> ignores = {}, const std::string& like = {});

// An Extent is a number of a network file: its key, its member, its limits, and its LayerVariant member if it varies.
struct Extent {
  std::string_view key;
  std::int64_t ModelSpec::*value;
  std::int64_t least;
  std::int64_t most;
  std::optional<std::int64_t> LayerVariant::*varies = nullptr;
};
std::span<const Extent> extents();

// Returns the indices of the first `first` of `layers` layers, and of each `every`-th; 0 stands for none.
std::vector<std::int64_t> layers_of_pattern(std::int64_t layers, std::int64_t first, std::int64_t every);

// Returns the contradictions of a model, each in one sentence that says what would be accepted; `where` is the key of a
// .yaml file. `says_head_dim`: the file has the size of a head, which otherwise follows from hidden / heads.
std::vector<sim::Fault> contradictions(const ModelSpec& model, bool says_head_dim);

// These are the upper limits of the extents.
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
