// Files of measurements as c3sim read shows them.
#include "calibrate/measurement_files.h"

#include <fstream>

#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  MeasurementFiles read(const std::vector<std::filesystem::path>& files) const {
    return read_measurement_files(reader_, files, [](const Reading&) { return ScreenedFor{"mi300x", "mi300x", 8}; });
  }

  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "measurement_files_test";
  Reader reader_{std::filesystem::path(C3SIM_SOURCE_DIR) / "configs/formats"};
};

const std::string gemm_times = "gemm,time_us\n";

study::Cell cell(const study::Results& results, const std::string& key, std::size_t row, const std::string& column) {
  for (const study::NamedTable& table : results.tables) {
    if (table.key != key) continue;
    for (std::size_t i = 0; i < table.table.columns().size(); ++i) {
      if (table.table.columns()[i].key == column) return table.table.rows().at(row).at(i);
    }
  }
  return {};
}
study::Cell number(int value) { return std::int64_t{value}; }
study::Cell word(const char* text) { return std::string(text); }

// Of seven rows two are good and differ; one says nothing, one the same as one before it, three are at fault.
TEST_F(Files, EveryRowIsReadLeftOutOrAtFault) {
  const MeasurementFiles files = read({write("gemms.csv", "# gpu: AMD Instinct MI300X\n# date: today\n" + gemm_times +
                                                              "4096x4096x4096,250\n8192x8192x8192,nan\n8192x8192x8192\n"
                                                              "8192x8192x8192,-5\n8192x8192,2000\n8192x8192x8192,2000\n"
                                                              "4096x4096x4096,250\n")});
  const study::Results results = report(files, true);
  EXPECT_EQ(cell(results, "files", 0, "format"), word("gemms"));
  EXPECT_EQ(cell(results, "files", 0, "gpu"), word("AMD Instinct MI300X"));
  EXPECT_EQ(cell(results, "files", 0, "measurements"), number(2));
  EXPECT_EQ(cell(results, "files", 0, "left_out"), number(1));
  EXPECT_EQ(cell(results, "files", 0, "faults"), number(4));
  EXPECT_EQ(cell(results, "kinds", 0, "kind"), word("gemm"));
  EXPECT_EQ(cell(results, "kinds", 0, "smallest"), word("4096x4096x4096"));
  EXPECT_EQ(cell(results, "kinds", 0, "largest"), word("8192x8192x8192"));
  EXPECT_EQ(cell(results, "kinds", 0, "roles"), word("unlisted"));
  EXPECT_EQ(cell(results, "left_out", 0, "first"), word("gemms.csv:5"));
  EXPECT_EQ(cell(results, "rows", 1, "where"), word("gemms.csv:9"));
  EXPECT_EQ(cell(results, "rows", 1, "trial"), word("gemm 8192x8192x8192"));
  EXPECT_EQ(cell(results, "rows", 1, "unit"), word("us"));
  EXPECT_EQ(cell(results, "headers", 1, "header"), word("date: today"));
  EXPECT_EQ(results.notes, std::vector<std::string>{"2 measurements of 1 file. Left out: 1 row. 4 faults."});
  ASSERT_EQ(results.warnings.size(), 4u);
  EXPECT_THAT(results.warnings[0], HasSubstr("gemms.csv:6:1: 1 cells where the columns are 2"));
  EXPECT_THAT(results.warnings[3], HasSubstr("gemms.csv:10: says the same as line 4: it counts once"));
}

// A bare column `time` has no unit.
TEST_F(Files, UnitsAreNotGuessed) {
  const MeasurementFiles files = read({write("f.csv", "gemm,time\n4096x4096x4096,250\n")});
  EXPECT_FALSE(files.is_usable());
  ASSERT_GE(files.unreadable.size(), 2u);
  EXPECT_EQ(files.unreadable[1].path, "time_us");
  EXPECT_THAT(files.unreadable[1].what, HasSubstr("this column is missing, unit included; known are: gemm, time"));
}

TEST_F(Files, MixedUnitsAreAtFaultRowByRow) {
  const MeasurementFiles files = read({write("f.csv", gemm_times + "4096x4096x4096,250\n4096x4096x4096,0.25ms\n")});
  ASSERT_EQ(files.readings.size(), 1u);
  EXPECT_EQ(files.readings[0].measurements.size(), 1u);
  ASSERT_EQ(files.readings[0].faults.size(), 1u);
  EXPECT_THAT(files.readings[0].faults[0].where, HasSubstr("f.csv:3:16"));
}

TEST_F(Files, OtherFilesAreReadBesideOneThatCannotBe) {
  const std::filesystem::path good = write("a.csv", gemm_times + "4096x4096x4096,250\n");
  const MeasurementFiles files = read({folder_ / "absent.csv", good, good, write("b.csv", "what,ever\n1,2\n")});
  EXPECT_TRUE(files.is_usable());
  EXPECT_EQ(files.readings.size(), 1u);
  const study::Results results = report(files, false);
  ASSERT_GE(results.warnings.size(), 3u);
  EXPECT_THAT(results.warnings[0], HasSubstr("absent.csv: No such file or directory"));
  EXPECT_THAT(results.warnings[1], HasSubstr("a.csv: is given twice: it is read once"));
  EXPECT_THAT(results.warnings[2], HasSubstr("b.csv:1:1: no table with these columns is known"));
}

