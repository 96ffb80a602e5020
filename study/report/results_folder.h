// An answer as files: for programs, for people and for later.
#pragma once

#include <filesystem>

#include "study/report/page.h"
#include "study/report/results.h"

namespace c3sim::study {

// Leaves results.json, one <key>.csv per table and page.html, which shows them all, in `directory`, which is made where
// it is missing. Throws std::system_error where the file system refuses.
void save(const Results& results, const std::filesystem::path& directory);
// The same with another page.
void save(const Results& results, const Page& page, const std::filesystem::path& directory);

}  // namespace c3sim::study
