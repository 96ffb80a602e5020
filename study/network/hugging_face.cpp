#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "models/platform/gemm_shape.h"
#include "sim/config/config_error.h"
#include "sim/config/expression.h"
#include "sim/config/files_read.h"
#include "sim/config/measurement_text.h"
#include "sim/config/nearest_name.h"
#include "study/network/model_spec.h"

namespace c3sim::study {

namespace {

using Json = nlohmann::ordered_json;

// Messages show this many characters of a value.
constexpr std::size_t shown_of_json = 60;
std::string in_short(const Json& value) { return value.dump().substr(0, shown_of_json); }

// Returns the keys that a value mentions: "$(4 * n_embd)" mentions n_embd.
std::set<std::string> names_in(const Json& told) {
  std::set<std::string> names;
  std::string name;
  const std::string text = told.dump() + ' ';
  for (const char letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_') {
      name += letter;
    } else if (!name.empty()) {
      if (std::isdigit(static_cast<unsigned char>(name.front())) == 0) names.insert(name);
      name.clear();
    }
  }
  return names;
}

constexpr int deepest = 32;  // of what is nested; more than any file has, and less than fills the stack

// Parses the object of a config.json; a key that it has twice, of which the parser would take one, is a fault.
Json parse(std::string_view text, const std::string& file) {
  std::vector<sim::Fault> faults;
  std::set<std::string> keys;
  const auto look = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > deepest) throw Json::other_error::create(501, "nested too deep", nullptr);
    if (event == Json::parse_event_t::key && depth == 1 && !keys.insert(parsed.get<std::string>()).second) {
      faults.push_back({file, parsed.get<std::string>().substr(0, shown_of_json), "is there twice"});
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
  } catch (const Json::exception&) {
    throw sim::ConfigError(
        {{file, "", fmt::format("is nested more than {} deep, or has a number that is too large for JSON", deepest)}});
  }
  if (!object.is_object()) throw sim::ConfigError({{file, "", "is no JSON object: a config.json is accepted"}});
  if (!faults.empty()) throw sim::ConfigError(std::move(faults));
  return object;
}

// Architectures reads configs/architectures.json, which says how keys of a config.json map to a ModelSpec.
class Architectures {
 public:
  explicit Architectures(std::span<const std::filesystem::path> config_folders) {
    const std::optional<std::filesystem::path> file = sim::first_file(config_folders, "architectures.json");
    if (!file) {
      throw sim::ConfigError({{"configs/architectures.json", "", "is missing, which says how a config.json is read"}});
    }
    table_ = parse(sim::read_measurement_text(*file), file->string());
  }

