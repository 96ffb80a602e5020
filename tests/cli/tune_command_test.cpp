// Tests what c3sim tune leaves in its folder, and what it refuses.
#include <filesystem>
#include <sstream>

#include "tests/cli/run_cli.h"
#include "tests/testing.h"
#include "tests/text_file.h"

namespace c3sim::cli {
namespace {

class TuneCommandTest : public InFolder {
 protected:
  std::string text(const std::string& name) const { return content(folder_ / name); }
};

// Each way that was tried has the words that ask for it; the question is the title.
TEST_F(TuneCommandTest, FullCarriesItsQuestion) {
  const std::vector<std::string> asked{"tune",    "--step", "--model", "llama3-8b",  "--layers",  "1",
                                       "--phase", "decode", "--batch", "4",          "--context", "64",
                                       "--graph", "--tp",   "2",       "--platform", "h200"};
  const nlohmann::json rows = json_of(asked)["results"];
  for (const nlohmann::json& row : rows) {
    EXPECT_EQ(row["layers"], 1);
    EXPECT_EQ(row["graph"], true);
    EXPECT_EQ(row["tp"].get<int>() * row["dp"].get<int>() * row["pp"].get<int>(), 2) << row;
    if (row["collectives"] == "rccl") {
      EXPECT_EQ(row["fidelity"], "extrapolated");
    }
    if (row["collectives"] == "one_shot") {
      EXPECT_EQ(row["fidelity"], "assumed");  // nobody has measured it there
    }
  }
  EXPECT_THAT(out_of(asked), testing::StartsWith("What to choose for a step of llama3-8b: decode, asked with layers 1, "
                                                 "batch 4, context 64, tp 2, graph\n"));
  const nlohmann::json pair = json_of({"tune", "--gemm", "8192x8192x8192", "--collective", "all_gather", "--bytes",
                                       "64MiB", "--error", "7"})["choices"][0];
  EXPECT_NEAR(pair["error_percent"].get<double>(), 7.0, 1e-9);
  EXPECT_EQ(pair["fidelity"], "extrapolated");  // no fit saw concurrent runs
}

// The rows of the plan come back with times: the row of `winner` takes four fifths of the predicted best, and all
// others take one and a half times the predicted best.
TEST_F(TuneCommandTest, FullWhatThePlanAsksForMeasurementsDecide) {
  const std::vector<std::string> question{
      "tune", "--gemm", "8192x8192x8192,2048x8192x8192", "--collective", "all_gather", "--bytes", "512MiB"};
  const auto tuned = [&](const std::string& out, const std::string& measured) {
    std::vector<std::string> words = question;
    words.insert(words.end(), {"--out", path(out)});
    if (!measured.empty()) words.insert(words.end(), {"--measured", measured});
    const Answer answer = run_cli(words);
    EXPECT_EQ(answer.code, ExitCode::fine) << answer.err;
    return text(out + "/choices.csv");
  };
  const std::string pair = "8192x8192x8192,536870912,";
  const std::string before = tuned("before", "");
  std::istringstream cells(before.substr(before.find(pair) + pair.size()));
  std::string choice;
  double best = 0.0;
  std::getline(cells, choice, ',');
  cells >> best;
  ASSERT_GT(best, 0.0);
  const auto measured = [&](const std::string& winner) {
    std::istringstream plan(text("before/plan.csv"));
    std::string table;
    for (std::string row; std::getline(plan, row);) {
      table += row +
               (table.empty()           ? std::string(",makespan_us")
                : row.ends_with(winner) ? "," + std::to_string(0.8 * best)
                                        : "," + std::to_string(1.5 * best)) +
               "\n";
    }
    return write("measured.csv", table);
  };
  const std::vector<std::pair<std::string, std::string>> winners{{",conccl,,0,pcpy,yes", "engines_pcpy_prelaunched"},
                                                                 {",conccl_rp,,8,pcpy,no", "engines_pcpy_8_cus_kept"}};
  for (const auto& [row, name] : winners) {
    ASSERT_THAT(text("before/plan.csv"), HasSubstr("8192x8192x8192,all_gather,536870912" + row + "\n"));
    const std::string after = tuned("after", measured(row));
    EXPECT_THAT(after, HasSubstr(pair + name + ","));
    EXPECT_THAT(text("after/measure.csv"), Not(HasSubstr("all_gather beside 8192x8192x8192")));
    std::filesystem::remove_all(folder_ / "after");
  }
}

// Both took twice as long alone as predicted: alternatives that nobody measured are not predicted to be faster.
TEST_F(TuneCommandTest, FullWhatPairsTakeAloneCorrectsTheirOtherAlternatives) {
  const auto time_of_choice = [&](const std::string& isolated) {
    const std::string pairs = write("pairs.csv",
                                    "gemm,collective,bytes,strategy,makespan_us,isolated_gemm_us,collective_alone_us\n"
                                    "8192x8192x8192,all_gather,536870912,conccl,90000," +
                                        isolated + "\n");
    const std::string answer = out_of({"tune", "--gemm", "8192x8192x8192,2048x8192x8192", "--collective", "all_gather",
                                       "--bytes", "512MiB", "--format", "csv", "--measured", pairs});
    const std::string pair = "8192x8192x8192,536870912,";
    const std::size_t at = answer.find(',', answer.find(pair) + pair.size()) + 1;
    return std::stod(answer.substr(at));
  };
  EXPECT_GT(time_of_choice("9000,9000"), 2.0 * time_of_choice(","));
}

TEST_F(TuneCommandTest, FullNamesACarrierForEachCollectiveOfAStep) {
  const std::vector<std::string> step{"tune",   "--step", "--model", "llama3-8b", "--layers", "2",      "--phase",
                                      "decode", "--tp",   "2",       "--context", "512",      "--graph"};
  EXPECT_THAT(out_of(step), AllOf(HasSubstr("out_all_reduce"), HasSubstr("all by engines"),
                                  HasSubstr("tp 2, tuned: c3sim step --model llama3-8b --phase decode --layers 2")));
  const std::string by_one_thread = out_of(with(step, {"--format", "json", "--jobs", "1"}));
  EXPECT_EQ(out_of(with(step, {"--format", "json", "--jobs", "2"})), by_one_thread);
  const nlohmann::json answer = nlohmann::json::parse(by_one_thread);
  for (const char* const key :
       {"split", "collective", "behind", "stream", "times", "size_MB", "carrier", "channels", "pieces", "time_us",
        "alone_us", "rccl_percent", "engines_percent", "library_channels_percent"}) {
    EXPECT_TRUE(answer["layer"][0].contains(key)) << key;
  }
  EXPECT_TRUE(answer["tuned"][0]["command"].is_string());
  EXPECT_TRUE(answer["layer_rules"][0]["regret_percent"].is_number());
}

}  // namespace
}  // namespace c3sim::cli
