#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "sim/config/config_error.h"
#include "sim/config/measurement_text.h"
#include "sim/config/nearest_name.h"
#include "study/step/model_remarks.h"
#include "study/step/model_spec.h"

namespace c3sim::study {

namespace {

using Json = nlohmann::ordered_json;

// Keys that tell nothing of how long a step takes: tokens, initial values, versions, what a library does with them.
constexpr std::string_view told_of_all =
    " torch_dtype dtype transformers_version bos_token_id eos_token_id pad_token_id sep_token_id cls_token_id "
    "unk_token_id decoder_start_token_id initializer_range initializer_factor use_cache gradient_checkpointing "
    "classifier_dropout id2label label2id auto_map _name_or_path _attn_implementation _attn_implementation_autoset "
    "problem_type return_dict output_attentions output_hidden_states torchscript chunk_size_feed_forward "
    "is_encoder_decoder ";
// The same of one architecture each.
constexpr std::string_view told_of_llama =
    " rms_norm_eps rope_theta rope_scaling rope_parameters pretraining_tp layer_types "
    "partial_rotary_factor ";
constexpr std::string_view told_of_mixtral =
    " rms_norm_eps rope_theta rope_scaling rope_parameters output_router_logits router_aux_loss_coef "
    "router_jitter_noise ";
constexpr std::string_view told_of_gpt2 =
    " layer_norm_epsilon summary_type summary_use_proj summary_activation summary_proj_to_labels "
    "summary_first_dropout task_specific_params reorder_and_upcast_attn scale_attn_weights "
    "scale_attn_by_inverse_layer_idx output_past ";
constexpr std::string_view told_of_bert =
    " layer_norm_eps layernorm_epsilon directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers "
    "pooler_size_per_head pooler_type gradient_checkpointing ";
// Of positions in pictures, which cost no more.
constexpr std::string_view told_of_others = " use_mrope mrope_section ";
constexpr std::array all_told{told_of_all, told_of_llama, told_of_mixtral, told_of_gpt2, told_of_bert, told_of_others};

bool is_among(std::string_view keys, const std::string& key) {
  return keys.find(" " + key + " ") != std::string_view::npos;
}

// The object, read key by key; what is wrong is gathered.
class ConfigJson {
 public:
  ConfigJson(const Json& object, std::string file) : object_(object), file_(std::move(file)) {}

  std::int64_t integer(std::string_view key, std::int64_t most, std::optional<std::int64_t> fallback = {},
                       std::int64_t least = 1) {
    const auto fits = [least, most](const Json& value) {
      return value.is_number_integer() && least <= value.get<std::int64_t>() && value.get<std::int64_t>() <= most;
    };
    return read<std::int64_t>(key, fallback, 1, fmt::format("a whole number from {} to {}", least, most), fits);
  }
  double share(std::string_view key, double fallback) {
    const auto fits = [](const Json& value) {
      return value.is_number() && 0.0 <= value.get<double>() && value.get<double>() < 1.0;
    };
    return read<double>(key, fallback, fallback, "a number from 0 to below 1", fits);
  }
  bool flag(std::string_view key, bool fallback) {
    return read<bool>(key, fallback, fallback, "true or false", &Json::is_boolean);
  }
  std::string text(std::string_view key, std::optional<std::string> fallback = {}) {
    return read<std::string>(key, fallback, fallback.value_or(""), "a text", &Json::is_string);
  }
  bool has(std::string_view key) const { return object_.contains(std::string(key)); }
  // Whether it is there, and not null.
  bool says(std::string_view key) const {
    const auto found = object_.find(std::string(key));
    return found != object_.end() && !found->is_null();
  }
  // Of classes of models: each is named after the type.
  void check_architectures(const std::string& type) {
    read_.emplace_back("architectures");
    if (!says("architectures")) return;
    for (const Json& one : object_["architectures"]) {
      std::string name = one.is_string() ? one.get<std::string>() : one.dump();
      name = name.substr(0, 60);
      if (boost::to_lower_copy(name).starts_with(type)) continue;
      fault("architectures", fmt::format("'{}' is no {}, which model_type says", name, type));
    }
  }
  void fault(std::string_view key, std::string what) { faults_.push_back({file_, std::string(key), std::move(what)}); }
  void check() const {
    if (!faults_.empty()) throw sim::ConfigError(faults_);
  }

