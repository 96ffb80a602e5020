#include "sim/config/files_read.h"

#include <algorithm>

namespace c3sim::sim {

namespace {
thread_local FilesRead* noting = nullptr;
}  // namespace

FilesRead::FilesRead() : before_(noting) { noting = this; }
FilesRead::~FilesRead() { noting = before_; }

void FilesRead::add(const std::filesystem::path& file) {
  if (std::ranges::find(files_, file) == files_.end()) files_.push_back(file);
}

void note_read(const std::filesystem::path& file) {
  if (noting != nullptr) noting->add(file);
}

}  // namespace c3sim::sim
