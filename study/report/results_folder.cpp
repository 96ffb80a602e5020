#include "study/report/results_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include "sim/config/output_file.h"
#include "sim/trace.h"
#include "study/play/digest.h"
#include "study/report/page.h"
#include "study/report/result_table.h"

namespace c3sim::study {

namespace {

namespace fs = std::filesystem;

constexpr auto index_name = "results.json";
constexpr auto digests_key = "sha256";

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Returns the command without the options for its output and for how work is shared, so that equal answers have equal
// pages.
std::string question_of(const Origin& origin) {
  static const std::regex left_out(
      R"(('[^']*')| --(?:(?:out|report|jobs|patience)[ =](?:'[^']*'|[^ '])*|resume|overwrite)(?= |$))");
  return std::regex_replace(origin.command, left_out, "$1");  // other words in quotes stay as they are
}

std::vector<TextFile> files_of(const Results& results, const Origin& origin) {
  std::vector<TextFile> files;
  for (const NamedTable& named : results.tables) {
    std::ostringstream csv;
    named.table.write_csv(csv);
    files.push_back({named.key + ".csv", csv.str()});
  }
  files.push_back({"page.html", to_html(results, origin.version, question_of(origin))});
  files.insert(files.end(), results.files.begin(), results.files.end());
  return files;
}

nlohmann::ordered_json index_object(const Results& results, const Origin& origin,
                                    const std::vector<std::string>& names) {
  nlohmann::ordered_json object = to_json(results);
  object["c3sim"] = origin.version;
  object["command"] = origin.command;
  object["files"] = names;
  return object;
}

// Adds the digests of the files, of those in the folder as they stand there, and of the object without its digests.
nlohmann::ordered_json with_digests(nlohmann::ordered_json object, const std::vector<TextFile>& files,
                                    const std::vector<LongFile>& in_folder, const fs::path& folder) {
  nlohmann::ordered_json digests;
  digests[index_name] = sha256(json_text(object));
  for (const TextFile& file : files) digests[file.name] = sha256(file.content);
  for (const LongFile& file : in_folder) digests[file.name] = sha256_of_file(folder / file.name);
  object[digests_key] = std::move(digests);
  return object;
}

// Index is the content of the results.json of a folder that c3sim wrote.
struct Index {
  std::string command;  // command line
  std::vector<std::string> files;
  std::map<std::string, std::string> digests;  // of the files as c3sim wrote them
  std::string undigested;                      // its text without the digests
};

// Reads the index of a folder. A list that was tampered with must not lead out of the folder.
std::optional<Index> index_of(const fs::path& directory) {
  std::ifstream file(directory / index_name);
  auto object = nlohmann::ordered_json::parse(file, nullptr, false);
  if (!object.is_object() || !object.contains("c3sim") || !object.contains("files")) return {};
  Index index;
  if (object.contains("command") && object["command"].is_string()) index.command = object["command"];
  for (const auto& name : object["files"]) {
    if (!name.is_string()) continue;
    const fs::path path = name.get<std::string>();
    if (path.has_filename() && path == path.filename() && path != "." && path != "..") {
      index.files.push_back(path.string());
    }
  }
  if (!object.contains(digests_key) || !object[digests_key].is_object()) return index;
  for (const auto& [name, digest] : object[digests_key].items()) {
    if (digest.is_string()) index.digests[name] = digest;
  }
  object.erase(digests_key);
  index.undigested = json_text(object);
  return index;
}

// Returns the command of a line, "tune" for "c3sim tune --collective all_gather", or an empty text if there is none.
std::string_view command_of(std::string_view line) {
  const std::size_t program = line.find(' ');
  if (program == std::string_view::npos) return {};
  line.remove_prefix(program + 1);
  return line.substr(0, line.find(' '));
}

// Describes what another command left in the folder; the result is empty if none did.
std::string left_by_another(const fs::path& directory, const std::optional<Index>& index, const Origin& origin) {
  constexpr std::size_t most_named = 5;
  const std::string_view own = command_of(origin.command);
  std::error_code ignored;
  if (!index) {
    const bool is_sweeps = own != "sweep" && fs::exists(directory / points_file_name, ignored);
    return is_sweeps ? fmt::format("the points of 'c3sim sweep' ({})", points_file_name) : "";
  }
  const std::string_view other = command_of(index->command);
  if (own.empty() || other.empty() || own == other) return {};
  const std::span<const std::string> named = std::span(index->files).first(std::min(index->files.size(), most_named));
  std::string files = fmt::format("{}", fmt::join(named, ", "));
  if (index->files.size() > most_named) files += fmt::format(" and {} more", index->files.size() - most_named);
  return fmt::format("the answer of 'c3sim {}' ({})", other, files);
}

// Returns a fault for each file that has changed since c3sim wrote it. Answers of versions without digests give none.
std::vector<sim::Fault> edited_in(const fs::path& directory, const Index& index) {
  std::vector<sim::Fault> faults;
  std::error_code absent;
  for (const std::string& name : index.files) {
    const auto written = index.digests.find(name);
    if (written == index.digests.end() || !fs::is_regular_file(directory / name, absent)) continue;
    const bool is_index = name == index_name;
    if ((is_index ? sha256(index.undigested) : sha256_of_file(directory / name)) == written->second) continue;
    faults.push_back({(directory / name).string(), "",
                      "has been edited since c3sim wrote it: another folder is accepted, or --overwrite, which "
                      "replaces it"});
  }
  return faults;
}

}  // namespace

std::vector<std::string> files_of_earlier_answer(const fs::path& directory) {
  std::optional<Index> index = index_of(directory);
  return index ? std::move(index->files) : std::vector<std::string>();
}

std::vector<sim::Fault> in_the_way(const fs::path& directory, const std::vector<std::string>& names,
                                   const Origin& origin) {
  std::error_code failed;
  if (fs::status(directory, failed).type() == fs::file_type::none) {
    return {{directory.string(), "", "cannot be used: " + failed.message()}};
  }
  const std::optional<Index> before = index_of(directory);
  if (const std::string other = left_by_another(directory, before, origin); !other.empty()) {
    return {{directory.string(), "",
             fmt::format("holds {}, which another command does not replace: another folder is accepted, or this one "
                         "once these files are gone",
                         other)}};
  }
  std::vector<sim::Fault> faults;
  for (const std::string& name : names) {
    const bool is_there = fs::symlink_status(directory / name, failed).type() != fs::file_type::not_found;
    if (!is_there || (before && holds(before->files, name))) continue;
    faults.push_back({(directory / name).string(), "",
                      "is there, and no results.json says that c3sim wrote it: another folder is accepted, or the "
                      "same without this file"});
  }
  if (before && !origin.overwrites) std::ranges::move(edited_in(directory, *before), std::back_inserter(faults));
  return faults;
}

void save(const Results& results, const Origin& origin, const fs::path& directory, const FolderLock* held) {
  const std::vector<TextFile> files = files_of(results, origin);
  std::vector<std::string> names{index_name};
  for (const TextFile& file : files) names.push_back(file.name);
  for (const LongFile& file : results.long_files) names.push_back(file.name);
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) throw std::system_error(failed, "cannot make the folder " + directory.string());
  std::optional<FolderLock> lock;
  if (held == nullptr) lock.emplace(directory);
  if (std::vector<sim::Fault> faults = in_the_way(directory, names, origin); !faults.empty()) {
    throw sim::ConfigError(std::move(faults));
  }
  for (const std::string& name : files_of_earlier_answer(directory)) {
    const bool is_file = fs::symlink_status(directory / name, failed).type() == fs::file_type::regular;
    if (is_file && !holds(names, name)) fs::remove(directory / name, failed);
  }
  // The list is written first and the digests last: files of a run that is killed are never taken for files of the user
  // or for edited files.
  const nlohmann::ordered_json index = index_object(results, origin, names);
  sim::write_file(directory / index_name, json_text(index));
  for (const TextFile& file : files) sim::write_file(directory / file.name, file.content);
  for (const LongFile& file : results.long_files) {
    sim::OutputFile written(directory / file.name);
    file.write(written.stream());
    written.commit();
  }
  sim::write_file(directory / index_name, json_text(with_digests(index, files, results.long_files, directory)));
}

