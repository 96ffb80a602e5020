// What the file of a model says beside its extents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace c3sim::study {

struct ModelRemarks {
  bool fp8_weights = false;          // they are quantised so
  std::vector<std::string> ignored;  // what of it is left out or taken for something else, in sentences
};

// Of a Hugging Face config.json; nothing of other files and names. Throws sim::ConfigError as read_model() does.
ModelRemarks remarks_of_model(const std::string& name_or_path);
// The same of the text of such a file; `file` stands for it in positions.
ModelRemarks remarks_of_hugging_face(std::string_view text, const std::string& file);

}  // namespace c3sim::study
