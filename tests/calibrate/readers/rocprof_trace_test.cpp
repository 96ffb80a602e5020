// Traces and counters of rocprofv3, and the lists of labels beside them.
#include "calibrate/readers/rocprof_trace.h"

#include "tests/calibrate/readers/log_sample.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

using study::Figure;

const std::filesystem::path samples = std::filesystem::path(C3SIM_SOURCE_DIR) / "tests/data/rocprofv3";
constexpr std::string_view kernel_trace = "rocprofv3 kernel trace";
constexpr std::string_view counters = "rocprofv3 counters";

const std::string kernel_heads = "\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n";
std::string dispatch(int agent, const std::string& kernel, int begin, int end) {
  return "\"KERNEL_DISPATCH\"," + std::to_string(agent) + ",\"" + kernel + "\"," + std::to_string(begin) + "," +
         std::to_string(end) + "\n";
}

// Runs of 1.90, 1.92 and 1.91 ms, the last beside another kernel: the mean of the two that were alone is their median,
// and nine tenths of the way between them their 90th percentile.
TEST(RocprofTrace, LabelsTellWhatKernelsWorkedOn) {
  const Reading reading = Reader().read(samples / "kernel_trace.csv");
  EXPECT_EQ(faults_of(reading), "");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(words_of_trial(reading, 0), "gemm 8192x8192x8192");
  EXPECT_EQ(reading.measurements[0].seen[0].figure, Figure::kernel_time);
  EXPECT_NEAR(seen_in(reading, 0), 1.91e-3, 1e-12);
  EXPECT_NEAR(*reading.measurements[0].seen[0].high, 1.918e-3, 1e-12);
  EXPECT_EQ(reading.measurements[0].role, Role::unlisted);
  EXPECT_EQ(words_of_trial(reading, 1), "rccl on 56 channels all_reduce of 512MiB over all GPUs");
  EXPECT_EQ(reading.measurements[1].role, Role::predict) << "it may have waited for other GPUs";
  EXPECT_EQ(
      left_out_of(reading),
      "kernel_trace.csv:4: 'gemm 8192x8192x8192', 1 of 3 times: ran beside other work on its GPU\n"
      "kernel_trace.csv:5: 'void add_kernel<float, 4>(float*, float*...', 1 of 1 times: ran beside other work on its "
      "GPU\n");
  EXPECT_NEAR(reading.left_out[0].seconds, 1.91e-3, 1e-12);
}

// 64 MiB in 1.388 and 1.390 ms, of which the median is 1.389: 48.3 GB/s, as transferbench_examples_mi300x.csv has it.
TEST(RocprofTrace, CopiesAreRates) {
  const Reading reading = Reader().read(samples / "memory_copy_trace.csv");
  EXPECT_EQ(faults_of(reading), "");
  ASSERT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(words_of_trial(reading, 0), "copy gpu0 to gpu1 of 64MiB");
  EXPECT_EQ(reading.measurements[0].seen[0].figure, Figure::rate);
  EXPECT_NEAR(seen_in(reading, 0), 67108864 / 1.389e-3, 1.0);
  EXPECT_EQ(left_out_of(reading),
            "memory_copy_trace.csv:2: 'MEMORY_COPY_HOST_TO_DEVICE Agent 0 to Ag...', run 1 times: what it worked on is "
            "not said: a line of labels.csv beside the file is accepted\n");
}

// 128 B to a line of the L2.
TEST(RocprofTrace, CountersOfTheL2AreBytes) {
  const Reading reading = Reader().read(samples / "counter_collection.csv");
  EXPECT_EQ(faults_of(reading), "");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(reading.measurements[0].seen[0].figure, Figure::l2_hit_bytes);
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 59563486.0 * 128);
  EXPECT_EQ(reading.measurements[1].seen[0].figure, Figure::l2_miss_bytes);
  EXPECT_THAT(left_out_of(reading), HasSubstr("SQ_WAVES, run 1 times: a counter that no figure stands for"));
}

TEST(RocprofTrace, WithoutALabelNothingIsGuessed) {
  const Reading reading = Reader().read_text(kernel_heads + dispatch(2, "Cijk_MT256x256x64", 1000, 2000), "f.csv");
  EXPECT_EQ(reading.measurements.size(), 0u);
  EXPECT_EQ(
      left_out_of(reading),
      "f.csv:2: 'Cijk_MT256x256x64', run 1 times: what it worked on is not said: a line of labels.csv beside the file "
      "is accepted\n");
}

// Two GPUs whose streams are 1 and 2, a copy to the first, and the call that launched its kernel: one run, whose clock
// is that of all files.
TEST(RocprofRun, IsWhatAllItsTracesTell) {
  const std::string kernels =
      "Kind,Agent_Id,Stream_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n"
      "K,Agent 4,1,Cijk_a,7,1000005000,1000009000\n"
      "K,Agent 5,2,Cijk_a,8,1000006000,1000009500\n";
  const std::string copies =
      "Kind,Direction,Stream_Id,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
      "M,MEMORY_COPY_HOST_TO_DEVICE,1,Agent 0,Agent 4,6,1000000500,1000004000\n"
      "M,MEMORY_COPY_HOST_TO_DEVICE,1,Agent 0,Agent 4,6,1000000500,7\n";
  const std::string calls =
      "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
      "HIP_RUNTIME_API,hipLaunchKernel,1,1,7,1000000000,1000001000\n";
  const std::vector<std::string_view> texts{kernels, copies, calls};
  LogReading log("kernel_trace.csv");
  const Profile profile = read_rocprof_run(texts, log, {});
  ASSERT_EQ(profile.work.size(), 3u);
  EXPECT_EQ(profile.streams[profile.work[0].stream].name(), "gpu4 stream 1");
  EXPECT_EQ(profile.work[0].kind, WorkKind::host_copy);
  EXPECT_EQ(profile.work[1].stream, profile.work[0].stream);
  EXPECT_EQ(profile.work[1].kind, WorkKind::matrix);
  EXPECT_EQ(profile.streams[profile.work[2].stream].name(), "gpu5 stream 2");
  EXPECT_EQ(profile.end() - profile.begin(), std::chrono::nanoseconds(9000));
  ASSERT_TRUE(profile.work[1].launch());
  EXPECT_EQ(profile.work[1].begin - profile.calls[*profile.work[1].launch()].begin, std::chrono::nanoseconds(5000));
  EXPECT_EQ(profile.misunderstood.at("rows at fault, which c3sim read shows").events, 1u);
  EXPECT_EQ(log.faults(), 1u);
  EXPECT_THROW(static_cast<void>(read_rocprof_run(std::vector<std::string_view>{calls}, log, {})), sim::ConfigError);
}

TEST(RocprofTrace, SurvivesDamage) {
  expect_damage_is_survived(kernel_trace, kernel_heads + dispatch(2, "a", 1000, 2000));
  expect_damage_is_survived(counters, "Kernel_Name,Counter_Name,Counter_Value\na,TCC_HIT_sum,5\n");
}

}  // namespace
}  // namespace c3sim::calibrate
