// What does not count of readings: other machines, and what was said before.
#include "calibrate/readers/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/calibrate/readers/log_sample.h"

namespace c3sim::calibrate {
namespace {

Measurement gemm(int line, double seconds, const std::string& platform = "") {
  Measurement one;
  one.file = "f.csv";
  one.line = line;
  one.platform = platform;
  one.trial = study::GemmTrial{{4096, 4096, 4096}};
  one.seen = {{.figure = study::Figure::time, .value = seconds}};
  return one;
}

Reading reading_of(std::vector<Measurement> measurements, const std::string& gpu = "") {
  Reading reading;
  reading.name = "f.csv";
  reading.gpu = gpu;
  reading.measurements = std::move(measurements);
  return reading;
}

std::size_t left(const std::string& gpu, const ScreenedFor& target) {
  Reading reading = reading_of({gemm(2, 1e-3)}, gpu);
  refuse_other_gpus(reading, "folder/f.csv", target);
  EXPECT_EQ(reading.measurements.size() + reading.faults.size(), 1u);
  return reading.measurements.size();
}

TEST(Screen, RefusesAFileOfAnotherGpu) {
  EXPECT_EQ(left("AMD Instinct MI300X", {"mi300x", ""}), 1u);
  EXPECT_EQ(left("AMD Instinct MI300X", {"mi300x_conccl", ""}), 1u) << "a node of the same GPUs";
  EXPECT_EQ(left("AMD Instinct MI300X", {"my/fitted.yaml", "mi300x"}), 1u) << "by what the file calls itself";
  EXPECT_EQ(left("AMD Instinct MI308X", {"mi300x", ""}), 0u);
  EXPECT_EQ(left("NVIDIA H200", {"mi300x", "mi300x"}), 0u);
  EXPECT_EQ(left("NVIDIA H200", {"configs/platforms/h200.yaml", ""}), 1u);
  EXPECT_EQ(left("AMD Radeon Graphics", {"mi300x", ""}), 1u) << "no model is named";
  EXPECT_EQ(left("", {"mi300x", ""}), 1u);
}

TEST(Screen, NamesWhatItRefuses) {
  Reading file = reading_of({gemm(2, 1e-3), gemm(3, 2e-3)}, "NVIDIA H200");
  refuse_other_gpus(file, "folder/f.csv", {"mi300x", ""});
  EXPECT_EQ(faults_of(file),
            "folder/f.csv: gpu: measured on 'NVIDIA H200', compared with mi300x: --platform names another\n");
  Reading rows = reading_of({gemm(2, 1e-3, "h200"), gemm(3, 2e-3, "MI300X"), gemm(4, 3e-3)});
  refuse_other_gpus(rows, "folder/f.csv", {"mi300x", ""});
  EXPECT_EQ(rows.measurements.size(), 2u);
  EXPECT_EQ(faults_of(rows),
            "folder/f.csv:2: platform: measured on 'h200', compared with mi300x: --platform names another\n");
}

Measurement nth(int line, int number, int side = 4096) {
  Measurement one = gemm(line, line * 1e-3);
  one.trial = study::GemmTrial{{side, 4096, 4096}, {}, number};
  return one;
}

// A series may leave numbers out, and another may follow; going back within one is a mistake.
TEST(Screen, RunsOfASeriesStandInTheirOrder) {
  Reading reading = reading_of({nth(2, 0), nth(3, 4), nth(4, 2), nth(5, 5), nth(6, 0), nth(7, 1), nth(8, 3, 8192),
                                nth(9, 4, 8192), gemm(10, 1e-3), nth(11, 4, 8192)});
  refuse_disordered(reading, "folder/f.csv");
  EXPECT_EQ(reading.measurements.size(), 8u);
  EXPECT_EQ(faults_of(reading),
            "folder/f.csv:4: : run 2 of a series stands behind run 4: runs in their order are accepted\n"
            "folder/f.csv:11: : run 4 of a series stands behind run 4: runs in their order are accepted\n");
}

// Lines 2, 4 and 6 have the same words, line 5 the same time in others.
TEST(Screen, RowsThatSayTheSameCountOnce) {
  Reading reading = reading_of({gemm(2, 1e-3), gemm(3, 2e-3), gemm(4, 1e-3), gemm(5, 1e-3), gemm(6, 1e-3)});
  refuse_repeated_rows(reading, "heads\na,1\na,2\na,1\nb,1\na,1\n", "folder/f.csv");
  EXPECT_EQ(reading.measurements.size(), 3u);
  EXPECT_EQ(faults_of(reading),
            "folder/f.csv:4: : says the same as line 2: it counts once\n"
            "folder/f.csv:6: : says the same as line 2: it counts once\n");
}

// Of a wide row every cell is a measurement.
TEST(Screen, CellsOfOneRowAreNoRepetitions) {
  Reading reading = reading_of({gemm(2, 1e-3), gemm(2, 1e-3), gemm(3, 1e-3), gemm(3, 1e-3)});
  refuse_repeated_rows(reading, "heads\n1,1\n1,1\n", "f.csv");
  EXPECT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(faults_of(reading), "f.csv:3: : says the same as line 2: it counts once\n");
}

TEST(Screen, AFileThatSaysNothingNewCountsOnce) {
  std::vector<Reading> readings{reading_of({gemm(2, 1e-3), gemm(3, 2e-3)}), reading_of({gemm(7, 2e-3)}),
                                reading_of({gemm(2, 2e-3), gemm(3, 3e-3)})};
  readings[1].name = "g.csv";
  refuse_repeated_files(readings);
  EXPECT_EQ(readings[0].measurements.size(), 2u);
  EXPECT_EQ(readings[1].measurements.size(), 0u);
  EXPECT_EQ(faults_of(readings[1]), "g.csv: : says nothing that f.csv does not: it counts once\n");
  EXPECT_EQ(readings[2].measurements.size(), 2u) << "a repetition that agrees in one size";
}

}  // namespace
}  // namespace c3sim::calibrate
