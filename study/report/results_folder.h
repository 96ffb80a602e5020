// An answer as files: for programs, for people and for later.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.h"
#include "study/report/page.h"
#include "study/report/results.h"

namespace c3sim::study {

// A folder of results belongs to one run at a time: a lock of the operating system, which goes with the process
// however that ends.
class FolderLock {
 public:
  static constexpr auto taken = "another run is at work in this folder: wait for its end, or take another folder";

  // The folder is this run's as long as the lock lives. Throws sim::ConfigError where another has it. A file system
  // without locks, and a folder that is not there, are used without.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Whether another run has it now.
  static bool is_taken(const std::filesystem::path& folder);

 private:
  int folder_;
};

// How an answer came about.
struct Origin {
  std::string version;      // of c3sim
  std::string command;      // line, as a shell reads it
  bool overwrites = false;  // the user said that files of an earlier answer may go although they have been edited
};

// What an answer leaves: results.json, one <key>.csv per table, report.md with those to be read, page.html, which shows
// them all, and the answer's own files. results.json holds what to_json() does, the origin as "c3sim" and "command",
// every name as "files", and the digest of each as "sha256": of results.json that of its text without the digests.
//
// A folder holds one answer: files that the results.json found there lists and this answer has not are removed. Nothing
// else is touched, a file that no results.json lists is never replaced, and neither is the answer of another command,
// nor, unless the origin says so, a file that has been edited since.
// `directory` is made where it is missing, and locked meanwhile, unless the caller holds its lock. Throws
// sim::ConfigError where something is in the way or another run at work, before anything is written, and
// std::system_error where the file system refuses.
void save(const Results& results, const Page& page, const Origin& origin, const std::filesystem::path& directory,
          const FolderLock* held = nullptr);
void save(const Results& results, const Origin& origin, const std::filesystem::path& directory,
          const FolderLock* held = nullptr);

// Where a sweep keeps its points. A folder that has this file is a sweep's, though it may not be finished and have no
// results.json yet.
inline constexpr auto points_file_name = "points.sqlite";

// What save() left in the folder when it was last called for it; nothing where it never was.
std::vector<std::string> files_of_earlier_answer(const std::filesystem::path& directory);

// Why save() would not put files of these names into `directory`: the folder is another command's or cannot be looked
// into, c3sim did not write what is there, or somebody has edited it since. Each with the path that it is about.
std::vector<sim::Fault> in_the_way(const std::filesystem::path& directory, const std::vector<std::string>& names,
                                   const Origin& origin);

// Files that c3sim writes where its user says, such as an experiment or a trace: whether one that stands there may be
// replaced unasked.

// The text of a YAML file under a first line that says that c3sim wrote it, with a digest of the rest. Such a line of
// an earlier file that the text was made from is left out.
std::string signed_text(std::string_view text);

// Whether c3sim wrote the file, as a signed text that nobody has edited since or as a trace, or nothing stands in it.
bool is_own_file(const std::filesystem::path& file);

// Whether two names lead to one place, be something there or not.
bool is_same_place(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace c3sim::study
