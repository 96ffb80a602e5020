#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "sim/config/config_error.h"
#include "sim/config/nearest_name.h"
#include "study/step/model_spec.h"

namespace c3sim::study {

namespace {

using Json = nlohmann::ordered_json;

// Keys that tell nothing of how long a step takes: tokens, initial values, versions, what a library does with them.
constexpr std::string_view ignored =
    " architectures model_type torch_dtype dtype transformers_version bos_token_id eos_token_id pad_token_id "
    "sep_token_id cls_token_id unk_token_id decoder_start_token_id initializer_range initializer_factor "
    "rms_norm_eps layer_norm_eps layer_norm_epsilon layernorm_epsilon rope_theta rope_scaling rope_parameters "
    "use_cache pretraining_tp attention_dropout attn_pdrop embd_pdrop resid_pdrop attention_probs_dropout_prob "
    "classifier_dropout gradient_checkpointing summary_type summary_use_proj summary_activation "
    "summary_proj_to_labels summary_first_dropout task_specific_params id2label label2id output_router_logits "
    "router_aux_loss_coef router_jitter_noise sliding_window max_window_layers use_sliding_window layer_types "
    "reorder_and_upcast_attn scale_attn_weights scale_attn_by_inverse_layer_idx n_ctx directionality "
    "pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type "
    "position_embedding_type auto_map _name_or_path _attn_implementation _attn_implementation_autoset "
    "output_past add_cross_attention ";

// The object, read key by key; what is wrong is gathered.
class ConfigJson {
 public:
  ConfigJson(const Json& object, std::string file) : object_(object), file_(std::move(file)) {}

  std::int64_t integer(std::string_view key, std::optional<std::int64_t> fallback = {}) {
    constexpr std::int64_t most = 1 << 30;
    const auto fits = [](const Json& value) {
      return value.is_number_integer() && 1 <= value.get<std::int64_t>() && value.get<std::int64_t>() <= most;
    };
    return read<std::int64_t>(key, fallback, 1, fmt::format("a whole number from 1 to {}", most), fits);
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
  void fault(std::string_view key, std::string what) { faults_.push_back({file_, std::string(key), std::move(what)}); }

  // Throws where anything was found, keys that nobody read among it.
  void finish() {
    for (const auto& [key, _] : object_.items()) {
      const bool is_read = std::ranges::find(read_, key) != read_.end();
      if (is_read || ignored.find(" " + key + " ") != std::string_view::npos) continue;
      fault(key, "is not known" + sim::name_hint(key, read_));
    }
    if (!faults_.empty()) throw sim::ConfigError(faults_);
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
};

// As in class XConfig of each in transformers/models/X/configuration_X.py, defaults included.
ModelSpec read_llama(ConfigJson& keys, std::string_view type) {
  ModelSpec model;
  model.hidden = keys.integer("hidden_size");
  model.layers = keys.integer("num_hidden_layers");
  model.heads = keys.integer("num_attention_heads");
  model.kv_heads = keys.integer("num_key_value_heads", type == "llama" ? model.heads : 8);
  model.head_dim = keys.integer("head_dim", std::max<std::int64_t>(1, model.hidden / model.heads));
  model.ffn = keys.integer("intermediate_size");
  model.vocabulary = keys.integer("vocab_size");
  model.positions = keys.integer("max_position_embeddings", 0);
  model.tied = keys.flag("tie_word_embeddings", false);
  model.qkv_biases = keys.flag("attention_bias", type == "qwen2");
  model.biases = keys.flag("mlp_bias", false);
  const std::string act = keys.text("hidden_act", "silu");
  if (act != "silu") keys.fault("hidden_act", "'" + act.substr(0, 60) + "' is not accepted: silu is");
  if (type == "mixtral") {
    model.experts = keys.integer("num_local_experts", 8);
    model.experts_used = keys.integer("num_experts_per_tok", 2);
  }
  return model;
}

Feed feed_of(ConfigJson& keys, std::string_view key, const std::string& act) {
  if (act == "relu") return Feed::relu;
  if (!act.starts_with("gelu"))
    keys.fault(key, "'" + act.substr(0, 60) + "' is not accepted: gelu, gelu_new or relu is");
  return Feed::gelu;
}

// With a head for keys and values of each, learned positions and biases.
ModelSpec read_of_heads(ConfigJson& keys, std::string_view hidden, std::string_view layers, std::string_view heads) {
  ModelSpec model;
  model.hidden = keys.integer(hidden);
  model.layers = keys.integer(layers);
  model.heads = model.kv_heads = keys.integer(heads);
  model.head_dim = std::max<std::int64_t>(1, model.hidden / model.heads);
  model.position = Positions::learned;
  model.norm = Norm::layer;
  model.biases = model.qkv_biases = true;
  return model;
}

ModelSpec read_gpt2(ConfigJson& keys) {
  ModelSpec model = read_of_heads(keys, "n_embd", "n_layer", "n_head");
  model.ffn = keys.integer("n_inner", 4 * model.hidden);
  model.vocabulary = keys.integer("vocab_size");
  model.positions = keys.integer("n_positions", 1024);
  model.feed = feed_of(keys, "activation_function", keys.text("activation_function", "gelu_new"));
  model.tied = keys.flag("tie_word_embeddings", true);
  return model;
}

ModelSpec read_bert(ConfigJson& keys) {
  ModelSpec model = read_of_heads(keys, "hidden_size", "num_hidden_layers", "num_attention_heads");
  model.ffn = keys.integer("intermediate_size");
  model.vocabulary = keys.integer("vocab_size");
  model.positions = keys.integer("max_position_embeddings", 512);
  keys.integer("type_vocab_size", 2);
  model.feed = feed_of(keys, "hidden_act", keys.text("hidden_act", "gelu"));
  model.causal = keys.flag("is_decoder", false);
  model.tied = keys.flag("tie_word_embeddings", true);
  model.dropout = keys.share("hidden_dropout_prob", 0.1);
  model.scored = 0.15;  // of the tokens are masked (Devlin et al., arXiv 1810.04805)
  return model;
}

}  // namespace

ModelSpec read_hugging_face(std::string_view text, const std::string& file) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) throw sim::ConfigError({{file, "", "is no JSON object: a config.json is accepted"}});
  ConfigJson keys(object, file);
  const std::string type = keys.text("model_type");
  ModelSpec model;
  if (type == "gpt2") {
    model = read_gpt2(keys);
  } else if (type == "bert") {
    model = read_bert(keys);
  } else if (type == "llama" || type == "mistral" || type == "qwen2" || type == "mixtral") {
    model = read_llama(keys, type);
  } else {
    const std::vector<std::string> known{"llama", "mistral", "qwen2", "mixtral", "gpt2", "bert"};
    throw sim::ConfigError(
        {{file, "model_type", "'" + type.substr(0, 60) + "' is not known" + sim::name_hint(type, known)}});
  }
  model.name = type;
  const bool own_head_dim = object.contains("head_dim") && !object["head_dim"].is_null();
  if (!own_head_dim && model.hidden % model.heads != 0) {
    keys.fault(type == "gpt2" ? "n_head" : "num_attention_heads",
               fmt::format("{} features are not {} heads of the same size: a divisor of {} is accepted", model.hidden,
                           model.heads, model.hidden));
  }
  for (const std::string& contradiction : contradictions(model)) keys.fault("model_type", contradiction);
  keys.finish();
  return model;
}

}  // namespace c3sim::study
