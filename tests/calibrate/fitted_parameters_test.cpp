// The platform files of this repository are held against what they say of their own fits.
#include <algorithm>
#include <regex>

#include "calibrate/fit/task.h"
#include "sim/config/csv_file.h"
#include "study/play/platform_file.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

const std::filesystem::path root = C3SIM_SOURCE_DIR;

std::vector<sim::Parameter> parameters_of(const std::string& platform) {
  return study::read_platform(root / "configs/platforms" / (platform + ".yaml"), {}).parameters;
}

// Returns the fitted parameters of the machine: what a platform tells of its own fit has kind fitted as well.
std::vector<sim::Parameter> fitted_parameters_of(const std::string& platform) {
  std::vector<sim::Parameter> fitted = parameters_of(platform);
  std::erase_if(fitted, [](const sim::Parameter& one) {
    return one.kind != "fitted" || one.path.starts_with("fitted_to") || one.path.starts_with("correlations");
  });
  return fitted;
}

std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), expression); at != std::sregex_iterator(); ++at) {
    found.push_back(at->str());
  }
  return found;
}

// Returns whether the list of roles leaves no row of the file to a fit.
bool is_marked_as_prediction(const std::string& file) {
  const sim::CsvFile roles = sim::CsvFile::from_file(root / "validate/reference/h200x8/roles.csv");
  for (std::size_t line = 0; line < roles.rows(); ++line) {
    if (roles.text(line, "file") != file) continue;
    if (roles.text(line, "role") == "calibrate") return false;
    if (roles.text(line, "rows").empty()) return true;
  }
  return false;
}

class FittedParameters : public testing::TestWithParam<std::string> {};

TEST_P(FittedParameters, ComeFromFilesThatExistAndHoldNoPrediction) {
  ASSERT_TRUE(is_marked_as_prediction("c3_all_gather.csv"));
  for (const sim::Parameter& parameter : parameters_of(GetParam())) {
    for (const std::string& file : matches(parameter.source, "[A-Za-z0-9_]+\\.csv")) {
      const std::filesystem::path reference = root / "validate/reference";
      bool exists =
          std::filesystem::exists(reference / file) || std::filesystem::exists(root / "calibrate/probes" / file);
      for (const auto& folder : std::filesystem::directory_iterator(reference)) {
        exists = exists || std::filesystem::exists(folder.path() / file);
      }
      EXPECT_TRUE(exists) << parameter.path << " names " << file;
      EXPECT_FALSE(is_marked_as_prediction(file)) << parameter.path << " names " << file;
    }
  }
}

TEST_P(FittedParameters, NameNoClaimThatIsToBePredicted) {
  const sim::CsvFile claims = sim::CsvFile::from_file(root / "validate/reference/claims.csv");
  for (const sim::Parameter& parameter : parameters_of(GetParam())) {
    for (std::string claim : matches(parameter.source, "\\b(conccl|latte|ficco|t3)\\.[a-z_0-9.]+")) {
      while (claim.back() == '.') claim.pop_back();
      int known = 0;  // a group such as conccl.cb_slowdown counts as its claims .32 and .64
      for (std::size_t row = 0; row < claims.rows(); ++row) {
        const std::string_view id = claims.text(row, "id");
        if (id != claim && !id.starts_with(claim + ".")) continue;
        ++known;
        EXPECT_EQ(claims.text(row, "role"), "calibrate") << parameter.path << " names " << id;
      }
      EXPECT_GT(known, 0) << parameter.path << " names " << claim;
    }
  }
}

// A parameter that `c3sim calibrate` wrote has an error and names the step that found it; that step has such a target.
// A parameter that was fitted apart from it says so, and a step finds it on a user's machine.
TEST_P(FittedParameters, WereWrittenByTheFit) {
  const std::vector<sim::Parameter> fitted = fitted_parameters_of(GetParam());
  EXPECT_FALSE(fitted.empty());
  for (const sim::Parameter& parameter : fitted) {
    EXPECT_FALSE(parameter.error.empty()) << parameter.path;
    const std::string path = std::regex_replace(parameter.path, std::regex("\\[[0-9]+\\]"), ".*");
    const bool is_found = std::ranges::any_of(steps(), [&](const Step& step) {
      return (parameter.source.find(": " + std::string(step.name)) != std::string::npos ||
              parameter.source.ends_with(": apart from c3sim calibrate")) &&
             std::ranges::find(step.targets, path, &Target::path) != step.targets.end();
    });
    EXPECT_TRUE(is_found) << parameter.path << " names " << parameter.source;
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, FittedParameters,
                         testing::Values("mi300x", "mi300x_conccl", "h200", "h100", "mi355x"),
                         [](const auto& platform) { return platform.param; });

}  // namespace
}  // namespace c3sim::calibrate
