// Tests how c3sim read shows files of measurements.
#include "calibrate/measurement_files.h"

#include "tests/folder.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

class Files : public InFolder {
 protected:
  MeasurementFiles read(const std::vector<std::filesystem::path>& files) const {
    return read_measurement_files(reader_, files, [](const Reading&) { return ScreenedFor{"mi300x", "mi300x", 8}; });
  }

  Reader reader_{std::filesystem::path(C3SIM_SOURCE_DIR) / "configs/formats"};
};

const std::string gemm_times = "gemm,time_us\n";

study::Cell cell(const study::Results& results, const std::string& key, std::size_t row, const std::string& column) {
  const study::ResultTable& table = results.table(key)->table;
  return table.rows().at(row).at(place_of(table.columns(), column));
}
study::Cell number(int value) { return std::int64_t{value}; }
study::Cell word(const char* text) { return std::string(text); }

// Two unlabelled kernels took 10 + 30 us, a third ran concurrently with another; tables tell no times.
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
  EXPECT_FALSE(results.table("left_out_rows")->in_text);
  EXPECT_TRUE(report(files, true).table("left_out_rows")->in_text);
}

// A million faulty rows do not make a million warnings: here 105 have reasons of their own, and three the same.
TEST_F(Files, WarnsOfTheFirstFaultsAlone) {
  std::string text = gemm_times + "x,1\nx,1\nx,1\n";
  for (int i = 0; i < 105; ++i) text += "x" + std::to_string(i) + ",1\n";
  const study::Results results = report(read({write("f.csv", text)}), false);
  EXPECT_EQ(results.warnings.size(), 101u);
  EXPECT_THAT(results.warnings.front(), testing::HasSubstr("f.csv:2:1: gemm: "));
  EXPECT_THAT(results.warnings.front(), testing::EndsWith("(and 2 more like it)"));
  EXPECT_EQ(results.warnings.back(), "6 more are at fault");
}

}  // namespace
}  // namespace c3sim::calibrate
