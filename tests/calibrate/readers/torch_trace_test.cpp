// Traces of PyTorch's profiler.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/calibrate/readers/log_sample.h"

namespace c3sim::calibrate {
namespace {

using study::Figure;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view torch_profiler = "PyTorch profiler";

Reading read_torch(const std::string& events) {
  return read_as(torch_profiler, "{\"traceEvents\": [\n" + events + "\n]}", "folder/f.json");
}
std::string op(int id, const std::string& name, const std::string& types, const std::string& dims) {
  return fmt::format(
      R"({{"ph":"X","cat":"cpu_op","name":"{}","ts":1,"dur":1,"args":{{"External id":{},"Input type":{},"Input Dims":{}}}}},)",
      name, id, types, dims);
}
std::string kernel(int id, double begin, double duration, const std::string& name = "Cijk") {
  return fmt::format(
      R"({{"ph":"X","cat":"kernel","name":"{}","ts":{},"dur":{},"args":{{"External id":{},"device":0}}}})", name, begin,
      duration, id);
}
const std::string bf16 = R"(["c10::BFloat16","c10::BFloat16"])";

// Rows of PyTorch are columns of BLAS: (4096 x 8192) (8192 x 28672) is 28672 x 4096 x 8192. The all-gather is one of
// rccl_fsdp70b_tracelens.csv: 106956800 elements of two bytes of each of eight GPUs.
TEST(TorchTrace, ReadsTheSample) {
  const Reading reading = read_as(torch_profiler, sample("torch/trace.json"));
  EXPECT_EQ(faults_of(reading), "");
  EXPECT_EQ(reading.gpu, "AMD Instinct MI300X");
  ASSERT_EQ(reading.measurements.size(), 3u);
  const auto& gather = std::get<study::CollectiveTrial>(reading.measurements[0].trial).spec;
  EXPECT_EQ(gather.kind, models::CollectiveKind::all_gather);
  EXPECT_EQ(gather.bytes.value(), 1711308800.0);
  EXPECT_EQ(gather.gpus, 8);
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 6065.406e-6);
  EXPECT_EQ(reading.measurements[0].role, Role::predict);
  EXPECT_TRUE(reading.measurements[0].holds_waits);
  EXPECT_FALSE(reading.measurements[1].holds_waits);
  EXPECT_EQ(words_of_trial(reading, 1), "gemm 28672x4096x8192");
  EXPECT_DOUBLE_EQ(seen_in(reading, 1), 3200e-6);
  EXPECT_EQ(words_of_trial(reading, 2), "gemm 8192x4096x28672");
  EXPECT_EQ(reading.measurements[2].role, Role::unlisted);
  EXPECT_THAT(
      left_out_of(reading),
      AllOf(HasSubstr(
                "f.log:30: 'rccl reduce_scatter of 1671200KiB over 8...', 1 of 1 times: ran beside other work on its "
                "GPU\n"),
            HasSubstr("f.log:32: 'gemm 28672x4096x8192', 1 of 2 times: ran beside other work on its GPU\n"),
            HasSubstr("f.log:24: run 1 times: aten::mm of c10::Half: GEMMs of bf16 have a model\n")));
  ASSERT_EQ(reading.named.size(), 1u);
  EXPECT_THAT(reading.named[0].name, HasSubstr("vectorized_elementwise_kernel"));
}

TEST(TorchTrace, RunsOfOneShapeAreOneMeasurement) {
  const Reading reading =
      read_torch(op(1, "aten::mm", bf16, "[[64,32],[32,16]]") + op(2, "aten::bmm", bf16, "[[1,64,32],[1,32,16]]") +
                 op(3, "aten::mm", bf16, "[[64,32],[32,16]]") + kernel(1, 100, 10) + "," + kernel(2, 200, 12) + ",\n" +
                 kernel(3, 300, 14));
  ASSERT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(words_of_trial(reading, 0), "gemm 16x64x32");
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 12e-6);
  EXPECT_NEAR(*reading.measurements[0].seen[0].low, 10.4e-6, 1e-12);
  EXPECT_NEAR(*reading.measurements[0].seen[0].high, 13.6e-6, 1e-12);
  EXPECT_EQ(reading.measurements[0].seen[0].figure, Figure::kernel_time);
}

TEST(TorchTrace, KnowsWhichRankItIsOf) {
  const auto rank_of = [](const std::string& info) {
    return read_as(torch_profiler, "{" + info + "\"traceEvents\": [\n" + kernel(1, 100, 10) + "\n]}").rank;
  };
  EXPECT_EQ(rank_of(R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},)"), 3);
  EXPECT_EQ(rank_of(R"("distributedInfo": {"rank": -1},)"), std::nullopt);
  EXPECT_EQ(rank_of(""), std::nullopt);
}