FolderLock::FolderLock(const std::filesystem::path& folder)
    : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0 || ::flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(folder_);
  throw sim::ConfigError({{folder.string(), "", taken}});
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) ::close(folder_);
}

bool FolderLock::is_taken(const std::filesystem::path& folder) {
  try {
    const FolderLock lock(folder);
    return false;
  } catch (const sim::ConfigError&) {
    return true;
  }
}

namespace {

constexpr std::string_view signature = "# Written by c3sim; sha256 of what follows: ";

// Returns the text after its first line.
std::string_view behind_first_line(std::string_view text) {
  const std::size_t end = text.find('\n');
  return end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
}

std::string signature_of(std::string_view text) { return std::string(signature) + sha256(text) + '\n'; }

}  // namespace

std::string signed_text(std::string_view text) {
  if (text.starts_with(signature)) text = behind_first_line(text);
  return signature_of(text).append(text);
}

bool is_own_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(sim::PerfettoTrace::beginning.size(), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.empty() || text == sim::PerfettoTrace::beginning) return true;
  if (!text.starts_with(signature.substr(0, text.size()))) return false;
  text.append(std::istreambuf_iterator<char>(stream), {});
  return text.starts_with(signature_of(behind_first_line(text)));
}

namespace {

// Returns the path that a name leads to, spelled in one way for each place. Links are followed even if their target
// does not exist, as sim::OutputFile follows them.
fs::path place_named(const fs::path& name) {
  constexpr int most_links = 40;
  std::error_code ignored;
  fs::path place = fs::absolute(name, ignored);
  for (int link = 0; link < most_links && fs::is_symlink(place, ignored); ++link) {
    place = place.parent_path() / fs::read_symlink(place, ignored);
  }
  const fs::path canonical = fs::weakly_canonical(place, ignored);
  return canonical.empty() ? place.lexically_normal() : canonical;
}

}  // namespace

bool is_same_place(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code absent;
  return std::filesystem::equivalent(one, other, absent) || place_named(one) == place_named(other);
}

}  // namespace c3sim::study
