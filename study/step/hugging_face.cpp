#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "sim/config/config_error.h"
#include "sim/config/expression.h"
#include "sim/config/measurement_text.h"
#include "sim/config/nearest_name.h"
#include "study/step/model_spec.h"

namespace c3sim::study {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t shown = 60;  // characters of a value in a message
std::string in_short(const Json& value) { return value.dump().substr(0, shown); }

// The object of a text. A key that it has twice would be read as one of the two.
Json parse(std::string_view text, const std::string& file) {
  std::vector<sim::Fault> faults;
  std::set<std::string> keys;
  const auto look = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1 && !keys.insert(parsed.get<std::string>()).second) {
      faults.push_back({file, parsed.get<std::string>().substr(0, shown), "is there twice"});
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

// configs/architectures.json.
class Architectures {
 public:
  explicit Architectures(std::span<const std::filesystem::path> config_folders) {
    for (const std::filesystem::path& folder : config_folders) {
      const std::filesystem::path file = folder / "architectures.json";
      std::error_code absent;
      if (!std::filesystem::is_regular_file(file, absent)) continue;
      table_ = parse(sim::read_measurement_text(file), file.string());
      return;
    }
    throw sim::ConfigError({{"configs/architectures.json", "", "is missing, which says how a config.json is read"}});
  }

  std::vector<std::string> types() const {
    std::vector<std::string> types;
    for (const Json& one : table_.at("architectures")) types.push_back(one.at("type").get<std::string>());
    return types;
  }
  // With all that those it is like have; null where there is none of that type.
  Json of(const std::string& type) const {
    for (const Json& one : table_.at("architectures")) {
      if (one.at("type") != type) continue;
      if (!one.contains("like")) return one;
      Json whole = of(one.at("like").get<std::string>());
      Json ignores = whole.value("ignores", Json::array());
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
  // The type most of whose keys the object has.
  std::string nearest(const Json& object) const {
    std::pair<int, std::string> best{-1, ""};
    for (const std::string& type : types()) {
      const std::string text = of(type).dump();
      int known = 0;
      for (const auto& [key, value] : object.items()) {
        const bool is_named = text.find('(' + key) != std::string::npos || text.find(' ' + key) != std::string::npos ||
                              text.find('"' + key + '"') != std::string::npos;
        known += is_named ? 1 : -1;
      }
      if (known > best.first) best = {known, type};
    }
    return best.second;
  }

 private:
  Json table_;
};

// The object, read as an architecture has it: a source of values for read_network(). What is wrong is gathered.
class ConfigJson {
 public:
  ConfigJson(const Json& object, const Json& architecture, std::string file)
      : object_(object),
        network_(architecture.value("network", Json::object())),
        defaults_(architecture.value("defaults", Json::object())),
        nulls_(architecture.value("nulls", Json::array())),
        file_(std::move(file)) {}

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
  // What is told by a number is so unless it is zero.
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
        fault(key, fmt::format("'{}' is not accepted: {} is", said.substr(0, shown), fmt::join(values_of(told), ", ")));
        return fallback;
      }
      name = told.at(said).get<std::string>();
      if (name == "gelu" && said != name)
        remark(key, fmt::format("'{}' is taken for gelu, which moves as many bytes", said));
    }
    const auto found = std::ranges::find(choices, name, &sim::Choice<T>::first);
    return found == choices.end() ? fallback : found->second;
  }

  // Layers that have something else, by a list of them as an architecture has it.
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
        resolve(one.value("every", Json()));  // which is known, and says the same
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

  // Of keys that, where they are there, must say one of these and nothing else.
  void require(const Json& only) {
    for (const auto& [key, accepted] : only.items()) {
      const Json value = of_key(key);
      if (value.is_null()) continue;
      const Json same = accepted.is_array() ? accepted : Json::array({resolve(accepted).second});
      if (std::ranges::find(same, value) != same.end()) continue;
      fault(key, fmt::format("{} changes what is computed: {} is accepted", in_short(value), in_short(same.front())));
    }
  }
  // Of classes of models: each is named after the type, or as the architecture has it.
  void check_architectures(std::string type, const std::string& named) {
    if (!named.empty()) type = named;
    std::erase(type, '_');
    const Json said = of_key("architectures");
    if (!said.is_array()) return;
    for (const Json& one : said) {
      std::string name = one.is_string() ? one.get<std::string>() : one.dump();
      name = name.substr(0, shown);
      if (boost::to_lower_copy(name).starts_with(type)) continue;
      fault("architectures", fmt::format("'{}' is no {}, which model_type says", name, type));
    }
  }
  void fault(std::string_view key, std::string what) { faults_.push_back({file_, std::string(key), std::move(what)}); }
  void remark(std::string_view key, const std::string& what) {
    remarks_.push_back(fmt::format("{}: {}: {}", file_, key, what));
  }
  // The key that a network file's is read from.
  std::string key_of(const std::string& field) { return resolve(network_.value(field, Json())).first; }
  // What it says, or what its absence stands for, as null does but where that means none.
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

  // Throws where anything was found, keys among it that nobody read and that change what is computed, for all that is
  // known: those that are switched off do not, nor do those that tell nothing of another architecture.
  std::vector<std::string> finish(const Json& own, const Architectures& all, std::span<const std::string> ignores) {
    for (const auto& [key, value] : object_.items()) {
      const bool is_read = std::ranges::find(read_, key) != read_.end();
      if (std::ranges::find(ignores, key) != ignores.end()) {
        if (is_read) {
          fault(key, "is read, and cannot be left out: --ignore is of keys that are not known");
        } else {
          remark(key, fmt::format("{} is ignored, as --ignore says", in_short(value)));
        }
        continue;
      }
      if (is_read || all.ignores_everywhere(key) || Architectures::has(own, key)) continue;
      const bool is_off = value.is_null() || value == false || value == 0 || value == 0.0 || value == "" ||
                          ((value.is_array() || value.is_object()) && value.empty());
      if (is_off || all.ignores_somewhere(key)) {
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
  static std::vector<std::string> values_of(const Json& choice) {
    std::vector<std::string> values;
    for (const auto& [value, name] : choice.items()) {
      if (value != "key") values.push_back(value);
    }
    return values;
  }

  // What is told of a field: a value, "$(key)" or "$(arithmetic of keys)". With the key, of arithmetic the first.
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

  const Json& object_;
  const Json network_;
  const Json defaults_;
  const Json nulls_;
  std::string file_;
  std::vector<std::string> read_;
  std::vector<sim::Fault> faults_;
  std::vector<std::string> remarks_;
};

// What a file says of its weights: of fp8 products are computed so, of weights of four bits in bf16 once these are
// unpacked. The stream between them stays as it is.
void read_quantization(ConfigJson& keys, ReadModel& read) {
  constexpr auto key = "quantization_config";
  const Json said = keys.of_key(key);
  if (said.is_null()) return;
  std::string method;
  for (const char* const name : {"quant_method", "quant_algo"}) {
    if (method.empty() && said.is_object() && said.contains(name) && said[name].is_string())
      method = boost::to_lower_copy(said[name].get<std::string>());
  }
  const std::string text = boost::to_lower_copy(said.dump());
  const auto has = [&text](std::string_view part) { return text.find(part) != std::string::npos; };
  const bool of_4 = has("\"num_bits\":4") || has("\"bits\":4") || has("\"w_bit\":4") || has("\"w4a16");
  const bool packs = method == "compressed-tensors" || method == "modelopt";
  const bool is_int = has("\"type\":\"int\"") || method == "gptq" || method == "awq" || has("w4a16_awq");
  const bool is_fp8 = (method.find("fp8") != std::string::npos && !of_4) ||
                      (packs && !of_4 && !is_int &&
                       (has("\"quant_algo\":\"fp8") || (has("\"type\":\"float\"") && has("\"num_bits\":8"))));
  if (is_fp8) {
    read.products = read.formats.weights = models::Dtype::fp8;
    read.formats.activations = read.formats.cache = models::Dtype::bf16;
  } else if (method == "mxfp4") {
    read.formats.weights = models::Dtype::mxfp4;
  } else if (is_int && (of_4 || method == "awq")) {
    read.formats.weights = models::Dtype::int4;
  } else {
    keys.fault(key, fmt::format("'{}' is not accepted: fp8, mxfp4, and int4 by gptq, awq or compressed-tensors are",
                                method.empty() ? in_short(said) : method.substr(0, shown)));
  }
  if (said.is_object() && said.contains("weight_block_size") && !said["weight_block_size"].is_null())
    keys.remark(key, "weight_block_size: scales by block are left out, weights are of one byte all the same");
}

// What a key of our files is called, for faults of values that contradict each other.
std::string key_for(ConfigJson& keys, const std::string& field) {
  const std::string key = keys.key_of(field);
  return key.empty() ? field : key;
}

}  // namespace

ReadModel read_hugging_face(std::string_view text, const std::string& file,
                            std::span<const std::filesystem::path> config_folders, std::span<const std::string> ignores,
                            const std::string& like) {
  const Architectures all(config_folders);
  Json object = parse(text, file);
  std::vector<std::string> left_out;
  // Of models of several kinds of input, the one of text.
  if (const auto part = object.find("text_config"); part != object.end() && part->is_object()) {
    Json inner = *part;
    for (const char* const outer : {"quantization_config", "tie_word_embeddings"}) {
      if (object.contains(outer) && !inner.contains(outer)) inner[outer] = object[outer];
    }
    left_out.push_back(file + ": text_config: only this part is read: what other inputs than text need is left out");
    object = std::move(inner);
  }
  const Json said = object.value("model_type", Json());
  if (!said.is_string() && like.empty()) throw sim::ConfigError({{file, "model_type", "is missing"}});
  const std::string type = like.empty() ? said.get<std::string>() : like;
  const Json architecture = all.of(type);
  if (architecture.is_null()) {
    const std::string nearest = all.nearest(object);
    throw sim::ConfigError({{like.empty() ? file : "--like", like.empty() ? "model_type" : "",
                             fmt::format("'{}' is not known{}; by its keys it is nearest to {}: --like {} reads it so",
                                         type.substr(0, shown), sim::name_hint(type, all.types()), nearest, nearest)}});
  }
  ConfigJson keys(object, architecture, file);
  keys.of_key("model_type");
  ReadModel read{read_network(keys)};
  read.model.name = type;
  read.model.variants = keys.variants(architecture.value("variants", Json::array()), read.model);
  read_quantization(keys, read);
  if (like.empty()) keys.check_architectures(type, architecture.value("class", ""));
  keys.of_key("architectures");
  keys.require(architecture.value("only", Json::object()));
  for (const sim::Fault& one : contradictions(read.model, keys.says(keys.key_of("head_dim")))) {
    keys.fault(key_for(keys, one.where), one.what);
  }
  read.ignored = keys.finish(architecture.value("ignores", Json::array()), all, ignores);
  read.ignored.insert(read.ignored.begin(), left_out.begin(), left_out.end());
  return read;
}

}  // namespace c3sim::study
