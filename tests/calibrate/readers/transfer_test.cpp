#include "calibrate/readers/transfer.h"

#include <gtest/gtest.h>

#include "tests/calibrate/readers/log_sample.h"
#include "tests/calibrate/readers/reading_words.h"
#include "tests/calibrate/script.h"

namespace c3sim::calibrate {
namespace {

// Returns a transfer by words as TransferBench spells them: from, by, to and the number of bytes, 64 MiB by default, at
// 48 GB/s. Words that say no transfer give nothing, and faults of the reading.
std::optional<Transfer> transfer_of(const std::vector<std::string>& words, LogReading& reading) {
  const auto from = read_memories({words.at(0), 1, 1}, reading);
  const auto by = read_executor({words.at(1), 1, 1}, reading);
  const auto to = read_memories({words.at(2), 1, 1}, reading);
  if (!from || !by || !to) return std::nullopt;
  Transfer one;
  one.line = 1;
  one.from = *from;
  one.by = *by;
  one.to = *to;
  one.bytes = sim::Bytes(words.size() > 3 ? std::stod(words[3]) : 67108864.0);
  one.rate = 48e9;
  return one;
}

std::string words_of_read(LogReading reading) {
  const std::string words = full_words_of(std::move(reading).take());
  return words.substr(words.find('\n') + 1);  // without its format
}

// Transfers, a line each, are recorded one by one ("alone"), together ("at once"), or as some of those of eight GPUs to
// all others ("of all").
TEST(Transfers, AreRecordedAsSamplesSay) {
  expect_samples("transfers.samples", [](const Sample& sample) {
    const auto& [how, text] = sample.inputs.at(0);
    std::string said;
    std::vector<Transfer> together;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> words = words_of_line(line);
      LogReading reading("f.log");
      const std::optional<Transfer> one = transfer_of(words, reading);
      if (one && how != "alone") {
        together.push_back(*one);
        continue;
      }
      if (one) record(std::vector{*one}, "TransferBench", reading);
      said += words_of_read(std::move(reading));
    }
    if (how == "alone") return said;
    LogReading reading("f.log");
    if (how == "at once") record(together, "TransferBench", reading);
    if (how == "of all") record_of_all(together, 8, "TransferBench a2a", reading);
    return words_of_read(std::move(reading));
  });
}

}  // namespace
}  // namespace c3sim::calibrate
