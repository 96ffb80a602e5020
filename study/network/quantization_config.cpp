#include "study/network/quantization_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/algorithm/string/case_conv.hpp>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

namespace c3sim::study {

namespace {

using Json = nlohmann::ordered_json;

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
bool says_fp8_cache(const Json& said, std::vector<std::string>& faults) {
  bool is_fp8 = false;
  for (const char* const name : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
    const Json cache = said_by(said, name);
    if (cache.is_null() || cache == "") continue;
    const std::string word = word_by(said, name);
    const bool is_word = word == "fp8" || word == "static" || word == "dynamic";
    const bool is_scheme = said_by(cache, "num_bits") == 8 && word_by(cache, "type") != "int";
    is_fp8 = true;
    if (is_word || is_scheme) continue;
    faults.push_back(fmt::format("{} {} is not accepted: fp8 is, of 8 bits", name, in_short(cache)));
  }
  return is_fp8;
}

}  // namespace

QuantizationConfig read_quantization(const Json& said) {
  QuantizationConfig read;
  const Quantization of = quantization_of(said);
  const bool has_fp8_cache = says_fp8_cache(said, read.faults);
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
    read.faults.push_back(fmt::format("{} is not accepted: fp8, mxfp4, and int4 by gptq, awq or compressed-tensors are",
                                      of.in_words(said)));
  }
  if (has_fp8_cache) read.formats.cache = models::Dtype::fp8;
  // Tools list the modules whose weights keep their format under different names. Embedding, head and router do so in
  // any case (study/network/step_question.h).
  for (const char* const list : {"modules_to_not_convert", "ignore", "exclude_modules"}) {
    const Json kept = said_by(said, list);
    if (!kept.is_array() || !read.formats.weights || kept.dump().find("attn") == std::string::npos) continue;
    read.remarks.push_back(fmt::format("{}: weights of attention keep their format there, and count in {} here", list,
                                       models::to_string(*read.formats.weights)));
  }
  if (said.is_object() && said.contains("weight_block_size") && !said["weight_block_size"].is_null())
    read.remarks.emplace_back("weight_block_size: scales by block are left out, weights are of one byte all the same");
  return read;
}

}  // namespace c3sim::study
