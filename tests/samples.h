// This header reads files of samples, which pair inputs with expected output. A sample begins with "=== NAME", each
// input with "--- NAME OF THE INPUT", and the output, which is last, with "--- expected". The line "\ no end of line"
// follows an input whose last line has no end.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace c3sim {

struct Sample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> inputs;  // Each input has its name.
  std::string expected;
};

inline constexpr auto no_end_of_line = "\\ no end of line";

inline std::vector<Sample> samples_of(const std::string& file) {
  std::vector<Sample> samples;
  std::string* text = nullptr;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("=== ")) {
      samples.push_back({line.substr(4), {}, {}});
    } else if (line == "--- expected") {
      text = &samples.back().expected;
    } else if (line.starts_with("--- ")) {
      text = &samples.back().inputs.emplace_back(line.substr(4), "").second;
    } else if (line == no_end_of_line) {
      text->pop_back();
    } else if (text != nullptr) {
      *text += line + '\n';
    }
  }
  return samples;
}

// Compares each sample of tests/data/samples/NAME with what the function makes of its inputs. If C3SIM_UPDATE_SAMPLES
// is set in the environment, the file gets today's output, for the committer to review.
inline void expect_samples(const std::string& name, const std::function<std::string(const Sample&)>& output_of) {
  const std::string file = C3SIM_SOURCE_DIR "/tests/data/samples/" + name;
  std::vector<Sample> samples = samples_of(file);
  ASSERT_FALSE(samples.empty()) << file;
  const bool updates = std::getenv("C3SIM_UPDATE_SAMPLES") != nullptr;
  std::string text;
  for (const Sample& sample : samples) {
    const std::string output = output_of(sample);
    if (!updates) {
      EXPECT_EQ(output, sample.expected) << sample.name;
    }
    text += "=== " + sample.name + '\n';
    for (const auto& [input, content] : sample.inputs) {
      text += "--- " + input + '\n' + content;
      if (!content.ends_with('\n')) text += content.empty() ? "" : std::string("\n") + no_end_of_line + '\n';
    }
    text += "--- expected\n" + output;
  }
  if (updates) std::ofstream(file) << text;
}

}  // namespace c3sim
