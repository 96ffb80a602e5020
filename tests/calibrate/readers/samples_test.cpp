// What is read of each sample of tests/data/cases: as it stands in the file of its name and ".expected" beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "calibrate/readers/screen.h"
#include "calibrate/replay/replay_report.h"
#include "tests/calibrate/readers/log_sample.h"
#include "tests/calibrate/shipped_files.h"

namespace c3sim::calibrate {
namespace {

const std::vector<std::string> platforms{"h200", "mi300x", "mi355x"};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Steps by microseconds, and what communicates, by class.
std::string words_of_profile(const Profile& profile) {
  std::string text;
  for (const study::NamedTable& table : profile_tables(profile)) {
    if (table.key != "steps" && table.key != "communication") continue;
    for (const std::vector<study::Cell>& row : table.table.rows()) {
      const bool is_step = table.key == "steps";
      text += fmt::format(
          "{} {}: {}\n", is_step ? "step" : "communicates", std::get<std::string>(row[1]),
          is_step ? fmt::format("{:.1f} us, communication {:.1f}", std::get<double>(row[3]), std::get<double>(row[6]))
                  : fmt::format("{} kernels, {:.1f} us", std::get<std::int64_t>(row[2]), std::get<double>(row[3])));
    }
  }
  return text;
}

std::string words_of(const Reading& reading) {
  std::string text = reading.format + "\n";
  if (!reading.gpu.empty())
    text += fmt::format("gpu: {}, {}\n", reading.gpu, platform_of(reading, platforms).value_or("of no platform"));
  for (const Measurement& one : reading.measurements) {
    const Seen& seen = one.seen.front();
    text += fmt::format("{}: {}: {:.6g} s or B/s{}{}\n", one.where(), study::to_string(one.trial), seen.value,
                        one.assignments.empty() ? "" : " with ", fmt::join(one.assignments, " "));
  }
  if (reading.profile) text += words_of_profile(*reading.profile);
  if (!reading.profile) text += left_out_of(reading);  // of a trace, every kernel by its name
  for (const sim::Fault& remark : reading.remarks) text += fmt::format("remark: {}: {}\n", remark.path, remark.what);
  for (const sim::Fault& fault : reading.faults) text += fmt::format("fault: {}: {}\n", fault.path, fault.what);
  return text;
}

TEST(Samples, AreReadAsExpected) {
  std::vector<std::filesystem::path> samples;
  const std::filesystem::path folder = C3SIM_SOURCE_DIR "/tests/data/cases";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::filesystem::path& path = entry.path();
    if (entry.is_regular_file() && path.extension() != ".expected" && path.filename() != "labels.csv")
      samples.push_back(path);
  }
  std::ranges::sort(samples);
  ASSERT_FALSE(samples.empty());
  for (const std::filesystem::path& sample : samples) {
    std::string read;
    try {
      read = words_of(shipped().read(sample));
    } catch (const sim::ConfigError& error) {
      for (const sim::Fault& fault : error.faults()) read += fmt::format("refused: {}\n", fault.what);
    }
    EXPECT_EQ(read, text_of(sample.string() + ".expected")) << sample;
  }
}

}  // namespace
}  // namespace c3sim::calibrate
