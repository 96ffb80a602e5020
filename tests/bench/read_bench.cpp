// Times the reading of measurements: rows of tables, dispatches of traces and lines of logs, a million of each.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "calibrate/measurement_files.h"

using namespace c3sim;

namespace {

constexpr int rows = 1'000'000;

std::string table_of_gemms() {
  std::mt19937 random(1);
  std::string text = "gemm,cus,time_us,time_p10_us,time_p90_us\n";
  for (int i = 0; i < rows; ++i) {
    const auto us = 10 + random() % 100000;
    text += fmt::format("{}x{}x{},{},{}.5,{}.25,{}.75\n", 128 * (1 + random() % 128), 128 * (1 + random() % 128),
                        64 * (1 + random() % 256), 8 * (1 + random() % 38), us, us, us);
  }
  return text;
}

// Half of the rows are pairs, for which the reader looks up how long their parts took alone.
std::string table_of_runs() {
  std::mt19937 random(1);
  std::string text = "kind,gemm,collective,bytes,how,limit,all_us,gemm_us,comm_us\n";
  constexpr std::array ways{"isolated_gemm", "isolated_nccl", "nccl_gemm_first", "nccl_comm_first"};
  for (int i = 0; i < rows / 4; ++i) {
    for (const char* const how : ways) {
      text += fmt::format("c3,{}x8192x8192,all_gather,{},{},0,{}.5,{}.25,{}.75\n", 128 * (1 + i % 128), 64 * (1 + i),
                          how, 10 + random() % 100000, 10 + random() % 100000, 10 + random() % 100000);
    }
  }
  return text;
}

std::string trace_of_kernels() {
  std::mt19937 random(1);
  std::string text = "\"Kind\",\"Agent_Id\",\"Dispatch_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n";
  std::int64_t now = 1'000'000'000'000;
  for (int i = 0; i < rows; ++i) {
    const auto ns = static_cast<std::int64_t>(10'000 + random() % 1'000'000);
    text += fmt::format("\"KERNEL_DISPATCH\",\"Agent 2\",{},\"Cijk_Ailk_Bljk_BBS_BH_MT256x256x64_{}\",{},{}\n", i,
                        random() % 40, now, now + ns);
    now += ns + 1000;
  }
  return text;
}

std::string trace_of_pytorch() {
  std::mt19937 random(1);
  std::string text = "{\"traceEvents\": [\n";
  double now = 1000.0;
  for (int i = 1; i <= rows / 2; ++i) {
    const auto us = 10 + random() % 1000;
    text += fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":1,"args":{{"External id":{},"Input type":["c10::BFloat16","c10::BFloat16"],"Input Dims":[[4096,{}],[{},8192]]}}}},)"
        "\n"
        R"({{"ph":"X","cat":"kernel","name":"Cijk","ts":{},"dur":{},"args":{{"External id":{},"device":0,"stream":3}}}}{})"
        "\n",
        i, 64 * (1 + i % 64), 64 * (1 + i % 64), now, us, i, i == rows / 2 ? "" : ",");
    now += static_cast<double>(us) + 1.0;
  }
  return text + "]}\n";
}

void BM_Read(benchmark::State& state, std::string (*write)()) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "c3sim_read_bench";
  std::ofstream(file) << write();
  const calibrate::Reader reader(C3SIM_SOURCE_DIR "/configs/formats");
  const std::array files{file};
  for (auto _ : state) {
    const calibrate::MeasurementFiles read =
        calibrate::read_measurement_files(reader, files, [](const calibrate::Reading&) {
          return calibrate::ScreenedFor{"mi300x", "mi300x"};
        });
    benchmark::DoNotOptimize(read.readings.data());
  }
  state.SetItemsProcessed(state.iterations() * rows);
  std::filesystem::remove(file);
}
BENCHMARK_CAPTURE(BM_Read, gemms, table_of_gemms)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Read, runs_with_lookups, table_of_runs)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Read, rocprofv3_kernel_trace, trace_of_kernels)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Read, pytorch_profiler, trace_of_pytorch)->Unit(benchmark::kMillisecond);

}  // namespace