  std::vector<std::string> types() const {
    std::vector<std::string> types;
    for (const Json& one : table_.at("architectures")) types.push_back(one.at("type").get<std::string>());
    return types;
  }
  // Returns the architecture of a type with all its parts, merged over the one that its key `like` names; null if the
  // type is not known. `level` counts how many such keys led here.
  Json of(const std::string& type, int level = 0) const {
    if (level > deepest) throw Json::other_error::create(501, "a type is like itself", nullptr);
    for (const Json& one : table_.at("architectures")) {
      if (one.at("type") != type) continue;
      Json whole = one.contains("like") ? of(one.at("like").get<std::string>(), level + 1)
                                        : Json{{"network", Json::object()},
                                               {"variants", Json::array()},
                                               {"defaults", Json::object()},
                                               {"nulls", Json::array()},
                                               {"only", Json::object()},
                                               {"ignores", Json::array()},
                                               {"class", ""}};
      if (whole.is_null()) throw Json::other_error::create(501, type + " is like a type that is not there", nullptr);
      Json ignores = whole["ignores"];
      whole.merge_patch(one);
      for (const Json& key : one.value("ignores", Json::array())) ignores.push_back(key);
      whole["ignores"] = ignores;
      return whole;
    }
    return nullptr;
  }
  bool ignores_everywhere(const std::string& key) const { return has(table_.at("ignores"), key); }
  bool ignores_somewhere(const std::string& key) const {
    if (has(table_.at("warns"), key)) return true;
    return std::ranges::any_of(table_.at("architectures"),
                               [&](const Json& one) { return has(one.value("ignores", Json::array()), key); });
  }
  static bool has(const Json& list, const std::string& key) { return std::ranges::find(list, Json(key)) != list.end(); }
  // Returns the type that a class of the object is named after and whose name begins with the model_type `said`: a
  // MiniMaxM2ForCausalLM whose model_type is minimax is a minimax_m2. Empty if there is none.
  std::string of_class(const Json& object, const std::string& said) const {
    const Json classes = object.value("architectures", Json::array());
    if (!classes.is_array()) return "";
    for (const Json& one : classes) {
      if (!one.is_string()) continue;
      const std::string name = boost::to_lower_copy(one.get<std::string>());
      for (const std::string& type : types()) {
        std::string bare = type;
        std::erase(bare, '_');
        if (!said.empty() && type.starts_with(said) && name.starts_with(bare + "for")) return type;
      }
    }
    return "";
  }
  // Returns the type that knows most keys of the object, among those that have experts if and only if the object does
  // and whose extents the object gives all. Without experts, the first type that fits wins unless another knows two
  // keys more. Empty if none fits.
  std::string nearest(const Json& object) const {
    if (object.value("is_encoder_decoder", Json()) == true) return "";
    bool has_experts = false;
    for (const auto& [key, value] : object.items()) {
      const bool counts = key.find("experts") != std::string::npos && value.is_number();
      has_experts = has_experts || (counts && value.get<double>() > 0.0);
    }
    std::pair<int, std::string> best;
    for (const std::string& type : types()) {
      const Json architecture = of(type);
      if (experts_of(architecture).is_null() == has_experts || !says_extents(object, architecture)) continue;
      const std::set<std::string> names = names_in(architecture);
      int known = 0;
      for (const auto& [key, value] : object.items()) {
        if (key == "model_type" || key == "architectures" || ignores_everywhere(key)) continue;
        known += names.contains(key) ? 1 : -1;
      }
      if (best.second.empty() || known > best.first + (has_experts ? 0 : 1)) best = {known, type};
    }
    return best.first > 0 ? best.second : "";
  }

 private:
  // Returns the value for the number of experts, of all layers or of a variant; null if there are none.
  static Json experts_of(const Json& architecture) {
    const Json& network = architecture.at("network");
    if (network.contains("experts")) return network["experts"];
    for (const Json& one : architecture.at("variants")) {
      if (one.contains("experts") && one["experts"].is_string()) return one["experts"];
    }
    return nullptr;
  }
  // Returns whether the object has every key without which nothing can be read, or a key that its default follows from.
  static bool says_extents(const Json& object, const Json& architecture) {
    std::set<std::string> due = names_in(experts_of(architecture));
    due.erase("null");
    for (const char* const field : {"layers", "hidden", "heads", "ffn", "vocabulary"}) {
      due.merge(names_in(architecture.at("network").value(field, Json::object())));
    }
    return std::ranges::all_of(due, [&](const std::string& key) {
      return !object.value(key, Json()).is_null() || architecture.at("defaults").value(key, Json()).is_string();
    });
  }

  Json table_;
};

// A ConfigJson reads the object as an architecture prescribes, for read_network(), and collects faults and remarks.
class ConfigJson {
 public:
  ConfigJson(Json object, const Json& architecture, std::string file)
      : object_(std::move(object)),
        network_(architecture.at("network")),
        defaults_(architecture.at("defaults")),
        nulls_(architecture.at("nulls")),
        file_(std::move(file)) {}

  // Removes the given keys from the object. A key that says how large the model is becomes a fault instead.
  void leave_out(std::span<const std::string> ignores, const Json& variants) {
    const std::set<std::string> due = keys_of_extents(variants);
    for (const std::string& key : ignores) {
      const auto found = object_.find(key);
      if (found == object_.end()) {
        remark(key, "is no key of this file: --ignore leaves nothing out by it");
        continue;
      }
      if (due.contains(key)) {
        fault(key,
              "says what the model is and cannot be left out: --ignore accepts keys that are optional or not known");
        continue;
      }
      remark(key, fmt::format("{} is ignored, as --ignore says", in_short(*found)));
      object_.erase(key);
    }
  }

