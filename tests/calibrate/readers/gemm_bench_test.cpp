// What rocblas-bench and hipblaslt-bench print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/calibrate/readers/log_sample.h"

namespace c3sim::calibrate {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view rocblas = "rocblas-bench";
constexpr std::string_view hipblaslt = "hipblaslt-bench";

const std::string command = "+ rocblas-bench -f gemm -r bf16_r -m 4096\n";
const std::string gemm_heads = "transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,ldd,rocblas-Gflops,us\n";
// 2 * 4096^3 flop in 250 us: 549755.8 Gflop/s.
const std::string gemm_row = "N,N,4096,4096,4096,1,4096,0,4096,4096,4096,549755.8,250\n";

Reading read_gemms(const std::string& text) { return read_as(rocblas, text, "folder/f.txt"); }

// gemm_kernels_hipblaslt_tn.csv: 332269 Gflop/s, 29.08 us.
TEST(GemmBench, ReadsTheSampleOfHipblaslt) {
  const Reading reading = read_as(hipblaslt, sample("gemm_bench/hipblaslt_bench.txt"));
  EXPECT_EQ(faults_of(reading), "");
  ASSERT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(words_of_trial(reading, 0), "gemm 2048x1152x2048");
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 29.084e-6);
  EXPECT_EQ(reading.measurements[0].seen[0].figure, study::Figure::kernel_time);
  EXPECT_EQ(reading.measurements[0].assignments, std::vector<std::string>{"gpu.gemm.library=hipblaslt"});
  EXPECT_EQ(reading.measurements[0].group, "GEMM of hipBLASLt, TN");
  EXPECT_EQ(reading.gpu, "AMD Instinct MI300X gfx942");
  EXPECT_EQ(left_out_of(reading), "f.log:13: its type is f16_r: GEMMs of bf16 have a model\n");
}

TEST(GemmBench, ReadsTheSampleOfRocblas) {
  const Reading reading = read_as(rocblas, sample("gemm_bench/rocblas_bench.txt"));
  EXPECT_EQ(faults_of(reading), "");
  ASSERT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(words_of_trial(reading, 0), "gemm 8192x8192x8192");
  EXPECT_DOUBLE_EQ(seen_in(reading, 0), 2000e-6);
  EXPECT_EQ(reading.measurements[0].assignments, std::vector<std::string>{"gpu.gemm.library=rocblas_nt"});
}

// Types differ by a factor of two and more in time: none is guessed.
TEST(GemmBench, AsksForATypeThatNobodySaid) {
  const Reading reading = read_gemms(gemm_heads + gemm_row);
  EXPECT_EQ(reading.measurements.size(), 0u);
  EXPECT_EQ(faults_of(reading),
            "folder/f.txt:2:1: a_type: the type of the matrices is not said: a line above it with the command that ran "
            "(rocblas-bench ... -r bf16_r) is accepted\n");
  EXPECT_EQ(read_gemms(command + gemm_heads + gemm_row).measurements.size(), 1u);
}

TEST(GemmBench, LeavesOutWhatHasNoModel) {
  const std::string batched = "transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,batch_count,rocblas-Gflops,us\n";
  EXPECT_EQ(left_out_of(read_gemms(with(command, "bf16_r", "f32_r") + gemm_heads + gemm_row)),
            "f.txt:3: its type is f32_r: GEMMs of bf16 have a model\n");
  EXPECT_EQ(left_out_of(read_gemms(command + batched + "N,N,4096,4096,4096,1,4096,0,4096,4096,2,1,250\n")),
            "f.txt:3: batched\n");
  EXPECT_EQ(left_out_of(read_gemms(command + gemm_heads + with(gemm_row, "N,N", "T,N"))),
            "f.txt:3: rocBLAS's kernels for TN are not known: no table of them was measured\n");
}

TEST(GemmBench, RefusesARateThatSizesAndTimeDoNotMake) {
  const Reading reading = read_gemms(command + gemm_heads + with(gemm_row, ",250", ",25") + gemm_row);
  EXPECT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(
      faults_of(reading),
      "folder/f.txt:3:44: rocblas-Gflops: 549755.8 Gflop/s, where sizes and time make 5497558.1: columns that were "
      "mixed up?\n");
}

TEST(GemmBench, RefusesNumbersThatAreNoneAndRowsThatAreCut) {
  const auto fault_of_cell = [](std::string_view old_part, std::string_view new_part) {
    return faults_of(read_gemms(command + gemm_heads + with(gemm_row, old_part, new_part)));
  };
  EXPECT_THAT(fault_of_cell(",250", ",nan"), HasSubstr("f.txt:3:53: us: 'nan' is not a"));
  EXPECT_THAT(fault_of_cell(",250", ",-250"), HasSubstr("us: '-250' cannot be"));
  EXPECT_THAT(fault_of_cell("4096", "0"), HasSubstr("M: '0' must lie between 1 and 16777216"));
  EXPECT_THAT(fault_of_cell("549755.8,", ""), HasSubstr("12 cells where the columns are 13"));
  EXPECT_THAT(faults_of(read_gemms(command + gemm_heads + "N,N,4096,4096,4096,1,4096,0,4096,4096,4096,549755.8,25")),
              HasSubstr("the row is cut off: an end of line is accepted behind it"));
  EXPECT_THAT(faults_of(read_gemms(command + with(gemm_heads, ",us", ",time") + gemm_row)),
              HasSubstr("us: this column is missing"));
}

// With several solutions the fastest is printed again behind the others.
TEST(GemmBench, ReadsTheWinnerOfSeveralSolutions) {
  const std::string slow = with(with(gemm_row, "549755.8", "274877.9"), ",250", ",500");
  const Reading reading = read_gemms(command + gemm_heads + slow + gemm_row + "Winner:\n" + gemm_heads + gemm_row);
  ASSERT_EQ(reading.measurements.size(), 1u);
  EXPECT_EQ(reading.measurements[0].line, 7);
  EXPECT_EQ(left_out_of(reading),
            "f.txt:3: a solution that was tried: the winner is read\n"
            "f.txt:4: a solution that was tried: the winner is read\n");
}

TEST(GemmBench, SurvivesDamage) {
  expect_prefixes_read_the_same(rocblas, sample("gemm_bench/rocblas_bench.txt"));
  expect_prefixes_read_the_same(hipblaslt, sample("gemm_bench/hipblaslt_bench.txt"));
  expect_damage_is_survived(rocblas, command + gemm_heads + gemm_row);
}

}  // namespace
}  // namespace c3sim::calibrate