  void remark(std::string_view key, const std::string& what) {
    remarks_.push_back(fmt::format("{}: {}: {}", file_, key, what));
  }

  // Of a key that, where it is there, must say this and nothing else.
  void require(std::string_view key, const Json& only) {
    read_.emplace_back(key);
    const auto found = object_.find(std::string(key));
    if (found != object_.end() && !found->is_null() && *found != only)
      fault(key, fmt::format("{} changes what is computed: {} is accepted", found->dump().substr(0, 60), only.dump()));
  }

  // Whether weights are of fp8; other formats are faults.
  bool is_of_fp8() {
    constexpr auto key = "quantization_config";
    read_.emplace_back(key);
    if (!says(key)) return false;
    const Json& said = object_[key];
    std::string method;
    for (const char* const name : {"quant_method", "quant_algo"}) {
      if (method.empty() && said.is_object() && said.contains(name) && said[name].is_string())
        method = boost::to_lower_copy(said[name].get<std::string>());
    }
    bool is_fp8 = method.find("fp8") != std::string::npos;
    if (method == "compressed-tensors" || method == "modelopt") {
      const std::string text = boost::to_lower_copy(said.dump());
      const bool is_float = text.find("\"type\":\"float\"") != std::string::npos;
      const bool is_int = text.find("\"type\":\"int\"") != std::string::npos;
      is_fp8 = text.find("\"quant_algo\":\"fp8") != std::string::npos ||
               (is_float && !is_int && text.find("\"num_bits\":8") != std::string::npos &&
                text.find("\"num_bits\":4") == std::string::npos);
    }
    if (!is_fp8) {
      fault(key, fmt::format("'{}' is not accepted: fp8 is",
                             method.empty() ? said.dump().substr(0, 60) : method.substr(0, 60)));
    }
    if (said.is_object() && said.contains("weight_block_size") && !said["weight_block_size"].is_null())
      remark(key, "weight_block_size: scales by block are left out, weights are of one byte all the same");
    return is_fp8;
  }

  // Throws where anything was found, keys among it that nobody read and that change what is computed, for all that is
  // known: those that are switched off do not, nor do those that tell nothing of another architecture.
  std::vector<std::string> finish(std::string_view told) {
    for (const auto& [key, value] : object_.items()) {
      const bool is_read = std::ranges::find(read_, key) != read_.end();
      if (is_read || is_among(told_of_all, key) || is_among(told, key)) continue;
      const bool is_off = value.is_null() || value == false || value == 0 || value == 0.0 || value == "" ||
                          ((value.is_array() || value.is_object()) && value.empty());
      const bool is_told =
          std::ranges::any_of(all_told, [&of = key](std::string_view keys) { return is_among(keys, of); });
      if (is_off || is_told) {
        remark(key, fmt::format("{} is ignored: {}", value.dump().substr(0, 60),
                                is_off ? "it is not known, and switched off" : "it changes nothing here"));
      } else {
        fault(key, "is not known" + sim::name_hint(key, read_));
      }
    }
    check();
    return std::move(remarks_);
  }

 private:
  // What is absent, or null, is the fallback; without one that is a fault, and it is `harmless`, as is what does not
  // fit.
  template <class T, class Fits>
  T read(std::string_view key, const std::optional<T>& fallback, T harmless, const std::string& accepted, Fits fits) {
    read_.emplace_back(key);
    const auto found = object_.find(std::string(key));
    if (found == object_.end() || found->is_null()) {
      if (!fallback) fault(key, "is missing");
      return fallback.value_or(harmless);
    }
    if (std::invoke(fits, *found)) return found->template get<T>();
    fault(key, fmt::format("{} is not accepted: {} is", found->dump().substr(0, 60), accepted));
    return harmless;
  }