  std::int64_t integer(std::string_view field, std::int64_t least, std::int64_t most,
                       std::optional<std::int64_t> fallback) {
    return integer_of(network_.value(std::string(field), Json()), field, least, most, fallback);
  }
  std::int64_t integer_of(const Json& told, std::string_view field, std::int64_t least, std::int64_t most,
                          std::optional<std::int64_t> fallback) {
    const auto [key, value] = resolve(told);
    if (value.is_null()) {
      if (!fallback) fault(key.empty() ? field : key, "is missing");
      return fallback.value_or(least);
    }
    const bool is_whole = value.is_number() && value.get<double>() == std::floor(value.get<double>());
    if (is_whole && static_cast<double>(least) <= value.get<double>() &&
        value.get<double>() <= static_cast<double>(most)) {
      return value.get<std::int64_t>();
    }
    fault(key, fmt::format("{} is not accepted: a whole number from {} to {} is", in_short(value),
                           std::max<std::int64_t>(1, least), most));
    return least;
  }
  double number(std::string_view field, double least, double most, double fallback) {
    const auto [key, value] = resolve(network_.value(std::string(field), Json()));
    if (value.is_null()) return fallback;
    if (value.is_number() && least <= value.get<double>() && value.get<double>() <= most) return value.get<double>();
    fault(key, fmt::format("{} is not accepted: a number from {} to {} is", in_short(value), least, most));
    return fallback;
  }
  // A number counts as true unless it is zero.
  bool flag(std::string_view field, bool fallback) {
    const auto [key, value] = resolve(network_.value(std::string(field), Json()));
    if (value.is_null()) return fallback;
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number()) return value.get<double>() != 0.0;
    fault(key, fmt::format("{} is not accepted: true or false is", in_short(value)));
    return fallback;
  }
  template <class T>
  T choice(std::string_view field, const std::vector<sim::Choice<T>>& choices, T fallback) {
    const Json told = network_.value(std::string(field), Json());
    if (told.is_null()) return fallback;
    std::string name = told.is_string() ? told.get<std::string>() : "";
    if (told.is_object()) {
      const std::string key = told.at("key").get<std::string>();
      const Json value = of_key(key);
      if (value.is_null()) return fallback;
      const std::string said = value.is_string() ? value.get<std::string>() : value.dump();
      if (said == "key" || !told.contains(said)) {
        Json accepted = told;
        accepted.erase("key");
        std::vector<std::string> values;
        for (const auto& [one, meaning] : accepted.items()) values.push_back(one);
        fault(key, fmt::format("'{}' is not accepted: {} is", said.substr(0, shown_of_json), fmt::join(values, ", ")));
        return fallback;
      }
      name = told.at(said).get<std::string>();
      if (name == "gelu" && said != name)
        remark(key, fmt::format("'{}' is taken for gelu, which moves as many bytes", said));
    }
    const auto found = std::ranges::find(choices, name, &sim::Choice<T>::first);
    return found == choices.end() ? fallback : found->second;
  }

  // Reads the variants that an architecture lists: layers that differ, by index pattern or by layer_types.
  std::vector<LayerVariant> variants(const Json& told, const ModelSpec& model) {
    std::vector<LayerVariant> variants;
    for (const Json& one : told) {
      LayerVariant variant;
      variant.name = one.at("name").get<std::string>();
      const Json types = one.contains("layer_types") ? of_key("layer_types") : Json();
      if (types.is_array()) {
        for (std::size_t layer = 0; layer < types.size(); ++layer) {
          if (types[layer] == one["layer_types"]) variant.layers.push_back(static_cast<std::int64_t>(layer));
        }
        resolve(one.value("every", Json()));  // marks the key as read; its value repeats layer_types
      } else {
        const auto pattern = [&](const char* key, std::int64_t least) {
          return one.contains(key) ? integer_of(one[key], key, least, most_layers, 0) : 0;
        };
        variant.layers = layers_of_pattern(model.layers, pattern("first", 0), pattern("every", 1));
      }
      for (const Extent& extent : extents()) {
        if (extent.varies == nullptr || !one.contains(std::string(extent.key))) continue;
        variant.*extent.varies = integer_of(one[std::string(extent.key)], extent.key, 0, extent.most, 0);
      }
      variants.push_back(std::move(variant));
    }
    return variants;
  }

  // Records a fault for each of these keys whose value is not one of those accepted. Absent keys are accepted.
  void require(const Json& only) {
    for (const auto& [key, accepted] : only.items()) {
      const Json value = of_key(key);
      if (value.is_null()) continue;
      const Json same = accepted.is_array() ? accepted : Json::array({resolve(accepted).second});
      if (std::ranges::find(same, value) != same.end()) continue;
      fault(key, fmt::format("{} changes what is computed: {} is accepted", in_short(value), in_short(same.front())));
    }
  }
  // Records a fault for each class in "architectures" that is named after neither the type nor `named`.
  void check_architectures(std::string type, const std::string& named) {
    if (!named.empty()) type = named;
    std::erase(type, '_');
    // The text part of a model may have a class with the family's name: a gemma3_text is a Gemma3ForCausalLM.
    const std::string family = type.ends_with("text") ? type.substr(0, type.size() - 4) : type;
    const Json said = of_key("architectures");
    if (!said.is_array()) return;
    for (const Json& one : said) {
      std::string name = one.is_string() ? one.get<std::string>() : one.dump();
      name = name.substr(0, shown_of_json);
      const std::string lower = boost::to_lower_copy(name);
      if (lower.starts_with(type) || lower.starts_with(family + "for")) continue;
      fault("architectures", fmt::format("'{}' is no {}, which model_type says", name, type));
    }
  }
  void fault(std::string_view key, std::string what) { faults_.push_back({file_, std::string(key), std::move(what)}); }
  void remark(std::string_view key, const std::string& what) {
    remarks_.push_back(fmt::format("{}: {}: {}", file_, key, what));
  }
  // Returns the key of the config.json that a field of a network file is read from.
  std::string key_of(const std::string& field) { return resolve(network_.value(field, Json())).first; }
  // Returns the value of a key, or its default if the key is absent or null, unless null means none for this key.
  Json of_key(const std::string& key) {
    read_.push_back(key);
    const auto found = object_.find(key);
    if (found != object_.end() && (!found->is_null() || Architectures::has(nulls_, key))) return *found;
    return resolve(defaults_.value(key, Json())).second;
  }
  bool says(const std::string& key) const {
    const auto found = object_.find(key);
    return found != object_.end() && !found->is_null();
  }

  bool is_read(const std::string& key) const { return std::ranges::find(read_, key) != read_.end(); }
  // Remarks on a key that was not read and has no influence on the computation.
  void pass_over(const std::string& key) {
    if (!says(key) || is_read(key)) return;
    remark(key, in_short(of_key(key)) + " is ignored: it changes nothing here");
  }
  // Requires that a key, if it is present and was not read, states what is computed anyway.
  void require_unread(const std::string& key, const Json& same) {
    if (says(key) && !is_read(key)) require(Json::object({{key, Json::array({same})}}));
  }

  // Returns the remarks. Throws sim::ConfigError if there are faults, among them each unread key that may change the
  // computation: keys that are switched off, or that other architectures ignore, are only remarked on.
  std::vector<std::string> finish(const Json& own, const Architectures& all) {
    const bool is_quantised = says("quantization_config");
    for (const auto& [key, value] : object_.items()) {
      if ((key == "torch_dtype" || key == "dtype") && value.is_string() && value != "bfloat16" && !is_quantised) {
        remark(key, in_short(value) + " is not read: --dtype says the format, bf16 unless given");
      }
      if (is_read(key) || all.ignores_everywhere(key) || Architectures::has(own, key)) continue;
      const bool is_off = value.is_null() || value == false || value == 0 || value == 0.0 || value == "" ||
                          ((value.is_array() || value.is_object()) && value.empty());
      // MiniMax scales the sums after attention and after the feed-forward half by these factors.
      const bool is_factor = key.starts_with("layernorm_") && (key.ends_with("_alpha") || key.ends_with("_beta"));
      if (is_off || is_factor || all.ignores_somewhere(key)) {
        remark(key, fmt::format("{} is ignored: {}", in_short(value),
                                is_off ? "it is not known, and switched off" : "it changes nothing here"));
      } else {
        fault(key, "is not known" + sim::name_hint(key, read_) + "; where it changes nothing, --ignore " + key +
                       " is accepted");
      }
    }
    if (!faults_.empty()) throw sim::ConfigError(faults_);
    return std::move(remarks_);
  }

 private:
  // Returns the keys of extents, except the window's, and of the pattern of layers with other extents.
  std::set<std::string> keys_of_extents(const Json& variants) const {
    std::set<std::string> names{"model_type"};
    for (const Extent& extent : extents()) {
      const std::string field(extent.key);
      if (field != "window") names.merge(names_in(network_.value(field, Json::object())));
    }
    for (const Json& one : variants) {
      std::set<std::string> own;
      bool is_of_windows = true;
      for (const auto& [key, told] : one.items()) {
        if (key == "name" || key == "layer_types" || key == "window") continue;
        is_of_windows = is_of_windows && (key == "first" || key == "every");
        own.merge(names_in(told));
      }
      if (!is_of_windows) names.merge(own);
    }
    return names;
  }

  // Resolves a literal, "$(key)" or "$(arithmetic of keys)"; returns the value with its key, the first of arithmetic.
  std::pair<std::string, Json> resolve(const Json& told) {
    if (!told.is_string() || !sim::has_expression(told.get<std::string>())) return {"", told};
    const std::string text = told.get<std::string>();
    const std::string inner = text.substr(2, text.size() - 3);
    const bool is_key = inner.find_first_of(" +-*/(") == std::string::npos;
    if (is_key) return {inner, of_key(inner)};
    std::string first;
    const std::string value = sim::replaced(text, [&](std::string_view name) -> sim::NamedValue {
      if (first.empty()) first = name;
      const Json said = of_key(std::string(name));
      if (said.is_null()) return sim::Amount{0.0};
      if (said.is_boolean()) return sim::Amount{said.get<bool>() ? 1.0 : 0.0};
      if (said.is_number()) return sim::Amount{said.get<double>()};
      fault(name, in_short(said) + " is not accepted: a whole number is");
      return sim::Amount{0.0};
    });
    return {first, Json::parse(value, nullptr, false)};
  }

  Json object_;
  const Json network_;
  const Json defaults_;
  const Json nulls_;
  std::string file_;
  std::vector<std::string> read_;
  std::vector<sim::Fault> faults_;
  std::vector<std::string> remarks_;
};

