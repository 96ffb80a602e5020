// Reads the key quantization_config of a config.json of Hugging Face, which tools write in different ways: AutoFP8,
// compressed-tensors, modelopt, gptq, awq, mxfp4.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/platform/dtype.h"
#include "study/network/model_spec.h"

namespace c3sim::study {

// Messages show this many characters of a value.
inline constexpr std::size_t shown_of_json = 60;
inline std::string in_short(const nlohmann::ordered_json& value) { return value.dump().substr(0, shown_of_json); }

struct QuantizationConfig {
  std::optional<models::Dtype> products{};  // format of products, if it says one
  Formats formats{};
  std::vector<std::string> faults{};   // what is not accepted, and what would be
  std::vector<std::string> remarks{};  // what is left out
};

// With fp8 weights, products are computed in fp8; weights of four bits are unpacked and multiplied in bf16. Activations
// keep their format, and so does the cache unless the configuration says fp8.
QuantizationConfig read_quantization(const nlohmann::ordered_json& said);

}  // namespace c3sim::study
