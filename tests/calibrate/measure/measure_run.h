// Runs c3sim-measure on fake GPUs.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/program.h"
#include "tests/calibrate/measure/fake_runtime.h"
#include "tests/folder.h"
#include "tests/text_file.h"

namespace c3sim::measure {

struct Outcome {
  int code = 0;
  std::string out, err, abandoned;
};

inline Outcome run(std::vector<std::string> arguments, const FakeMachine& machine = {},
                   const std::function<void()>& when_abandoned = {}) {
  std::ostringstream out, err;
  Outcome outcome;
  const Surroundings surroundings{
      .backends = {{"fake", [&](const std::vector<std::string>&) { return open_fake(machine); }}},
      .out = out,
      .err = err,
      .pace = 0.01,
      .abandon = [&](const std::string& line) {
        outcome.abandoned += line;
        if (when_abandoned) when_abandoned();
      }};
  std::vector<const char*> argv{"c3sim-measure"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  outcome.code = run_program(static_cast<int>(argv.size()), argv.data(), surroundings);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

// The folder that is measured into does not exist at first.
class MeasureTest : public InFolder {
 protected:
  std::string folder() const { return path("measure"); }
  std::string text(const std::string& file) const { return content(folder() + "/" + file); }
  void write(const std::string& file, const std::string& text) const { InFolder::write("measure/" + file, text); }
  // Returns the rows of a table without its head.
  std::vector<std::string> rows(const std::string& table) const {
    std::istringstream stream(text(table));
    std::vector<std::string> all;
    for (std::string line; std::getline(stream, line);) {
      if (!line.starts_with('#')) all.push_back(line);
    }
    if (!all.empty()) all.erase(all.begin());
    return all;
  }
};

}  // namespace c3sim::measure
