// Command lines, by tests/data/samples: how they end, and what they say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iomanip>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/run_cli.h"
#include "tests/samples.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

namespace fs = std::filesystem;

std::string with_all(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// The words of a line, of which some may stand in quotes; '' is an empty one.
std::vector<std::string> words_of_line(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> std::quoted(word, '\'', '\0');) words.push_back(word);
  return words;
}

// An input is a file, which is written before anything runs, or a step, in its turn: "> FILE" and ">> FILE" write and
// append to a file, "$ WORDS" is a command line of c3sim, and "$ cat FILE" shows a file. Steps run in a folder of their
// own; $SOURCE is that of the repository. A step may end in "> /dev/null", which hides what stands on stdout, or in
// "| grep PATTERN", which shows what the pattern finds in it, each of it once; behind "2>&1" also what it finds on
// stderr, of which nothing else is shown then. Files that were not there before are listed in the end.
class CommandSamples : public InFolder {
 protected:
  CommandSamples() { fs::current_path(folder_); }
  ~CommandSamples() override { fs::current_path(before_); }

  std::string said_of(const Sample& sample) const {
    std::set<std::string> written, left;
    for (const auto& [name, text] : sample.inputs) {
      const std::string file = name.substr(name.starts_with(">") ? name.rfind(' ') + 1 : 0);
      if (!name.starts_with("$")) written.insert(file);
      if (!name.starts_with("$") && !name.starts_with(">")) write(file, text);
    }
    std::string said;
    for (const auto& [step, text] : sample.inputs) {
      if (step.starts_with("$ ")) said += said_of_step(with_all(step.substr(2), "$SOURCE", C3SIM_SOURCE_DIR));
      if (step.starts_with(">")) {
        std::ofstream(step.substr(step.rfind(' ') + 1), step.starts_with(">>") ? std::ios::app : std::ios::out) << text;
      }
    }
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string file = fs::relative(entry.path(), folder_);
      if (entry.is_regular_file() && !written.contains(file)) left.insert(file);
    }
    for (const std::string& file : left) said += "leaves " + file + '\n';
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove_all(entry.path());
    return with_all(said, C3SIM_SOURCE_DIR, "$SOURCE");
  }

 private:
  std::string said_of_step(const std::string& step) const {
    static const std::regex form("(.*?)( > /dev/null)?( 2>&1)?( \\| grep (.*))?");
    std::smatch parts;
    std::regex_match(step, parts, form);
    const std::vector<std::string> words = words_of_line(parts[1]);
    const bool is_file = words[0] == "cat";
    const Answer answer = is_file ? Answer{ExitCode::fine, content(words.at(1)), ""} : run_cli(words);
    std::string said = is_file ? "" : fmt::format("exit {}\n", static_cast<int>(answer.code));
    const std::string err = parts[3].matched ? "" : answer.err;
    const std::string out = answer.out + (parts[3].matched ? answer.err : "");
    if (!parts[4].matched) return said + (parts[2].matched ? "" : out) + err;
    const std::regex pattern(parts[5].str(), std::regex::ECMAScript | std::regex::multiline);
    std::set<std::string> shown;
    for (std::sregex_iterator at(out.begin(), out.end(), pattern), end; at != end; ++at) {
      if (shown.insert(at->str()).second) said += at->str() + '\n';
    }
    return said + err;
  }

  const fs::path before_ = fs::current_path();
};

TEST_F(CommandSamples, OfCommandLines) {
  expect_samples("command_lines.samples", [this](const Sample& sample) { return said_of(sample); });
}

TEST_F(CommandSamples, OfFilesAtFault) {
  expect_samples("file_faults.samples", [this](const Sample& sample) { return said_of(sample); });
}

TEST_F(CommandSamples, OfAnswers) {
  expect_samples("answers.samples", [this](const Sample& sample) { return said_of(sample); });
}

}  // namespace
}  // namespace c3sim::cli