// Tools write this key in different ways: AutoFP8, compressed-tensors, modelopt, gptq, awq, mxfp4.
constexpr auto quantization_key = "quantization_config";

// Returns the value of a name in a quantization_config or in modelopt's part "quantization"; null if it has none.
Json said_by(const Json& said, const std::string& name) {
  if (!said.is_object()) return nullptr;
  if (said.contains(name)) return said[name];
  const Json part = said.value("quantization", Json());
  if (part.is_object() && part.contains(name)) return part[name];
  return nullptr;
}
std::string word_by(const Json& said, const std::string& name) {
  const Json word = said_by(said, name);
  return word.is_string() ? boost::to_lower_copy(word.get<std::string>()) : "";
}

// A Quantization says how weights are quantized, in the union of the terms of all tools.
struct Quantization {
  std::string method;     // empty if none is named
  std::string algorithm;  // one of the method's algorithms, or its packing; may be empty
  std::set<std::int64_t> bits{};
  std::set<std::string> types{};  // "int", "float"

  bool is_packed() const { return method == "compressed-tensors" || method.starts_with("modelopt"); }
  bool has(std::int64_t of_bits, const std::string& type) const {
    return bits == std::set<std::int64_t>{of_bits} && types == std::set<std::string>{type};
  }
  bool names(std::string_view part) const {
    return method.find(part) != std::string::npos || algorithm.find(part) != std::string::npos;
  }
  // Describes the quantization for a message: "'modelopt' with nvfp4, float, 4 bits".
  std::string in_words(const Json& said) const {
    std::vector<std::string> parts;
    if (!algorithm.empty() && algorithm != method) parts.push_back(algorithm.substr(0, shown_of_json));
    for (const std::string& type : types) parts.push_back(type.substr(0, shown_of_json));
    for (const std::int64_t of_bits : bits) parts.push_back(fmt::format("{} bits", of_bits));
    return fmt::format("'{}'{}{}", method.empty() ? in_short(said) : method.substr(0, shown_of_json),
                       parts.empty() ? "" : " with ", fmt::join(parts, ", "));
  }
};

