// Files that c3sim writes where its user says, such as an experiment or a trace: whether one that stands there may be
// replaced unasked.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace c3sim::study {

// The text of a YAML file under a first line that says that c3sim wrote it, with a digest of the rest. Such a line of
// an earlier file that the text was made from is left out.
std::string signed_text(std::string_view text);

// Whether c3sim wrote the file, as a signed text that nobody has edited since or as a trace, or nothing stands in it.
bool is_own_file(const std::filesystem::path& file);

// Whether two names lead to one place, be something there or not.
bool is_same_place(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace c3sim::study
