#include "models/platform/platform_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/config_folders.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {
namespace {

using ::testing::HasSubstr;

TEST(GemmLibraries, ShareTheirLastTilesOnlyWhereWorkgroupsStay) {
  try {
    read_platform(platform_file("mi355x"),
                  {"gpu.gemm.library=opus_gemm_a2a_persistent", "gpu.gemm.libraries[2].schedule=tile_per_workgroup"});
    FAIL();
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("shares_last: asks for workgroups that stay on their CUs: schedule persistent"));
  }
}

TEST(Mi300xFile, EveryParameterTellsItsSourceAndKind) {
  sim::Config config = platform_config(mi300x_file());
  PlatformSpec::read(config);
  for (const sim::Parameter& parameter : config.parameters()) {
    const bool is_label = parameter.path == "name" || parameter.path.ends_with(".name");
    const bool is_pair = parameter.path.ends_with(".first") || parameter.path.ends_with(".second");
    if (is_label || is_pair) continue;
    EXPECT_FALSE(parameter.source.empty()) << parameter.path;
    EXPECT_FALSE(parameter.kind.empty()) << parameter.path;
    const bool uncertain = parameter.kind == "fitted" || parameter.kind == "assumed";
    const bool is_word = parameter.value.find_first_of("0123456789") == std::string::npos;
    EXPECT_TRUE(!uncertain || is_word || !parameter.low.empty()) << parameter.path;
  }
}

TEST(PlatformSpec, MayGiveEveryFormatOfProductsARate) {
  sim::Config over = sim::Config::from_text(
      "name: own\ngpu: {gemm: {precisions: {fp16: {flops_per_cycle_per_cu: 512, efficiency: 1, energy: 1}}}}\n",
      "own.yaml");
  over.stand_on(platform_config(std::filesystem::path(C3SIM_SOURCE_DIR "/configs/platforms/mi300x.yaml"), folders));
  const GemmSpec gemm = PlatformSpec::read(over, folders).gpu.gemm;
  EXPECT_EQ(gemm.precision(Dtype::fp16).value().flops_per_cycle_per_cu, 512.0);
  EXPECT_NE(gemm.precision(Dtype::bf16).value().flops_per_cycle_per_cu, 512.0);
}

// A highest clock below today's is a question that can be asked: matrix pipes keep to it as well.
TEST(PlatformSpec, AHighestClockBelowTheMatrixClockHoldsForMatrixPipesToo) {
  for (const std::string name : {"mi300x", "h200", "mi355x"}) {
    const PowerSpec power = read_platform(platform_file(name), {"gpu.power.highest_clock=1500 MHz"}).gpu.power;
    EXPECT_EQ(power.matrix_clock, sim::Hertz(1500e6)) << name;
  }
  sim::Config config = platform_config(mi300x_file());
  config.set("gpu.power.highest_clock=1500 MHz");
  PlatformSpec::read(config);
  ASSERT_FALSE(config.warnings().empty());
  EXPECT_THAT(config.warnings().front().what, HasSubstr("lies above highest_clock"));
}

// A library's row says only what it differs in.
TEST(AttentionLibraries, DifferInWhatTheySay) {
  const PlatformSpec cudnn = h200();
  const PlatformSpec flash =
      read_platform(platform_file("h200"), std::vector<std::string>{"gpu.attention.library=flash_attention_3"});
  EXPECT_FALSE(cudnn.gpu.attention->next_free);
  EXPECT_TRUE(flash.gpu.attention->next_free);
  EXPECT_GT(flash.gpu.attention->tile_cycles, cudnn.gpu.attention->tile_cycles);
  EXPECT_EQ(flash.gpu.attention->score_flops, cudnn.gpu.attention->score_flops);
}

// 56 channels, and of all-to-all the next power of two, one to a CU; ConCCL's all-gather has 64, two to a CU.
TEST(PlatformSpec, AGenerationSaysWhatTheKernelsOfTheLibraryAre) {
  const auto room = [](const PlatformSpec& spec, CollectiveKind kind) {
    return spec.gpu.slots(1, spec.rccl.collective(kind).channel);
  };
  for (const auto& [kind, channels] :
       {std::pair(CollectiveKind::all_gather, 56), std::pair(CollectiveKind::all_to_all, 64)}) {
    EXPECT_EQ(mi300x().rccl.channels(kind, {}), channels);
    EXPECT_EQ(room(mi300x(), kind), 1);
  }
  const PlatformSpec conccl = read_platform(platform_file("mi300x_conccl"));
  EXPECT_EQ(conccl.rccl.generation, "rccl_2024");
  EXPECT_EQ(conccl.rccl.channels(CollectiveKind::all_gather, {}), 64);
  EXPECT_EQ(room(conccl, CollectiveKind::all_gather), 2);
  EXPECT_EQ(conccl.rccl.channels(CollectiveKind::all_to_all, {}), 56);
  EXPECT_EQ(room(conccl, CollectiveKind::all_to_all), 1);
}

TEST(PlatformSpec, AWhatIfReachesTheModels) {
  const PlatformSpec spec =
      mi300x({"fabric.link_rate=64 GB/s", "gpu.memory.hbm.peak_rate=8 TB/s", "gpu.cus_per_xcd=40"});
  EXPECT_EQ(spec.fabric.link_rate, sim::BytesPerSecond(64e9));
  EXPECT_EQ(spec.gpu.memory.hbm_rate, sim::BytesPerSecond(8e12));
  EXPECT_EQ(spec.gpu.cus(), 320);
}

}  // namespace
}  // namespace c3sim::models