// A GEMM in pieces along k and the kernel that adds them up: 10 us, 1 us of nothing, 4 us.
TEST(TorchTrace, KernelsOfOneOperatorAreOneRun) {
  const Reading reading =
      read_torch(op(1, "aten::mm", bf16, "[[64,32],[32,16]]") + kernel(1, 100, 10) + "," + kernel(1, 111, 4));
  ASSERT_EQ(reading.measurements.size(), 1u);
  EXPECT_NEAR(seen_in(reading, 0), 15e-6, 1e-12);
}

TEST(TorchTrace, SaysWhatIsMissing) {
  const auto why = [](const std::string& name, const std::string& types, const std::string& dims) {
    return left_out_of(read_torch(op(1, name, types, dims) + kernel(1, 100, 10)));
  };
  EXPECT_THAT(why("aten::mm", "[]", "[]"), HasSubstr("record_shapes=True of the profiler is accepted"));
  EXPECT_THAT(why("aten::bmm", bf16, "[[8,64,32],[8,32,16]]"), HasSubstr("batched"));
  EXPECT_THAT(why("aten::mm", bf16, "[[64,32],[33,16]]"), HasSubstr("aten::mm of sides that do not fit"));
  EXPECT_THAT(why("aten::mm", bf16, "[[64,0],[0,16]]"), HasSubstr("aten::mm of a side of 0"));
  EXPECT_THAT(why("aten::_scaled_mm", R"(["c10::Float8_e4m3fnuz"])", "[[64,32],[32,16]]"),
              HasSubstr("aten::_scaled_mm of c10::Float8_e4m3fnuz: GEMMs of bf16 have a model"));
}

std::string collective(const std::string& arguments) {
  return R"({"ph":"X","cat":"kernel","name":"ncclDevKernel","ts":1,"dur":9,"args":{"device":0,)" + arguments + "}}";
}

TEST(TorchTrace, CollectivesNeedTheirSize) {
  const std::string whole =
      R"("Collective name":"allreduce","In msg nelems":1024,"Out msg nelems":1024,"Group size":8,"dtype":"Float")";
  const Reading reading = read_torch(collective(whole));
  ASSERT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(words_of_trial(reading, 0), "rccl all_reduce of 4KiB over 8 GPUs");
  const auto why = [](const std::string& arguments) { return left_out_of(read_torch(collective(arguments))); };
  EXPECT_THAT(why(R"("Collective name":"allreduce","In msg nelems":1024)"),
              HasSubstr("'In msg nelems', 'Out msg nelems', 'dtype' and 'Group size' are accepted"));
  EXPECT_THAT(why(R"("Collective name":"all_to_allv","In msg nelems":1)"), HasSubstr("all_to_allv has no model"));
  std::string odd = whole;
  odd.replace(odd.find("Float"), 5, "Quint4");
  EXPECT_THAT(why(odd), HasSubstr("Quint4 is no known type"));
  std::string alone = whole;
  alone.replace(alone.find("size\":8"), 7, "size\":1");
  EXPECT_THAT(why(alone), HasSubstr("a group of 1"));
}

TEST(TorchTrace, RefusesTimesThatAreNone) {
  const Reading reading =
      read_torch(kernel(1, 100, 10) + R"(,{"ph":"X","cat":"kernel","name":"a","ts":"x","dur":1},)" +
                 R"({"ph":"X","cat":"kernel","name":"a","ts":1,"dur":-1},{"ph":"X","cat":"kernel","name":"a"})");
  EXPECT_EQ(reading.named.size(), 1u);
  EXPECT_THAT(faults_of(reading), AllOf(HasSubstr("traceEvents[1].ts: 'x' is not a"),
                                        HasSubstr("traceEvents[2].dur: '-1' must lie between 0 and 3600000000"),
                                        HasSubstr("traceEvents[3]: ts and dur, in microseconds, are accepted")));
}

TEST(TorchTrace, ReadsWhatAnInterruptedWriteLeft) {
  const std::string text = sample("torch/trace.json");
  const Reading reading = read_as(torch_profiler, text.substr(0, text.find("Cijk_Ailk_Bljk_HHS")));
  EXPECT_EQ(reading.measurements.size(), 2u);
  EXPECT_THAT(faults_of(reading), HasSubstr("JSON is accepted"));
}

TEST(TorchTrace, SurvivesDamage) {
  expect_damage_is_survived(
      torch_profiler, "{\"traceEvents\":[" + op(1, "aten::mm", bf16, "[[64,32],[32,16]]") + kernel(1, 100, 10) + "]}");
}

}  // namespace
}  // namespace c3sim::calibrate
