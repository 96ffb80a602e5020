// A transformer as data: its extents, and what its layers consist of. From configs/models, or from a config.json of
// Hugging Face.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/choice.h"
#include "sim/config/config_error.h"

namespace c3sim::study {

enum class Norm { layer, rms };
constexpr auto all_names(Norm) { return sim::names("layer", "rms"); }
enum class Feed { gelu, relu, swiglu };  // what the feed-forward half has between its products
constexpr auto all_names(Feed) { return sim::names("gelu", "relu", "swiglu"); }
enum class Positions { rotary, learned, none };  // how a token knows where it stands
constexpr auto all_names(Positions) { return sim::names("rotary", "learned", "none"); }

struct ModelSpec {
  std::string name;
  std::int64_t layers = 1;
  std::int64_t hidden = 1;  // features of a token
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;  // of keys and values; heads are a multiple
  std::int64_t head_dim = 1;
  std::int64_t ffn = 1;  // features between the products of the feed-forward half, of one expert
  std::int64_t vocabulary = 1;
  std::int64_t positions = 0;  // that it knows; 0: no bound
  std::int64_t window = 0;     // that a token sees at most, itself the last of them; 0: all
  Positions position = Positions::rotary;
  Norm norm = Norm::rms;
  Feed feed = Feed::swiglu;
  bool causal = true;              // a token sees those before it alone
  bool biases = false;             // of all products
  bool qkv_biases = false;         // of the first alone
  bool tied = false;               // the last product has the weights of the embedding
  double dropout = 0.0;            // share of the results of each half of a layer that training leaves out
  double attention_dropout = 0.0;  // the same of the scores of attention
  double scored = 1.0;             // share of the tokens whose output training scores
  std::int64_t experts = 0;        // of a layer, 0: one feed-forward half for all tokens
  std::int64_t experts_used = 0;   // by a token

  auto operator<=>(const ModelSpec&) const = default;

  std::int64_t query_features() const { return heads * head_dim; }
  // Of so many tokens, those that the last one sees, and whose keys and values are kept.
  std::int64_t seen(std::int64_t tokens) const { return window == 0 ? tokens : std::min(tokens, window); }
  std::int64_t kv_features() const { return kv_heads * head_dim; }
  // Features that the first product of the feed-forward half gives: gates and values.
  std::int64_t first_ffn() const { return feed == Feed::swiglu ? 2 * ffn : ffn; }
  // Weights of a layer's products, norms and biases; those of all layers, and of the embeddings and the head.
  std::int64_t layer_parameters() const;
  std::int64_t expert_parameters() const;  // of these, of experts
  // Of these, of norms, the router and biases behind a sum: GPUs that share out products have them in whole.
  std::int64_t whole_parameters() const;
  std::int64_t end_parameters() const;
  std::int64_t parameters() const { return layers * layer_parameters() + end_parameters(); }
};

// A path of a .yaml or .json file, or the name of one of configs/models. Throws sim::ConfigError with all that is wrong
// with it: unknown, missing and contradictory keys, heads that do not divide.
ModelSpec read_model(const std::string& name_or_path, std::span<const std::filesystem::path> config_folders);

// Where it is read from. Throws sim::ConfigError where it is no path and no model is named so.
std::filesystem::path model_file(const std::string& name_or_path,
                                 std::span<const std::filesystem::path> config_folders);

std::vector<std::string> model_names(std::span<const std::filesystem::path> config_folders);

// The same of the text of a Hugging Face config.json; `file` stands for it in positions.
ModelSpec read_hugging_face(std::string_view text, const std::string& file);

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

}  // namespace c3sim::study