Quantization quantization_of(const Json& said) {
  Quantization of{word_by(said, "quant_method"), word_by(said, "quant_algo")};
  if (of.method.empty()) of.method = of.algorithm;
  if (of.algorithm.empty() && of.method == "compressed-tensors") of.algorithm = word_by(said, "format");
  const auto add_bits = [&of](const Json& value) {
    if (value.is_number_integer()) of.bits.insert(value.get<std::int64_t>());
  };
  add_bits(said_by(said, "bits"));
  add_bits(said_by(said, "w_bit"));
  const Json groups = said_by(said, "config_groups");
  if (groups.is_object()) {
    for (const Json& group : groups) {
      const Json weights = said_by(group, "weights");
      add_bits(said_by(weights, "num_bits"));
      const std::string type = word_by(weights, "type");
      if (!type.empty()) of.types.insert(type);
    }
  }
  for (const auto& [name, loaded] : {std::pair{"load_in_4bit", 4}, std::pair{"load_in_8bit", 8}}) {
    if (said_by(said, name) == true) of.bits.insert(loaded);
  }
  const std::string& algorithm = of.algorithm.empty() ? of.method : of.algorithm;
  if (of.bits.empty()) {
    if (algorithm.starts_with("w4") || of.names("fp4") || of.names("int4")) {
      of.bits.insert(4);
    } else if (algorithm.starts_with("w8") || of.names("fp8") || of.names("int8")) {
      of.bits.insert(8);
    }
  }
  if (of.types.empty()) {
    if (of.names("fp4") || of.names("fp8")) {
      of.types.insert("float");
    } else if (of.names("int4") || of.names("int8") || algorithm.starts_with("w4a16")) {
      of.types.insert("int");
    }
  }
  // Class AwqConfig of transformers has this default.
  if (of.method == "awq" && said_by(said, "bits").is_null() && said_by(said, "w_bit").is_null()) of.bits.insert(4);
  return of;
}