TEST_F(Files, EveryOneThatIsNotThereIsNamed) {
  const std::filesystem::path good = write("a.csv", gemm_times + "4096x4096x4096,250\n");
  EXPECT_NO_THROW(require_files(std::vector{good}));
  try {
    require_files(std::vector{good, folder_ / "absent.csv", good / "below"});
    FAIL();
  } catch (const sim::ConfigError& error) {
    ASSERT_EQ(error.faults().size(), 2u);
    EXPECT_EQ(error.faults()[0], (sim::Fault{(folder_ / "absent.csv").string(), "", "No such file or directory"}));
    EXPECT_EQ(error.faults()[1].what, "Not a directory");
  }
}

// Two kernels that nobody labelled took 10 + 30 us, a third is beside another; times of tables are not known.
TEST_F(Files, WhatIsLeftOutIsGroupedByReasonWithTheTimeThatItTook) {
  MeasurementFiles files;
  files.readings.emplace_back();
  files.readings[0].left_out = {{"t.json:3", "not said", "'a', run 2 times", 10e-6},
                                {"t.json:9", "beside others", "'c', 1 of 2 times", 5e-6},
                                {"t.json:7", "not said", "'b', run 1 times", 30e-6},
                                {"t.csv:2", "no model"}};
  const study::Results results = report(files, false);
  EXPECT_EQ(cell(results, "left_out", 0, "why"), word("not said"));
  EXPECT_EQ(cell(results, "left_out", 0, "first"), word("t.json:3"));
  EXPECT_EQ(cell(results, "left_out", 0, "rows"), number(2));
  EXPECT_NEAR(std::get<double>(cell(results, "left_out", 0, "time_us")), 40.0, 1e-9);
  EXPECT_EQ(cell(results, "left_out", 2, "time_us"), study::Cell());
  EXPECT_EQ(cell(results, "left_out_rows", 2, "what"), word("'b', run 1 times"));
  const auto is_shown = [&files](bool rows) {
    for (const study::NamedTable& table : report(files, rows).tables) {
      if (table.key == "left_out_rows") return table.in_text;
    }
    return false;
  };
  EXPECT_FALSE(is_shown(false));
  EXPECT_TRUE(is_shown(true));
}

TEST_F(Files, NothingOfAnotherGpuIsUsable) {
  const MeasurementFiles files = read({write("f.csv", "# gpu: NVIDIA H200\n" + gemm_times + "4096x4096x4096,250\n")});
  EXPECT_FALSE(files.is_usable());
  EXPECT_THAT(report(files, false).warnings.at(0), HasSubstr("f.csv: gpu: measured on 'NVIDIA H200'"));
  EXPECT_EQ(cell(report(files, false), "files", 0, "platform"), study::Cell()) << "it was read for no platform";
}

TEST_F(Files, WarnsOfATableThatMayHaveBeenCutOff) {
  const study::Results results = report(read({write("f.csv", gemm_times + "4096x4096x4096,25")}), false);
  EXPECT_THAT(results.warnings.at(0), HasSubstr("f.csv: no line end behind its last row: it may have been cut off"));
  EXPECT_TRUE(report(read({write("g.csv", gemm_times + "4096x4096x4096,250\n")}), false).warnings.empty());
}

// A million rows at fault are not a million warnings.
TEST_F(Files, WarnsOfTheFirstFaultsAlone) {
  std::string text = gemm_times;
  for (int i = 0; i < 105; ++i) text += "x,1\n";
  const study::Results results = report(read({write("f.csv", text)}), false);
  EXPECT_EQ(results.warnings.size(), 101u);
  EXPECT_EQ(results.warnings.back(), "5 more faults");
}

TEST_F(Files, TablesOfDmaLatteAreRead) {
  const MeasurementFiles files =
      read({write("phases.csv", "size_bytes,control_pct,schedule_pct,copy_pct,sync_pct\n1024,5,31,29,35\n"),
            write("speedups.csv", "size_bytes,pcpy_PL,bcst,bcst_PL,b2b,b2b_PL\n1024,2.87,1.59,3.67,2.58,4.10\n")});
  ASSERT_EQ(files.readings.size(), 2u);
  EXPECT_EQ(files.readings[0].format, "latte_phases");
  EXPECT_EQ(files.readings[0].measurements.at(0).seen.size(), 4u);
  EXPECT_EQ(files.readings[1].format, "latte_speedups");
  EXPECT_EQ(files.readings[1].measurements.size(), 5u);
}

}  // namespace
}  // namespace c3sim::calibrate
