// Every shipped experiment can be explained and traced on every platform under both protocols.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/cli/run_cli.h"
#include "tests/testing.h"

namespace c3sim::cli {
namespace {

using ::testing::ContainsRegex;

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().stem() != "defaults") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

const std::filesystem::path configs = C3SIM_SOURCE_DIR "/configs";

// Returns the shipped experiment with one in seven of the many GEMMs of a study, each of which is a line.
std::string shortened(const std::filesystem::path& experiment) {
  std::ifstream file(experiment);
  std::string text;
  std::string line;
  for (int gemms = 0; std::getline(file, line);) {
    const bool is_gemm = line.starts_with("  - {gemm: ") || std::regex_match(line, std::regex("  g[0-9]+: .*"));
    if (!is_gemm || gemms++ % 7 == 0) text += line + "\n";
  }
  return text;
}

using Parameters = std::tuple<std::string, std::string, std::string>;  // experiment, platform, protocol

class ShippedExperiment : public testing::TestWithParam<Parameters> {};

TEST_P(ShippedExperiment, FullIsExplainedAndTraced) {
  const auto& [experiment, platform, protocol] = GetParam();
  const std::filesystem::path folder = testing::TempDir() + experiment + "_" + platform + "_" + protocol;
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / (experiment + ".yaml");
  std::ofstream(file) << shortened(configs / "experiments" / file.filename());
  const std::filesystem::path trace = folder / "trace.json";
  const Answer answer = run_cli(
      {"run", file.string(), "--platform", platform, "--protocol", protocol, "--explain", "--trace", trace.string()});
  if (answer.code == ExitCode::users_fault) {  // it names engines or CUs that the platform lacks
    EXPECT_THAT(answer.err,
                ContainsRegex("experiments/[a-z0-9_]+\\.yaml:|" + experiment + "\\.yaml:"));  // or one it includes
  } else {
    EXPECT_EQ(answer.code, ExitCode::fine) << answer.err;
    EXPECT_THAT(answer.out, HasSubstr("Where the time went"));
    EXPECT_GT(std::filesystem::file_size(trace), 0U);
  }
  std::filesystem::remove_all(folder);
}

std::string name_of(const testing::TestParamInfo<Parameters>& one) {
  return std::get<0>(one.param) + "_" + std::get<1>(one.param) + "_" + std::get<2>(one.param);
}

INSTANTIATE_TEST_SUITE_P(All, ShippedExperiment,
                         testing::Combine(testing::ValuesIn(names_in(configs / "experiments")),
                                          testing::ValuesIn(names_in(configs / "platforms")),
                                          testing::Values("steady", "shot")),
                         name_of);

}  // namespace
}  // namespace c3sim::cli
