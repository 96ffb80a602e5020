#include "study/report/results_folder.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "sim/config/config_error.h"
#include "sim/config/output_file.h"
#include "study/report/html_file.h"
#include "study/report/results_page.h"

namespace c3sim::study {

namespace {

namespace fs = std::filesystem;

constexpr auto index_name = "results.json";

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<TextFile> files_of(const Results& results, const Page& page) {
  std::vector<TextFile> files;
  for (const NamedTable& named : results.tables) {
    std::ostringstream csv;
    named.table.write_csv(csv);
    files.push_back({named.key + ".csv", csv.str()});
  }
  std::ostringstream markdown;
  write(results, Format::markdown, markdown);
  files.push_back({"report.md", markdown.str()});
  files.push_back({"page.html", to_html(page)});
  files.insert(files.end(), results.files.begin(), results.files.end());
  return files;
}

std::string index_text(const Results& results, const Origin& origin, const std::vector<std::string>& names) {
  nlohmann::ordered_json object = to_json(results);
  object["c3sim"] = origin.version;
  object["command"] = origin.command;
  object["files"] = names;
  return json_text(object);
}

void refuse_files_in_the_way(const fs::path& directory, const std::vector<std::string>& names) {
  std::vector<sim::Fault> faults;
  for (const fs::path& path : files_in_the_way(directory, names)) {
    faults.push_back({path.string(), "",
                      "is there, and no results.json says that c3sim wrote it: another folder is "
                      "accepted, or the same without this file"});
  }
  if (!faults.empty()) throw sim::ConfigError(faults);
}

}  // namespace

// A list that was tampered with must not lead out of the folder.
std::vector<std::string> files_of_earlier_answer(const fs::path& directory) {
  std::ifstream file(directory / index_name);
  const auto object = nlohmann::json::parse(file, nullptr, false);
  std::vector<std::string> names;
  if (!object.is_object() || !object.contains("c3sim") || !object.contains("files")) return names;
  for (const auto& name : object["files"]) {
    if (!name.is_string()) continue;
    const fs::path path = name.get<std::string>();
    if (path.has_filename() && path == path.filename() && path != "." && path != "..") names.push_back(path.string());
  }
  return names;
}

std::vector<fs::path> files_in_the_way(const fs::path& directory, const std::vector<std::string>& names) {
  const std::vector<std::string> before = files_of_earlier_answer(directory);
  std::vector<fs::path> foreign;
  for (const std::string& name : names) {
    std::error_code ignored;
    const bool is_there = fs::symlink_status(directory / name, ignored).type() != fs::file_type::not_found;
    if (is_there && !holds(before, name)) foreign.push_back(directory / name);
  }
  return foreign;
}

void save(const Results& results, const Origin& origin, const fs::path& directory) {
  save(results, results_page(results), origin, directory);
}

void save(const Results& results, const Page& page, const Origin& origin, const fs::path& directory) {
  const std::vector<TextFile> files = files_of(results, page);
  std::vector<std::string> names{index_name};
  for (const TextFile& file : files) names.push_back(file.name);
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) throw std::system_error(failed, "cannot make the folder " + directory.string());
  refuse_files_in_the_way(directory, names);
  for (const std::string& name : files_of_earlier_answer(directory)) {
    const bool is_file = fs::symlink_status(directory / name, failed).type() == fs::file_type::regular;
    if (is_file && !holds(names, name)) fs::remove(directory / name, failed);
  }
  // The list comes first: a run that is killed leaves no file that the next takes for the user's.
  sim::write_file(directory / index_name, index_text(results, origin, names));
  for (const TextFile& file : files) sim::write_file(directory / file.name, file.content);
}

}  // namespace c3sim::study