  const Json& object_;
  std::string file_;
  std::vector<std::string> read_;
  std::vector<sim::Fault> faults_;
  std::vector<std::string> remarks_;
};

// Of the last tokens, where all layers have it.
std::int64_t window_of(ConfigJson& keys, std::string_view type, std::int64_t layers) {
  const bool usual = type == "mistral" && !keys.has("sliding_window");
  const std::int64_t window = keys.integer("sliding_window", most_positions, usual ? 4096 : 0);
  const bool used = keys.flag("use_sliding_window", type != "qwen2");
  const std::int64_t without = keys.integer("max_window_layers", most_layers, type == "qwen2" ? 28 : 0, 0);
  if (!used || type == "llama" || window == 0 || without >= layers) return 0;
  if (without > 0) {
    keys.fault("max_window_layers", fmt::format("{} of {} layers without a window are not like the others: 0 or {} is "
                                                "accepted, or use_sliding_window false",
                                                without, layers, layers));
  }
  return window;
}

// As in class XConfig of each in transformers/models/X/configuration_X.py, defaults included.
ModelSpec read_llama(ConfigJson& keys, std::string_view type) {
  ModelSpec model;
  model.hidden = keys.integer("hidden_size", most_features);
  model.layers = keys.integer("num_hidden_layers", most_layers);
  model.heads = keys.integer("num_attention_heads", most_features);
  model.kv_heads = keys.integer("num_key_value_heads", most_features, model.heads);
  model.head_dim = keys.integer("head_dim", most_head_features, std::max<std::int64_t>(1, model.hidden / model.heads));
  model.ffn = keys.integer("intermediate_size", most_features);
  model.vocabulary = keys.integer("vocab_size", most_words);
  model.positions = keys.integer("max_position_embeddings", most_positions, 0);
  model.window = window_of(keys, type, model.layers);
  model.tied = keys.flag("tie_word_embeddings", false);
  model.qkv_biases = keys.flag("attention_bias", type == "qwen2");
  model.biases = keys.flag("mlp_bias", false);
  model.attention_dropout = keys.share("attention_dropout", 0.0);
  const std::string act = keys.text("hidden_act", "silu");
  if (act != "silu") keys.fault("hidden_act", "'" + act.substr(0, 60) + "' is not accepted: silu is");
  if (type == "mixtral") {
    model.experts = keys.integer("num_local_experts", most_experts, 8);
    model.experts_used = keys.integer("num_experts_per_tok", most_experts, 2);
  }
  return model;
}

Feed feed_of(ConfigJson& keys, std::string_view key, const std::string& act) {
  if (act == "relu") return Feed::relu;
  if (!act.starts_with("gelu"))
    keys.fault(key, "'" + act.substr(0, 60) + "' is not accepted: gelu, gelu_new or relu is");
  else if (act != "gelu")
    keys.remark(key, "'" + act.substr(0, 60) + "' is taken for gelu, which moves as many bytes");
  return Feed::gelu;
}

// With a head for keys and values of each, learned positions and biases.
ModelSpec read_of_heads(ConfigJson& keys, std::string_view hidden, std::string_view layers, std::string_view heads) {
  ModelSpec model;
  model.hidden = keys.integer(hidden, most_features);
  model.layers = keys.integer(layers, most_layers);
  model.heads = model.kv_heads = keys.integer(heads, most_features);
  model.head_dim = std::max<std::int64_t>(1, model.hidden / model.heads);
  model.position = Positions::learned;
  model.norm = Norm::layer;
  model.biases = model.qkv_biases = true;
  return model;
}

ModelSpec read_gpt2(ConfigJson& keys, std::string_view) {
  ModelSpec model = read_of_heads(keys, "n_embd", "n_layer", "n_head");
  model.ffn = keys.integer("n_inner", most_features, 4 * model.hidden);
  model.vocabulary = keys.integer("vocab_size", most_words);
  model.positions = keys.integer("n_positions", most_positions, 1024);
  if (const std::int64_t also = keys.integer("n_ctx", most_positions, model.positions); also != model.positions) {
    keys.fault("n_ctx", fmt::format("{} tokens are not the {} of n_positions, which it is another name of", also,
                                    model.positions));
  }
  model.feed = feed_of(keys, "activation_function", keys.text("activation_function", "gelu_new"));
  model.tied = keys.flag("tie_word_embeddings", true);
  model.dropout = keys.share("resid_pdrop", 0.1);
  model.attention_dropout = keys.share("attn_pdrop", 0.1);
  keys.share("embd_pdrop", 0.1);
  keys.require("add_cross_attention", false);
  return model;
}

ModelSpec read_bert(ConfigJson& keys, std::string_view) {
  ModelSpec model = read_of_heads(keys, "hidden_size", "num_hidden_layers", "num_attention_heads");
  model.ffn = keys.integer("intermediate_size", most_features);
  model.vocabulary = keys.integer("vocab_size", most_words);
  model.positions = keys.integer("max_position_embeddings", most_positions, 512);
  keys.integer("type_vocab_size", most_words, 2);
  keys.require("position_embedding_type", "absolute");
  keys.require("add_cross_attention", false);
  model.feed = feed_of(keys, "hidden_act", keys.text("hidden_act", "gelu"));
  model.causal = keys.flag("is_decoder", false);
  model.tied = keys.flag("tie_word_embeddings", true);
  model.dropout = keys.share("hidden_dropout_prob", 0.1);
  model.attention_dropout = keys.share("attention_probs_dropout_prob", 0.1);
  model.scored = 0.15;  // of the tokens are masked (Devlin et al., arXiv 1810.04805)
  return model;
}

// The object of a text. A key that it has twice would be read as one of the two.
Json parse(std::string_view text, const std::string& file) {
  std::vector<sim::Fault> faults;
  std::set<std::string> keys;
  const auto look = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1 && !keys.insert(parsed.get<std::string>()).second) {
      faults.push_back({file, parsed.get<std::string>().substr(0, 60), "is there twice"});
    }
    return true;
  };
  Json object;
  try {
    object = Json::parse(text, look);
  } catch (const Json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(text.size(), std::max<std::size_t>(error.byte, 1) - 1));
    const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    throw sim::ConfigError(
        {{fmt::format("{}:{}:{}", file, std::ranges::count(before, '\n') + 1, before.size() - line_start + 1), "",
          "is no JSON from here on: a config.json is accepted"}});
  }
  if (!object.is_object()) throw sim::ConfigError({{file, "", "is no JSON object: a config.json is accepted"}});
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  return object;
}

