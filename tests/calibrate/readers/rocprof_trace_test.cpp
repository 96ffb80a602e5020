// Tests the reading of traces and counters of rocprofv3, and of the lists of labels that go with them.
#include "calibrate/readers/profile_reading.h"
#include "tests/calibrate/readers/log_sample.h"
#include "tests/testing.h"

namespace c3sim::calibrate {
namespace {

constexpr std::string_view kernel_trace = "rocprofv3 kernel trace";
constexpr std::string_view counters = "rocprofv3 counters";

const std::string kernel_heads = "\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n";
std::string dispatch(int agent, const std::string& kernel, int begin, int end) {
  return "\"KERNEL_DISPATCH\"," + std::to_string(agent) + ",\"" + kernel + "\"," + std::to_string(begin) + "," +
         std::to_string(end) + "\n";
}

// The run has two GPUs whose streams are 1 and 2, a copy to the first, and the call that launched its kernel: all files
// make one run with one clock.
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
