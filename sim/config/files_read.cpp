#include "sim/config/files_read.h"

#include <set>
#include <system_error>

namespace c3sim::sim {
namespace {
thread_local FilesRead* noting = nullptr;
}  // namespace

FilesRead::FilesRead() : before_(noting) { noting = this; }
FilesRead::~FilesRead() { noting = before_; }

void note_read(const std::filesystem::path& file) {
  if (noting != nullptr) noting->add(file);
}

std::optional<std::filesystem::path> first_file(std::span<const std::filesystem::path> folders,
                                                const std::filesystem::path& name) {
  std::error_code absent;
  const auto has = [&](const std::filesystem::path& folder) {
    return std::filesystem::is_regular_file(folder / name, absent);
  };
  const auto found = std::ranges::find_if(folders, has);
  return found == folders.end() ? std::nullopt : std::optional(*found / name);
}

std::vector<std::string> yaml_names(std::span<const std::filesystem::path> folders, std::string_view within) {
  std::set<std::string> names;
  for (const std::filesystem::path& folder : folders) {
    std::error_code absent;
    for (std::filesystem::directory_iterator file(folder / within, absent), end; !absent && file != end;
         file.increment(absent)) {
      if (file->path().extension() == ".yaml") names.insert(file->path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace c3sim::sim
