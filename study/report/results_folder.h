// Saves an answer as a folder of files for programs and people, and protects files that the user has edited.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config_error.h"
#include "study/report/results.h"

namespace c3sim::study {

// A FolderLock gives a folder of results to one run at a time. It is a lock of the operating system, which ends with
// the process, however the process ends.
class FolderLock {
 public:
  static constexpr auto taken = "another run is at work in this folder: wait for its end, or take another folder";

  // Takes the lock for its lifetime. Throws sim::ConfigError if another run holds it. A folder that does not exist, or
  // whose file system has no locks, is used without a lock.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Returns whether another run holds the lock now.
  static bool is_taken(const std::filesystem::path& folder);

 private:
  int folder_;
};

// An Origin tells how an answer was produced.
struct Origin {
  std::string version;      // of c3sim
  std::string command;      // command line, as a shell reads it
  bool overwrites = false;  // the user allows to replace edited files of an earlier answer
};

// Saves an answer: results.json, one <key>.csv per table, page.html with all tables, and the files of the answer.
// results.json holds to_json(), the origin as "c3sim" and "command", all names as "files" and all digests as "sha256".
// The digest of results.json is that of its text without the digests.
//
// A folder holds one answer, so save() removes files that the earlier results.json lists and this answer lacks. It
// never replaces files that no results.json lists, the answer of another command, or, unless the origin allows it,
// files edited since. It creates and locks a missing `directory` unless the caller holds its lock. Throws
// sim::ConfigError, before it writes anything, if something is in the way or another run is at work, and
// std::system_error if the file system refuses.
void save(const Results& results, const Origin& origin, const std::filesystem::path& directory,
          const FolderLock* held = nullptr);

// A sweep keeps its points in this file. A folder with this file belongs to a sweep, even if the sweep has not finished
// and written results.json.
inline constexpr auto points_file_name = "points.sqlite";

// Returns the names of the files that the last save() left in the folder, or nothing if there was none.
std::vector<std::string> files_of_earlier_answer(const std::filesystem::path& directory);

// Returns why save() would not write files with these names to `directory`, each reason with its path: the folder
// belongs to another command or cannot be read, c3sim did not write a file, or somebody has edited a file since.
std::vector<sim::Fault> in_the_way(const std::filesystem::path& directory, const std::vector<std::string>& names,
                                   const Origin& origin);

// The following functions concern files that c3sim writes to a path of the user, such as an experiment or a trace, and
// tell whether an existing file may be replaced without asking.

// Returns the text of a YAML file after a first line that says that c3sim wrote it, with a digest of the rest. An
// existing line of this kind at the beginning of `text` is replaced.
std::string signed_text(std::string_view text);

// Returns whether the file is empty, a trace, or a signed text that nobody has edited since.
bool is_own_file(const std::filesystem::path& file);

// Returns whether two names lead to the same place, whether or not a file exists there.
bool is_same_place(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace c3sim::study
