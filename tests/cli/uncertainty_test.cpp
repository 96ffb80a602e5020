#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::vector<std::string> tiny_gemm{"gemm", "--gemm", "512x512x512"};
const std::vector<std::string> tiny_c3{"c3", "--gemm", "512x512x512", "--collective", "all_gather", "--bytes", "1MiB"};

// The platform's launches have an error.
class Uncertainty : public InFolder {
 protected:
  std::string fitted() const {
    return write("fitted.yaml", "base: mi300x\nname: fitted\nhost:\n  kernel_launch: {value: 6 us, error: 0.5 us}\n");
  }
  Answer ask(std::vector<std::string> arguments, const std::vector<std::string>& options) const {
    return run_cli(with(with(std::move(arguments), {"--platform", fitted()}), options));
  }
};

TEST_F(Uncertainty, IsBesideEachTimeWhereItWasAskedFor) {
  EXPECT_THAT(ask(tiny_gemm, {"--format", "csv"}).out, Not(HasSubstr("p5")));
  const json result = json::parse(ask(tiny_gemm, {"--uncertainty", "--format", "json"}).out)["results"][0];
  EXPECT_LT(result["time_p5_us"], result["time_us"]);
  EXPECT_LT(result["time_us"], result["time_p95_us"]);
  EXPECT_FALSE(result.contains("time_interval"));
  const std::string text = ask(tiny_gemm, {"--uncertainty", "20"}).out;
  EXPECT_THAT(text, HasSubstr("time, 90 % [us]"));
  EXPECT_THAT(text, HasSubstr(" to "));
  EXPECT_THAT(text, Not(HasSubstr("p95")));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"collective", "--collective", "all_gather", "--bytes", "1MiB"},
        std::vector<std::string>{"copy", "--from", "gpu0", "--to", "gpu1", "--bytes", "1MiB"}}) {
    EXPECT_THAT(ask(command, {"--uncertainty", "20", "--format", "csv"}).out, HasSubstr(",time_p5_us,time_p95_us"));
  }
  const std::string platform =
      write("slow_host.yaml",
            "base: mi300x\nname: slow_host\nhost:\n  framework_call: {value: 20 us, error: 3 us, kind: measured}\n");
  const json of_step = json_of({"step", "--model", "llama3-8b", "--phase", "decode", "--layers", "1", "--uncertainty",
                                "20", "--platform", platform})["results"][0];
  EXPECT_LT(of_step["time_p5_us"], of_step["time_us"]);
  EXPECT_LT(of_step["time_us"], of_step["time_p95_us"]);
  const json both = json::parse(
      ask(tiny_c3, {"--strategy", "c3_base,c3_rp", "--uncertainty", "20", "--format", "json"}).out)["results"];
  for (const json& row : both) {
    EXPECT_LT(row["makespan_p5_us"], row["makespan_p95_us"]) << row;
    EXPECT_LT(row["gemm_p5_us"], row["gemm_p95_us"]) << row;
    EXPECT_LT(row["collective_p5_us"], row["collective_p95_us"]) << row;
  }
}

TEST_F(Uncertainty, IsOfTheSeed) {
  const auto csv = [&](const std::vector<std::string>& options) {
    return ask(tiny_c3, with({"--strategy", "conccl", "--uncertainty", "20", "--format", "csv"}, options)).out;
  };
  const std::string usual = csv({"--jobs", "1"});
  EXPECT_EQ(csv({"--jobs", "3", "--seed", "1"}), usual);
  EXPECT_NE(csv({"--seed", "2"}), usual);
}

TEST_F(Uncertainty, OfAPlatformWithoutErrorsIsSaidNotToBeKnown) {
  std::string text = content(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml");
  text.erase(text.find("\ncorrelations:"));  // the last part of the file
  text = std::regex_replace(text, std::regex(", error: [^,]*,|\n    spread: [^\n]*"), "$1");
  text = std::regex_replace(text, std::regex("(value: [^,]*) source: "), "$1, source: ");
  text = std::regex_replace(text, std::regex("kind: probed"), "kind: assumed");
  text = std::regex_replace(text, std::regex(", alternatives: \\[[^\\]]*\\]"), "");
  const std::string certain = write("certain.yaml", text);
  const Answer answer = run_cli(with(tiny_gemm, {"--platform", certain, "--uncertainty", "--format", "json"}));
  EXPECT_EQ(answer.code, ExitCode::fine);
  EXPECT_THAT(answer.err, HasSubstr("warning: mi300x tells of no errors of its parameters: there is no interval"));
  EXPECT_TRUE(json::parse(answer.out)["results"][0]["time_p5_us"].is_null());
}

// Two runs are measured: one equal to the prediction, the other far beyond any error.
TEST_F(Uncertainty, FullIsHeldAgainstMeasurements) {
  const double predicted = json::parse(ask(tiny_gemm, {"--format", "json"}).out)["results"][0]["time_us"];
  const fs::path file = folder_ / "runs.csv";
  std::ofstream(file) << "kind,gemm,collective,bytes,how,limit,all_us\n"
                      << "gemm,512x512x512,-,0,all,304," << predicted << "\n"
                      << "gemm,512x512x512,-,0,all,304," << 3.0 * predicted << "\n";
  const std::vector<std::string> validate{"validate", file.string()};
  EXPECT_THAT(ask(validate, {"--format", "json"}).out, Not(HasSubstr("interval")));
  const json report = json::parse(ask(validate, {"--format", "json", "--uncertainty", "20"}).out);
  EXPECT_EQ(report["suites"][0]["with_interval"], 2);
  EXPECT_EQ(report["suites"][0]["within_interval"], 1);
  EXPECT_EQ(report["suites"][0]["within_interval_pct"], 50.0);
  EXPECT_EQ(report["groups"][0]["within_interval"], 1);
  EXPECT_LT(report["cases"][0]["interval_low"], report["cases"][0]["interval_high"]);
  EXPECT_THAT(
      ask(validate, {"--uncertainty", "20"}).out,
      HasSubstr("1 of 2 measured values lie within the 90 % intervals of their predictions (50.0 %), which are "));
}

}  // namespace
}  // namespace c3sim::cli
