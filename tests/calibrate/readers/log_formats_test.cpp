// Which texts are taken for logs, and of which tool.
#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <utility>

#include "sim/config/measurement_text.h"
#include "tests/calibrate/readers/log_sample.h"

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
}

TEST(LogFormats, EverySampleIsOfOneFormat) {
  for (const auto& [file, name] : std::initializer_list<std::pair<std::string, std::string_view>>{
           {"rccl_tests/all_reduce_8xmi300x.txt", "rccl-tests"},
           {"rccl_tests/all_reduce_graph_8xmi300x.txt", "rccl-tests"},
           {"rccl_tests/alltoall.txt", "rccl-tests"},
           {"rccl_tests/nccl_tests.json", "rccl-tests JSON"},
           {"rccl_tests/rccl_tests.json", "rccl-tests JSON"},
           {"transfer_bench/p2p_8xmi300x.txt", "TransferBench"},
           {"transfer_bench/a2a_8xmi300x.txt", "TransferBench"},
           {"transfer_bench/examples_8xmi300x.txt", "TransferBench"},
           {"transfer_bench/examples_8xmi300x.csv", "TransferBench CSV"},
           {"gemm_bench/hipblaslt_bench.txt", "hipblaslt-bench"},
           {"gemm_bench/rocblas_bench.txt", "rocblas-bench"},
           {"babel_stream/stream.txt", "BabelStream"},
           {"babel_stream/stream.csv", "BabelStream CSV"},
           {"rocprofv3/kernel_trace.csv", "rocprofv3 kernel trace"},
           {"rocprofv3/memory_copy_trace.csv", "rocprofv3 memory copy trace"},
           {"rocprofv3/counter_collection.csv", "rocprofv3 counters"},
           {"torch/trace.json", "PyTorch profiler"}}) {
    EXPECT_EQ(format_of(sample(file)), name) << file;
  }
  EXPECT_EQ(format_of(sample("cases/rocprofv3_results.json")), "rocprofv3 JSON");
  EXPECT_EQ(format_of(sample("cases/rccl_tests_csv_with_mpi.csv")), "rccl-tests CSV");
  EXPECT_EQ(format_of(sample("cases/rocm_bandwidth_test.txt")), "a tool that is not read");
  for (const std::string_view text : {"", "\n", "# a comment\na,b\n1,2\n", "{}", "[1]", "\xFF\xFE"}) {
    EXPECT_EQ(format_of(text), "") << text;
  }
}

TEST(LogFormats, AReaderFindsTheFormatByItself) {
  const Reading reading = Reader().read_text(sample("rccl_tests/all_reduce_8xmi300x.txt"), "folder/f.log");
  EXPECT_EQ(reading.format, "rccl-tests");
  EXPECT_EQ(reading.name, "f.log");
  EXPECT_EQ(reading.measurements.size(), 32u);
}

}  // namespace
}  // namespace c3sim::calibrate