// Returns whether keys and values are cached in fp8: by an object of compressed-tensors, a word of AutoFP8, or an
// algorithm of modelopt. Other cache formats are faults, too.
bool says_fp8_cache(ConfigJson& keys, const Json& said) {
  bool is_fp8 = false;
  for (const char* const name : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
    const Json cache = said_by(said, name);
    if (cache.is_null() || cache == "") continue;
    const std::string word = word_by(said, name);
    const bool is_word = word == "fp8" || word == "static" || word == "dynamic";
    const bool is_scheme = said_by(cache, "num_bits") == 8 && word_by(cache, "type") != "int";
    is_fp8 = true;
    if (is_word || is_scheme) continue;
    keys.fault(quantization_key, fmt::format("{} {} is not accepted: fp8 is, of 8 bits", name, in_short(cache)));
  }
  return is_fp8;
}

// Returns whether a list of modules has attention as a whole in all layers, as "model.layers.*.self_attn" does and
// "re:.*self_attn.*".
bool has_attention(const Json& list) {
  return std::ranges::any_of(list, [](const Json& module) {
    std::string name = module.is_string() ? module.get<std::string>() : "";
    name.erase(name.find_last_not_of(".*$") + 1);
    return name.ends_with("attn") && name.find_first_of("0123456789") == std::string::npos;
  });
}

// Takes formats from quantization_config. With fp8 weights, products are computed in fp8; weights of four bits are
// unpacked and multiplied in bf16. Activations keep their format, and so does the cache unless fp8 is said.
void take_quantization(ConfigJson& keys, ReadModel& read) {
  const Json said = keys.of_key(quantization_key);
  if (said.is_null()) return;
  const Quantization of = quantization_of(said);
  const bool has_fp8_cache = says_fp8_cache(keys, said);
  const bool is_of_cache_alone = has_fp8_cache && of.is_packed() && of.bits.empty() && of.types.empty() &&
                                 word_by(said, "quant_algo").empty() && said_by(said, "config_groups").empty();
  if (of.has(8, "float") && (of.is_packed() || of.names("fp8"))) {
    read.products = read.formats.weights = models::Dtype::fp8;
    read.formats.activations = read.formats.cache = models::Dtype::bf16;
  } else if (of.method == "mxfp4") {
    read.formats.weights = models::Dtype::mxfp4;
  } else if (of.has(4, "int") ||
             ((of.method == "gptq" || of.method == "awq") && of.bits == std::set<std::int64_t>{4})) {
    read.formats.weights = models::Dtype::int4;
  } else if (!is_of_cache_alone) {
    keys.fault(quantization_key,
               of.in_words(said) + " is not accepted: fp8, mxfp4, and int4 by gptq, awq or compressed-tensors are");
  }
  if (has_fp8_cache) read.formats.cache = models::Dtype::fp8;
  // Tools list the modules whose weights keep their format under different names. Embedding, head and router do so in
  // any case (study/network/step_question.h).
  for (const char* const list : {"modules_to_not_convert", "ignore", "exclude_modules"}) {
    const Json kept = said_by(said, list);
    if (!kept.is_array() || !read.formats.weights) continue;
    if (has_attention(kept)) read.formats.attention = read.formats.activations.value_or(models::Dtype::bf16);
    for (const auto& [part, name] : {std::pair("attention", "attn"), {"shared experts", "shared_expert"}}) {
      const bool counts = name == std::string_view("attn") && read.formats.attention;
      if (counts || kept.dump().find(name) == std::string::npos) continue;
      keys.remark(quantization_key, fmt::format("{}: weights of {} keep their format there, and count in {} here", list,
                                                part, models::to_string(*read.formats.weights)));
    }
  }
  if (said.is_object() && said.contains("weight_block_size") && !said["weight_block_size"].is_null())
    keys.remark(quantization_key,
                "weight_block_size: scales by block are left out, weights are of one byte all the same");
}

