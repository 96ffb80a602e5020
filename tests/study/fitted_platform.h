// Platforms on mi300x that tell of errors, as a fit writes them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "study/play/platform_file.h"
#include "tests/config_folders.h"

namespace c3sim::study {

// A platform on mi300x that says besides what the text does, and tells of no other errors.
inline Platform fitted(const std::string& text, const std::vector<std::string>& assignments = {}) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "fitted.yaml";
  // What mi300x tells of its own errors is left out, lists for good, so that draws of the platform have none either.
  std::string own = text;
  for (const std::string list : {"correlations", "fitted_to"}) {
    if (own.find(list + ":") == std::string::npos) own += list + ": []\n";
  }
  std::ofstream(file) << "base: mi300x\nname: fitted\n" + own;
  Platform platform = read_platform(file, assignments, folders);
  std::filesystem::remove(file);
  std::erase_if(platform.parameters, [&file](const sim::Parameter& parameter) {
    return parameter.path.starts_with("unfitted_errors.") && parameter.file != file.string();
  });
  for (sim::Parameter& parameter : platform.parameters) {
    if (parameter.file == file.string()) continue;
    parameter.error.clear();
    parameter.alternatives.clear();
    if (parameter.kind == "probed") parameter.kind = "assumed";  // else it lies anywhere within its range
  }
  return platform;
}

// What a launch and the notice of an end take, 6 us and 2 us, each with an error of 0.5 us, cut off far out.
inline const std::string launch_and_notice =
    "host:\n"
    "  kernel_launch: {value: 6 us, error: 0.5 us, range: [1 us, 12 us]}\n"
    "  kernel_notice: {value: 2 us, error: 0.1 us, kind: fitted, range: [1 us, 3 us]}\n";

// How these correlate.
inline std::string correlated(const std::string& correlation) {
  return "correlations:\n  - {first: host.kernel_launch, second: host.kernel_notice, correlation: {value: " +
         correlation + ", source: test, kind: fitted, range: [-1, 1]}}\n";
}

// A row of fitted_to, by which the model is off.
inline std::string row_of(const std::string& work, const std::string& smallest, const std::string& largest,
                          const std::string& spread) {
  const std::string source = ", source: test, kind: fitted";
  return "  - name: " + work + "\n    smallest: {value: " + smallest + ", source: test, kind: measured}\n" +
         "    largest: {value: " + largest + ", source: test, kind: measured}\n" + "    spread: {value: " + spread +
         source + ", range: [0, 1]}\n";
}

}  // namespace c3sim::study
