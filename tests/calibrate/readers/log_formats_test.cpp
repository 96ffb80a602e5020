// Tests which texts are taken for logs of tools, what the samples of tests/data say, and what becomes of damaged ones.
// The file tests/data/samples/logs.samples holds what readers say of single lines.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "calibrate/readers/log_reading.h"
#include "sim/config/measurement_text.h"
#include "tests/calibrate/readers/log_sample.h"
#include "tests/samples.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

// Tables of figures are read by their columns, whatever their comments tell of the tools that they come from.
TEST(LogFormats, NoTableOfReferenceIsTakenForALog) {
  int tables = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(C3SIM_SOURCE_DIR "/validate/reference")) {
    if (entry.path().extension() != ".csv") continue;
    ++tables;
    EXPECT_EQ(format_of(sim::read_measurement_text(entry.path())), "") << entry.path();
  }
  EXPECT_GT(tables, 10);
  for (const std::string_view text : {"", "\n", "# a comment\na,b\n1,2\n", "{}", "[1]", "\xFF\xFE"}) {
    EXPECT_EQ(format_of(text), "") << text;
  }
}

// A SampleRow holds figures as they stand in the published tables that tests/data/README.md names.
struct SampleRow {
  std::string file;
  std::string_view format;
  std::size_t rows;  // measurements in the file
  std::size_t at;    // index among these measurements
  std::string_view trial;
  double value;  // in base units
};
const std::vector<SampleRow> sample_rows{
    // Sizes run from 8 B to 16 GiB in powers of two; 1 MiB takes 27.42 us out of place, 16 GiB 94254 us.
    {"rccl_tests/all_reduce_8xmi300x.txt", "rccl-tests", 32, 17, "rccl all_reduce of 1MiB over 8 GPUs", 27.42e-6},
    {"rccl_tests/all_reduce_8xmi300x.txt", "rccl-tests", 32, 31, "rccl all_reduce of 16GiB over 8 GPUs", 94254e-6},
    {"rccl_tests/all_reduce_graph_8xmi300x.txt", "rccl-tests", 32, 2, "rccl all_reduce of 32B over 8 GPUs", 6.32e-6},
    {"rccl_tests/nccl_tests.json", "rccl-tests JSON", 3, 1, "rccl all_reduce of 1MiB over 8 GPUs", 27.42e-6},
    {"rccl_tests/rccl_tests.json", "rccl-tests JSON", 3, 1, "rccl all_reduce of 1MiB over 8 GPUs", 27.42e-6},
    // Tests 1, 3 and 6 store to another GPU, 2 copies by an engine, 4 fills, and 5 runs on the host.
    {"transfer_bench/examples_8xmi300x.txt", "TransferBench", 5, 0, "store of 64MiB on 4 CUs by gpu0 of gpu1",
     47.774e9},
    {"transfer_bench/examples_8xmi300x.csv", "TransferBench CSV", 5, 0, "store of 64MiB on 4 CUs by gpu0 of gpu1",
     47.774e9},
    // There are 56 pairs of GPUs, one way and both ways; the published sum of GPUs 0 and 1 is 92.20 GB/s.
    {"transfer_bench/p2p_8xmi300x.txt", "TransferBench", 168, 55, "store of 64MiB on 304 CUs by gpu7 of gpu6", 48.74e9},
    {"transfer_bench/p2p_8xmi300x.txt", "TransferBench", 168, 57,
     "store of 64MiB on 304 CUs between gpu0 and gpu1 both ways", 46.10e9},
    // Each GPU uses 8 CUs for each of 7 peers: 56 CUs.
    {"transfer_bench/a2a_8xmi300x.txt", "TransferBench", 56, 55,
     "uncached_store of 64MiB on 56 CUs by all GPUs of all others", 46.786e9},
    {"gemm_bench/hipblaslt_bench.txt", "hipblaslt-bench", 1, 0, "gemm 2048x1152x2048", 29.084e-6},
    {"gemm_bench/rocblas_bench.txt", "rocblas-bench", 1, 0, "gemm 8192x8192x8192", 2000e-6},
    // Dot reads two arrays and writes none; 2^28 elements of 8 bytes are 2 GiB.
    {"babel_stream/stream.txt", "BabelStream", 5, 4, "stream of 4295000000B from 2 arrays to 0", 3878410e6},
    {"babel_stream/stream.csv", "BabelStream", 5, 0, "stream of 4GiB from 1 arrays to 1", 4255995e6}};