std::int64_t window_of(const ModelSpec& model, std::int64_t layer) {
  std::int64_t window = model.window;
  for (const LayerVariant& variant : model.variants) {
    if (variant.window && std::ranges::binary_search(variant.layers, layer)) window = *variant.window;
  }
  return window;
}

// Checks that layer_types lists one known kind per layer, and for each layer the kind that is computed.
void check_layer_types(ConfigJson& keys, const ModelSpec& model) {
  constexpr auto key = "layer_types";
  if (!keys.says(key)) return;
  const Json said = keys.of_key(key);
  if (!said.is_array()) {
    keys.fault(key, in_short(said) + " is not accepted: a list with a kind for each layer is");
    return;
  }
  bool is_right = said.size() == static_cast<std::size_t>(model.layers);
  if (!is_right) {
    keys.fault(key, fmt::format("{} kinds are not those of {} layers: a list with one for each layer is accepted",
                                said.size(), model.layers));
  }
  const std::vector<std::string> known{"full_attention", "sliding_attention", "chunked_attention"};
  std::set<std::string> kinds;
  for (const Json& one : said) kinds.insert(one.is_string() ? one.get<std::string>() : one.dump());
  for (const std::string& kind : kinds) {
    if (std::ranges::find(known, kind) != known.end()) continue;
    is_right = false;
    if (kind == "linear_attention") {
      keys.fault(key, "'linear_attention' is not accepted, of which there is no model: " +
                          fmt::format("{} are", fmt::join(known, ", ")));
    } else {
      keys.fault(key, fmt::format("'{}' is not known{}", kind.substr(0, shown_of_json), sim::name_hint(kind, known)));
    }
  }
  for (std::int64_t layer = 0; is_right && layer < model.layers; ++layer) {
    const Json& kind = said[static_cast<std::size_t>(layer)];
    const std::int64_t window = window_of(model, layer);
    if ((kind == "full_attention") == (window == 0)) continue;
    is_right = false;
    keys.fault(
        key, fmt::format("{} of layer {} is not what is computed, {}: where that is meant, --ignore {} is accepted",
                         in_short(kind), layer,
                         window == 0 ? "attention to all tokens" : fmt::format("a window of {} tokens", window), key));
  }
}

// Checks keys that any architecture may have in addition to its own: they must state what is computed anyway.
void check_common_keys(ConfigJson& keys, const ModelSpec& model) {
  check_layer_types(keys, model);
  keys.require_unread("use_qk_norm", model.query_norm != QueryNorm::none);
  if (keys.says("sliding_window_size")) keys.require_unread("sliding_window_size", keys.of_key("sliding_window"));
  // MiniMax has these keys for dense layers and shared experts; the first is unused if each layer has experts.
  const std::vector<LayerKind> kinds = model.kinds(model.layers);
  if (std::ranges::all_of(kinds, [](const LayerKind& kind) { return kind.model.experts > 0; })) {
    keys.pass_over("mlp_intermediate_size");
    keys.pass_over("shared_moe_mode");
  }
  struct Due {
    std::string key;
    Json value;
    std::string otherwise;  // the fault for any other value
  };
  for (const Due& due :
       {Due{"attn_type_list", std::vector<int>(static_cast<std::size_t>(model.layers), 1),
            fmt::format("changes what is computed: a 1 for each of {} layers is accepted, and 0 is linear attention, "
                        "of which there is no model",
                        model.layers)},
        Due{"shared_expert_intermediate_size", 0,
            "changes what is computed: 0 is accepted, as this architecture has no experts that all tokens use; where "
            "it changes nothing, --ignore shared_expert_intermediate_size is accepted"},
        Due{"is_encoder_decoder", false, "is not accepted, of which there is no model: false is"}}) {
    if (!keys.says(due.key) || keys.is_read(due.key)) continue;
    const Json said = keys.of_key(due.key);
    if (said != due.value) keys.fault(due.key, in_short(said) + " " + due.otherwise);
  }
}

