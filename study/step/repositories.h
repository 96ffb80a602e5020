// Which model a repository of Hugging Face holds, as results of serving name it: "meta-llama/Llama-3.1-70B-Instruct".
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace c3sim::study {

// Its name in the folder of models, as models/repositories.csv of the first folder that has this file says; nothing
// where none of its beginnings is known. Letters count alike, large or small.
std::optional<std::string> model_of_repository(std::string_view repository,
                                               std::span<const std::filesystem::path> config_folders);

}  // namespace c3sim::study
