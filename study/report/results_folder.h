// An answer as files: for programs, for people and for later.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "study/report/page.h"
#include "study/report/results.h"

namespace c3sim::study {

// How an answer came about.
struct Origin {
  std::string version;  // of c3sim
  std::string command;  // line, as a shell reads it
};

// What an answer leaves: results.json, one <key>.csv per table, report.md with those to be read, page.html, which shows
// them all, and the answer's own files. results.json holds what to_json() does, the origin as "c3sim" and "command",
// and every name as "files".
//
// A folder holds one answer: files that the results.json found there lists and this answer has not are removed. Nothing
// else is touched, and a file that no results.json lists is never replaced. `directory` is made where it is missing.
// Throws sim::ConfigError where a file is in the way, before anything is written, and std::system_error where the file
// system refuses.
void save(const Results& results, const Page& page, const Origin& origin, const std::filesystem::path& directory);
void save(const Results& results, const Origin& origin, const std::filesystem::path& directory);

// What save() left in the folder when it was last called for it; nothing where it never was.
std::vector<std::string> files_of_earlier_answer(const std::filesystem::path& directory);

// Of these names, the paths in `directory` that save() would not replace, as c3sim did not write what is there.
std::vector<std::filesystem::path> files_in_the_way(const std::filesystem::path& directory,
                                                    const std::vector<std::string>& names);

}  // namespace c3sim::study
