#include "study/report/results_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sim/config/config_error.h"

namespace c3sim::study {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ResultsFolder : public testing::Test {
 protected:
  ResultsFolder() { fs::remove_all(folder_); }
  ~ResultsFolder() override { fs::remove_all(folder_); }

  static Results answer(const std::string& file) {
    ResultTable table({{"time_us", "time", "us"}});
    table.add_row({1.5});
    Results results{"mi300x", {{"results", "", table}}, {}, {}};
    results.files.push_back({file, "made"});
    return results;
  }
  void save_by(const std::string& command, const std::string& file) const {
    save(answer(file), {"1.0", command}, folder_);
  }
  std::string fault_of(const std::string& command, const std::string& file) const {
    try {
      save_by(command, file);
    } catch (const sim::ConfigError& error) {
      return error.what();
    }
    return "";
  }
  std::string text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "results_folder_test";
};

TEST_F(ResultsFolder, TheAnswerOfAnotherCommandStaysWithWhatWasEditedInIt) {
  save_by("c3sim tune --bytes 1MiB", "decisions.h");
  std::ofstream(folder_ / "decisions.h") << "edited";
  EXPECT_THAT(fault_of("c3sim gemm --gemm 64x64x64", "other.txt"),
              AllOf(HasSubstr("holds the answer of 'c3sim tune' (results.json, results.csv, report.md, page.html, "
                              "decisions.h), which another command does not replace"),
                    HasSubstr("another folder is accepted, or this one once these files are gone")));
  EXPECT_EQ(text("decisions.h"), "edited");
  EXPECT_FALSE(fs::exists(folder_ / "other.txt"));
}

TEST_F(ResultsFolder, TheSameCommandReplacesItsOwnAnswer) {
  save_by("c3sim tune --bytes 1MiB", "decisions.h");
  EXPECT_EQ(fault_of("c3sim tune --bytes 2MiB", "other.txt"), "");
  EXPECT_FALSE(fs::exists(folder_ / "decisions.h"));
}

// A sweep that was stopped has no results.json.
TEST_F(ResultsFolder, AFolderWithPointsIsASweeps) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "points.sqlite") << "points";
  EXPECT_THAT(fault_of("c3sim gemm", "a.txt"), HasSubstr("holds the points of 'c3sim sweep' (points.sqlite)"));
  EXPECT_EQ(fault_of("c3sim sweep study.yaml", "a.txt"), "");
}

TEST_F(ResultsFolder, AFolderInWhichAnotherRunIsAtWorkIsRefused) {
  fs::create_directories(folder_);
  const FolderLock lock(folder_);
  EXPECT_TRUE(FolderLock::is_taken(folder_));
  EXPECT_THAT(fault_of("c3sim gemm", "a.txt"), HasSubstr("another run is at work in this folder"));
  EXPECT_FALSE(fs::exists(folder_ / "results.json"));
  save(answer("a.txt"), {"1.0", "c3sim sweep"}, folder_, &lock);
  EXPECT_EQ(text("a.txt"), "made");
}

TEST_F(ResultsFolder, WhatTheSystemRefusesIsToldByItsReason) {
  const auto reason = [](const fs::path& folder) {
    const std::vector<sim::Fault> faults = in_the_way(folder, {"results.json"}, {"1.0", "c3sim gemm"});
    return faults.empty() ? "" : faults.front().what;
  };
  EXPECT_EQ(reason(folder_), "");  // is to be made
  fs::create_directories(folder_);
  EXPECT_EQ(reason(folder_ / std::string(300, 'a')), "cannot be used: File name too long");
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(reason(folder_ / "loop"), "cannot be used: Too many levels of symbolic links");
}

}  // namespace
}  // namespace c3sim::study