// Returns the hint of a message about an unknown architecture: the nearest one, or nothing.
std::string advice(const Architectures& all, const Json& object) {
  const std::string nearest = all.nearest(object);
  if (nearest.empty()) return "";
  return fmt::format("; by its keys it is nearest to {}: --like {} reads it so", nearest, nearest);
}

sim::ConfigError unknown_type(const Architectures& all, const Json& object, const std::string& file,
                              const std::string& said, const std::string& like) {
  if (like.empty()) {
    return sim::ConfigError({{file, "model_type",
                              fmt::format("'{}' is not known{}{}", said.substr(0, shown_of_json),
                                          sim::name_hint(said, all.types()), advice(all, object))}});
  }
  const bool needs_none = !all.of(said).is_null();
  const std::string rest = needs_none
                               ? fmt::format("; '{}', the model_type of {}, is known and needs no --like", said, file)
                               : advice(all, object);
  return sim::ConfigError({{"--like", "",
                            fmt::format("'{}' is not known{}: {} are accepted{}", like.substr(0, shown_of_json),
                                        sim::nearest_hint(like, all.types()), fmt::join(all.types(), ", "), rest)}});
}

}  // namespace

ReadModel read_hugging_face(std::string_view text, const std::string& file,
                            std::span<const std::filesystem::path> config_folders, std::span<const std::string> ignores,
                            const std::string& like) try {
  const Architectures all(config_folders);
  Json object = parse(text, file);
  std::vector<std::string> left_out;
  // Multimodal models are read by their text part only.
  if (const auto part = object.find("text_config"); part != object.end() && part->is_object()) {
    Json inner = *part;
    for (const char* const outer : {"quantization_config", "tie_word_embeddings", "is_encoder_decoder"}) {
      if (object.contains(outer) && !inner.contains(outer)) inner[outer] = object[outer];
    }
    left_out.push_back(file + ": text_config: only this part is read: what other inputs than text need is left out");
    object = std::move(inner);
  }
  const Json said = object.value("model_type", Json());
  if (!said.is_string() && like.empty()) throw sim::ConfigError({{file, "model_type", "is missing"}});
  const std::string own = said.is_string() ? said.get<std::string>() : "";
  std::string type = like.empty() ? own : like;
  if (const std::string named = all.of_class(object, own); like.empty() && all.of(own).is_null() && !named.empty()) {
    left_out.push_back(fmt::format("{}: model_type: '{}' is read as {}, as architectures says", file, own, named));
    type = named;
  }
  const Json architecture = all.of(type);
  if (architecture.is_null()) throw unknown_type(all, object, file, own, like);
  ConfigJson keys(object, architecture, file);
  keys.leave_out(ignores, architecture["variants"]);
  keys.of_key("model_type");
  ReadModel read{read_network(keys)};
  read.model.name = type;
  read.model.variants = keys.variants(architecture["variants"], read.model);
  take_quantization(keys, read);
  if (like.empty()) keys.check_architectures(type, architecture["class"]);
  keys.of_key("architectures");
  keys.require(architecture["only"]);
  for (const sim::Fault& one : contradictions(read.model, keys.says(keys.key_of("head_dim")))) {
    const std::string its_own = keys.key_of(one.where);
    const std::string& key = its_own.empty() ? one.where : its_own;
    const bool is_optional = one.where == "window" && keys.says(key);
    keys.fault(key, one.what + (is_optional ? "; --ignore " + key + " reads the file as if it were not there" : ""));
  }
  check_common_keys(keys, read.model);
  read.ignored = keys.finish(architecture["ignores"], all);
  read.ignored.insert(read.ignored.begin(), left_out.begin(), left_out.end());
  return read;
} catch (const Json::exception& error) {
  const std::string_view what = error.what();  // behind the name of the exception in brackets
  throw sim::ConfigError(
      {{"architectures.json", "",
        fmt::format("is at fault, as it does not say how {} is read: {}", file, what.substr(what.find("] ") + 2))}});
}

}  // namespace c3sim::study
