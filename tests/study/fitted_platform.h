// This file offers platforms on top of mi300x that state errors of their parameters, as a fit writes them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "study/play/platform_file.h"
#include "tests/config_folders.h"

namespace c3sim::study {

// Returns mi300x with the parameters in `text` on top. Only the parameters in `text` have errors.
inline Platform fitted(const std::string& text, const std::vector<std::string>& assignments = {}) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "fitted.yaml";
  // Empty lists replace the errors that mi300x states of itself, so that draws of the platform have none either.
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
    if (parameter.kind == "probed") parameter.kind = "assumed";  // a probed value is drawn from all of its range
  }
  return platform;
}

// A launch takes 6 us with an error of 0.5 us, a notice 2 us with an error of 0.1 us; wide ranges cut both off.
inline const std::string launch_and_notice =
    "host:\n"
    "  kernel_launch: {value: 6 us, error: 0.5 us, range: [1 us, 12 us]}\n"
    "  kernel_notice: {value: 2 us, error: 0.1 us, kind: fitted, range: [1 us, 3 us]}\n";

// Returns the correlation of the errors of launch and notice as lines of a platform file.
inline std::string correlated(const std::string& correlation) {
  return "correlations:\n  - {first: host.kernel_launch, second: host.kernel_notice, correlation: {value: " +
         correlation + ", source: test, kind: fitted, range: [-1, 1]}}\n";
}

// Returns a row of fitted_to: by how much the model errs on `work` of sizes from `smallest` to `largest`.
inline std::string row_of(const std::string& work, const std::string& smallest, const std::string& largest,
                          const std::string& spread) {
  const std::string source = ", source: test, kind: fitted";
  return "  - name: " + work + "\n    smallest: {value: " + smallest + ", source: test, kind: measured}\n" +
         "    largest: {value: " + largest + ", source: test, kind: measured}\n" + "    spread: {value: " + spread +
         source + ", range: [0, 1]}\n";
}

}  // namespace c3sim::study
