// What the key quantization_config of a config.json of Hugging Face says, by the names that tools have for it: AutoFP8,
// compressed-tensors, modelopt, gptq, awq, mxfp4.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/platform/dtype.h"
#include "study/network/model_spec.h"

namespace c3sim::study {

// The beginning of a value, as messages show it.
inline constexpr std::size_t shown_of_json = 60;
inline std::string in_short(const nlohmann::ordered_json& value) { return value.dump().substr(0, shown_of_json); }

struct QuantizationConfig {
  std::optional<models::Dtype> products{};  // none: as the file has them elsewhere
  Formats formats{};
  std::vector<std::string> faults{};   // what is not accepted, and what would be
  std::vector<std::string> remarks{};  // what is left out
};

// Of fp8 products are computed so, of weights of four bits in bf16 once these are unpacked. The stream between them
// stays as it is, and so does the cache unless it is said to be of fp8.
QuantizationConfig read_quantization(const nlohmann::ordered_json& said);

}  // namespace c3sim::study
