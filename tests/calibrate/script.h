// Runs samples that are scripts of command lines.
#pragma once

#include <fmt/format.h>

#include <boost/algorithm/string/replace.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/csv_file.h"
#include "tests/samples.h"
#include "tests/text_file.h"

namespace c3sim {

struct Said {
  int code = 0;
  std::string out, err;
};

// Runs the words of a command line; `settings` is the text of the step.
using RunWords = std::function<Said(const std::vector<std::string>& words, const std::string& settings)>;

// Returns the words of a line, some of which may stand in quotes; '' is an empty word.
inline std::vector<std::string> words_of_line(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> std::quoted(word, '\'', '\0');) words.push_back(word);
  return words;
}

// Returns these columns of a table of comma-separated values, up to its end or a blank line.
inline std::string columns_of(const std::string& csv, const std::string& keys) {
  const sim::CsvFile table = sim::CsvFile::from_text(csv.substr(0, csv.find("\n\n")), "answer");
  std::string text;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (const std::string& key : words_of_line(keys)) text += fmt::format("{} {}, ", key, table.text(row, key));
    text.replace(text.size() - 2, 2, "\n");
  }
  return text;
}

inline std::string said_of_step(const std::string& step, const std::string& settings, const RunWords& run) {
  static const std::regex form("(.*?)( > /dev/null)?( 2>&1)?( \\| (grep|columns) (.*))?");
  std::smatch parts;
  std::regex_match(step, parts, form);
  const std::vector<std::string> words = words_of_line(parts[1]);
  const bool is_file = words.at(0) == "cat";
  const Said answer = is_file ? Said{0, content(words.at(1)), ""} : run(words, settings);
  std::string said = is_file ? "" : fmt::format("exit {}\n", answer.code);
  const std::string err = parts[3].matched ? "" : answer.err;
  const std::string out = answer.out + (parts[3].matched ? answer.err : "");
  if (!parts[4].matched) return said + (parts[2].matched ? "" : out) + err;
  if (parts[5] == "columns") return said + columns_of(out, parts[6]) + err;
  const std::regex pattern(parts[6].str(), std::regex::ECMAScript | std::regex::multiline);
  std::set<std::string> shown;
  for (std::sregex_iterator at(out.begin(), out.end(), pattern), end; at != end; ++at) {
    if (shown.insert(at->str()).second) said += at->str() + '\n';
  }
  return said + err;
}

// Runs a sample in an empty folder and returns what it says. An input is a file, which is written before anything runs,
// or a step, in its turn: "> FILE" and ">> FILE" write and append to a file, "$ WORDS" is a command line, and "$ cat
// FILE" shows a file; $SOURCE is the folder of the repository. A step may end in "> /dev/null", which hides stdout, or
// in "| grep PATTERN", which shows each distinct match on stdout; after "2>&1" also those on stderr, nothing else of
// which is shown then; or in "| columns KEYS", which shows these columns of a table of comma-separated values. New
// files are listed in the end.
inline std::string said_of_script(const Sample& sample, const std::filesystem::path& folder, const RunWords& run) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  fs::create_directories(folder);
  fs::current_path(folder);
  std::set<std::string> written, left;
  for (const auto& [name, text] : sample.inputs) {
    const fs::path file = name.substr(name.starts_with(">") ? name.rfind(' ') + 1 : 0);
    if (name.starts_with("$")) continue;
    written.insert(file);
    if (file.has_parent_path()) fs::create_directories(file.parent_path());
    if (!name.starts_with(">")) std::ofstream(file, std::ios::binary) << text;
  }
  std::string said;
  for (const auto& [step, text] : sample.inputs) {
    if (step.starts_with("$ "))
      said += said_of_step(boost::replace_all_copy(step.substr(2), "$SOURCE", C3SIM_SOURCE_DIR), text, run);
    if (step.starts_with(">")) {
      std::ofstream(step.substr(step.rfind(' ') + 1), step.starts_with(">>") ? std::ios::app : std::ios::out) << text;
    }
  }
  for (const auto& entry : fs::recursive_directory_iterator(".")) {
    const std::string file = fs::relative(entry.path());
    if (entry.is_regular_file() && !written.contains(file)) left.insert(file);
  }
  for (const std::string& file : left) said += "leaves " + file + '\n';
  fs::current_path(before);
  fs::remove_all(folder);
  return boost::replace_all_copy(said, C3SIM_SOURCE_DIR, "$SOURCE");
}

}  // namespace c3sim
