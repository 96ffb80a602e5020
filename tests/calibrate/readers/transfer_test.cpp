#include <gtest/gtest.h>

#include "tests/calibrate/readers/log_sample.h"
#include "tests/calibrate/readers/reading_words.h"
#include "tests/calibrate/script.h"

namespace c3sim::calibrate {
namespace {

// Each line is a transfer in words of TransferBench: from, by, to and the number of bytes, 64 MiB by default, at 48
// GB/s. They are a test each ("alone") or one test ("at once").
TEST(Transfers, AreRecordedAsSamplesSay) {
  expect_samples("transfers.samples", [](const Sample& sample) {
    const auto& [how, text] = sample.inputs.at(0);
    std::string log;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> words = words_of_line(line);
      log += fmt::format(" Transfer 00 | 48.000 GB/s | 1.0 ms | {} bytes | {} -> {} -> {}\n{}",
                         words.size() > 3 ? words[3] : "67108864", words.at(0), words.at(1), words.at(2),
                         how == "alone" ? " Aggregate\n" : "");
    }
    const std::string words = full_words_of(read_as("TransferBench", log + " Aggregate\n", "f.log"));
    return words.substr(words.find('\n') + 1);  // without its format
  });
}

}  // namespace
}  // namespace c3sim::calibrate