// Whose config.json are read: how, and which keys of theirs tell nothing.
struct Architecture {
  std::string_view type;
  ModelSpec (*read)(ConfigJson& keys, std::string_view type);
  std::string_view told;
};
constexpr std::array architectures{
    Architecture{"llama", read_llama, told_of_llama}, Architecture{"mistral", read_llama, told_of_llama},
    Architecture{"qwen2", read_llama, told_of_llama}, Architecture{"mixtral", read_llama, told_of_mixtral},
    Architecture{"gpt2", read_gpt2, told_of_gpt2},    Architecture{"bert", read_bert, told_of_bert},
};

// What a key of our files is called.
std::string_view key_of(std::string_view key, const std::string& type) {
  if (key == "heads") return type == "gpt2" ? "n_head" : "num_attention_heads";
  if (key == "kv_heads") return "num_key_value_heads";
  return key == "experts_used" ? "num_experts_per_tok" : "max_position_embeddings";
}

struct ReadModel {
  ModelSpec model;
  ModelRemarks remarks;
};

ReadModel read_whole(std::string_view text, const std::string& file) {
  const Json object = parse(text, file);
  ConfigJson keys(object, file);
  const std::string type = keys.text("model_type");
  keys.check();
  const auto* const known = std::ranges::find(architectures, type, &Architecture::type);
  if (known == architectures.end()) {
    throw sim::ConfigError(
        {{file, "model_type",
          "'" + type.substr(0, 60) + "' is not known" + sim::name_hint(type, architectures, &Architecture::type)}});
  }
  ReadModel read{known->read(keys, type), {}};
  read.model.name = type;
  read.remarks.fp8_weights = keys.is_of_fp8();
  keys.check_architectures(type);
  for (const sim::Fault& one : contradictions(read.model, keys.says("head_dim"))) {
    keys.fault(key_of(one.where, type), one.what);
  }
  read.remarks.ignored = keys.finish(known->told);
  return read;
}

}  // namespace

ModelSpec read_hugging_face(std::string_view text, const std::string& file) { return read_whole(text, file).model; }

ModelRemarks remarks_of_hugging_face(std::string_view text, const std::string& file) {
  return read_whole(text, file).remarks;
}

ModelRemarks remarks_of_model(const std::string& name_or_path) {
  if (std::filesystem::path(name_or_path).extension() != ".json") return {};
  return remarks_of_hugging_face(sim::read_measurement_text(name_or_path), name_or_path);
}

}  // namespace c3sim::study
