// Command lines, by tests/data/samples: how they end, and what they say on stderr of themselves and of files.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <sstream>

#include "tests/cli/run_cli.h"
#include "tests/samples.h"

namespace c3sim::cli {
namespace {

// The words of a line; '' is an empty one.
std::vector<std::string> words_of_line(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word == "''" ? "" : word);
  return words;
}

// The first input is the command line, behind "$ "; others are files in the folder in which it runs. No other files may
// be there when it has ended.
class CommandSamples : public InFolder {
 protected:
  CommandSamples() { std::filesystem::current_path(folder_); }
  ~CommandSamples() override { std::filesystem::current_path(before_); }

  std::string said_of(const Sample& sample) const {
    for (std::size_t i = 1; i < sample.inputs.size(); ++i) write(sample.inputs[i].first, sample.inputs[i].second);
    const Answer answer = run_cli(words_of_line(sample.inputs[0].first.substr(2)));
    EXPECT_EQ(answer.out, "") << sample.name;
    const std::filesystem::directory_iterator begin(folder_);
    EXPECT_EQ(std::distance(begin, {}), std::ssize(sample.inputs) - 1) << sample.name;
    for (std::size_t i = 1; i < sample.inputs.size(); ++i) std::filesystem::remove(folder_ / sample.inputs[i].first);
    return "exit " + std::to_string(static_cast<int>(answer.code)) + '\n' + answer.err;
  }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

TEST_F(CommandSamples, OfCommandLines) {
  expect_samples("command_lines.samples", [this](const Sample& sample) { return said_of(sample); });
}

TEST_F(CommandSamples, OfFilesAtFault) {
  expect_samples("file_faults.samples", [this](const Sample& sample) { return said_of(sample); });
}

}  // namespace
}  // namespace c3sim::cli
