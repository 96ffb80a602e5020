// Which model a repository of Hugging Face holds, as results of serving name it: "meta-llama/Llama-3.1-70B-Instruct".
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace c3sim::study {

// The file of that name in the first of the folders of models that has one.
std::optional<std::filesystem::path> named_model_file(std::string_view name,
                                                      std::span<const std::filesystem::path> config_folders);

struct HeldModel {
  std::string model;    // its name in the folder of models
  std::string weights;  // the format that its weights are published in, "fp8"; empty: one of two bytes
};

// What models/repositories.csv of the first folder that has this file says of the longest beginning of the name that it
// knows; behind the owner, letters large or small. Nothing where it knows none, or says that no model is known. A
// repository that is called as a file of one of the folders of models is that model, whatever the table says.
std::optional<HeldModel> held_by_repository(std::string_view repository,
                                            std::span<const std::filesystem::path> config_folders);

// The name of that model alone.
std::optional<std::string> model_of_repository(std::string_view repository,
                                               std::span<const std::filesystem::path> config_folders);

}  // namespace c3sim::study