TEST(LogFormats, SamplesAreReadAsTheirTablesSay) {
  for (const SampleRow& row : sample_rows) {
    const std::string text = sample(row.file);
    EXPECT_EQ(format_of(text), row.format) << row.file;
    const Reading reading = Reader().read_text(text, row.file);
    EXPECT_EQ(reading.format, row.format);
    EXPECT_EQ(faults_of(reading), "") << row.file;
    expect_sane(reading);
    ASSERT_EQ(reading.measurements.size(), row.rows) << row.file;
    EXPECT_EQ(words_of_trial(reading, row.at), row.trial) << row.file;
    EXPECT_NEAR(seen_in(reading, row.at), row.value, 1e-9 * row.value) << row.file;
  }
  EXPECT_EQ(format_of(sample("rocprofv3/kernel_trace.csv")), "rocprofv3 kernel trace");
  EXPECT_EQ(format_of(sample("rocprofv3/memory_copy_trace.csv")), "rocprofv3 memory copy trace");
  EXPECT_EQ(format_of(sample("rocprofv3/counter_collection.csv")), "rocprofv3 counters");
  EXPECT_EQ(format_of(sample("torch/trace.json")), "PyTorch profiler");
}

// Launchers may label every line, editors may write tabs, CR LF and a byte order mark: all rows are still there.
TEST(LogFormats, WhatStandsAroundLinesChangesNothing) {
  for (const SampleRow& row : sample_rows) {
    const std::string text = sample(row.file);
    if (row.format != "rccl-tests" && row.format != "TransferBench") continue;
    std::string labelled, windows = "\xEF\xBB\xBF";
    LogLines lines(text);
    while (lines.next()) {
      labelled += "[1,0]<stdout>:" + std::string(lines.line().text) + "\r\n";
      windows += std::string(lines.line().text) + "\r\n";
    }
    EXPECT_EQ(Reader().read_text(labelled, row.file).measurements.size(), row.rows) << row.file;
    EXPECT_EQ(Reader().read_text(windows, row.file).measurements.size(), row.rows) << row.file;
  }
}

TEST(LogFormats, HugeLinesDepthAndWidthAreBounded) {
  EXPECT_THAT(faults_of(read_as("rccl-tests", "# all_reduce_perf\n" + std::string(100000, 'x') + "\n")),
              testing::HasSubstr(":2:1: : a line of 100000 bytes"));
  EXPECT_THAT(faults_of(read_as("rccl-tests JSON", std::string(100000, '['))),
              testing::HasSubstr("nested more than 32 deep"));
  std::string wide = "{\"a\": 0";
  for (int i = 0; i < 9000; ++i) wide += fmt::format(",\"a{}\":0", i);
  EXPECT_THAT(faults_of(read_as("rccl-tests JSON", wide + "}")),
              testing::HasSubstr("more than 8192 values in one object"));
}

// Clients of vLLM before 0.9, and those of today with --save-detailed, write what each request took in front of the
// means.
TEST(LogFormats, ListsOfEveryRequestAreNoFault) {
  const std::string times = fmt::format("[{}]", fmt::join(std::vector(5000, 0.5), ","));
  const Reading reading = read_as(
      "vllm bench serve", fmt::format(R"({{"model_id": "Qwen/Qwen2.5-7B-Instruct", "tp": 1, "request_rate": 6.0,)"
                                      R"("completed": 200, "total_input_tokens": 150000, "ttfts": {0},)"
                                      R"("itls": [{0}, {0}], "total_output_tokens": 50200, "mean_ttft_ms": 26.7}})",
                                      times));
  EXPECT_EQ(faults_of(reading), "");
  ASSERT_EQ(reading.measurements.size(), 1U);
  EXPECT_DOUBLE_EQ(reading.measurements[0].seen.at(0).value, 0.0267);
}

TEST(LogFormats, FullFilesCutOffAnywhereSayNothingNew) {
  for (const SampleRow& row : sample_rows) {
    const std::string text = sample(row.file);
    expect_prefixes_read_the_same(row.format, row.format == "rccl-tests" ? "# all_reduce_perf\n" + text : text);
  }
}

// The test damages every byte of some samples of each format.
TEST(LogFormats, FullDamageIsSurvived) {
  constexpr int most = 3;
  std::map<std::string, int> tried;
  for (const Sample& sample : samples_of(C3SIM_SOURCE_DIR "/tests/data/samples/logs.samples")) {
    const auto& [name, text] = sample.inputs.at(0);
    const std::string format = name.substr(0, name.rfind(' '));
    if (text.size() < 1000 && ++tried[format] <= most) expect_damage_is_survived(format, text);
  }
  EXPECT_GE(tried.size(), 8u);
}

}  // namespace
}  // namespace c3sim::calibrate
