// Tests how command lines end and what they say, by the samples of tests/data/samples.

#include "tests/calibrate/script.h"
#include "tests/cli/run_cli.h"

namespace c3sim::cli {
namespace {

void expect_answers(const std::string& samples) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "c3sim_command_samples";
  expect_samples(samples, [&folder](const Sample& sample) {
    return said_of_script(sample, folder, [](const std::vector<std::string>& words, const std::string&) {
      const Answer answer = run_cli(words);
      return Said{static_cast<int>(answer.code), answer.out, answer.err};
    });
  });
}

TEST(CommandSamples, OfCommandLines) { expect_answers("command_lines.samples"); }
TEST(CommandSamples, OfFilesAtFault) { expect_answers("file_faults.samples"); }
TEST(CommandSamples, OfStudies) { expect_answers("studies.samples"); }
TEST(CommandSamples, OfAnswers) { expect_answers("answers.samples"); }

}  // namespace
}  // namespace c3sim::cli
