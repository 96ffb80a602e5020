#include "models/platform/platform_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/platform/platform_config.h"
#include "models/platform/sdma_spec.h"
#include "tests/config_folders.h"
#include "tests/models/model_fixture.h"
#include "tests/models/sdma/sdma_fixture.h"
#include "tests/text_file.h"

namespace c3sim::models {
namespace {

using ::testing::HasSubstr;

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

// A user may ask for a highest clock below today's matrix clock: matrix pipes then keep to it as well.
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

// The row of a library states only its differences from the platform's values.
TEST(AttentionLibraries, DifferInWhatTheySay) {
  const PlatformSpec cudnn = h200();
  const PlatformSpec flash =
      read_platform(platform_file("h200"), std::vector<std::string>{"gpu.attention.library=flash_attention_3"});
  EXPECT_FALSE(cudnn.gpu.attention->next_free);
  EXPECT_TRUE(flash.gpu.attention->next_free);
  EXPECT_GT(flash.gpu.attention->tile_cycles, cudnn.gpu.attention->tile_cycles);
  EXPECT_EQ(flash.gpu.attention->score_flops, cudnn.gpu.attention->score_flops);
}

// Collectives have 56 channels, all-to-all 64 (a power of two), one per CU; ConCCL's all-gather has 64, two per CU.
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

// The samples in tests/data/samples show what is read from a file based on another one.

struct Listing {
  std::map<std::string, sim::Parameter> parameters;
  std::string resolved;
};

Listing list(sim::Config config) {
  PlatformSpec::read(config, folders);
  Listing listing;
  for (const sim::Parameter& parameter : config.parameters()) listing.parameters[parameter.path] = parameter;
  listing.resolved = config.resolved();
  return listing;
}

Listing listed_file(const std::string& text) {
  return list(platform_config(written("platform_spec_test.yaml", text), folders));
}

TEST(PlatformConfig, WhatIsResolvedIsCompleteAndReadsBackTheSame) {
  const Listing mine = listed_file("base: mi300x\nname: mine\nfabric: {latency: 600 ns}\ngpus: 4\n");
  // The text has no base and no folder with defaults: it holds every value itself.
  const Listing back = list(sim::Config::from_text(mine.resolved, "platform.yaml", sim::Sources::required));
  std::size_t compared = 0;
  for (const auto& [path, parameter] : mine.parameters) {
    if (path == "base") continue;
    ASSERT_TRUE(back.parameters.contains(path)) << path;
    sim::Parameter same = parameter;
    same.file = back.parameters.at(path).file;
    same.line = back.parameters.at(path).line;
    EXPECT_EQ(same, back.parameters.at(path)) << path;
    ++compared;
  }
  EXPECT_EQ(compared, back.parameters.size());
  EXPECT_EQ(back.resolved, mine.resolved);
}

// A user's own platform need not state what-ifs or how collectives that it does not need are done.
TEST(PlatformConfig, DefaultsStandInForWhatIfsAndUnmeasuredCollectives) {
  const std::string text = content(*named_platform("mi300x", folders));
  const std::size_t begin = text.find("    reduce_scatter:\n");
  ASSERT_NE(begin, std::string::npos);
  const Listing own = listed_file(text.substr(0, begin));
  for (const char* path : {"gpu.memory.collective_channels", "gpu.memory.collectives_first", "gpu.sdma.reduction",
                           "gpu.sdma.batched_doorbell", "gpu.sdma.gpu_initiated.doorbell",
                           "rccl.collectives.broadcast.buffer_share", "rccl.collectives.broadcast.steps_per_peer"}) {
    ASSERT_TRUE(own.parameters.contains(path)) << path;
    const sim::Parameter& parameter = own.parameters.at(path);
    EXPECT_THAT(parameter.file, ::testing::EndsWith("platforms/defaults.yaml")) << path;
    EXPECT_FALSE(parameter.source.empty()) << path;
    EXPECT_FALSE(parameter.kind.empty()) << path;
  }
}

TEST(PlatformConfig, TheDefaultsAreNoPlatform) {
  EXPECT_THAT(platform_names(folders), ::testing::Not(::testing::Contains("defaults")));
  EXPECT_EQ(named_platform("defaults", folders), std::nullopt);
}

TEST(SdmaSpec, FewerEnginesAreRecommendedInTurn) {
  SdmaSpec sdma = CopyPlatform::mi300x().sdma;
  sdma.engines = 8;  // 2 to 7 serve the links
  for (int distance = 1; distance <= 6; ++distance)
    EXPECT_EQ(sdma.recommended_engine(3, (3 + distance) % 8), 1 + distance);
  EXPECT_EQ(sdma.recommended_engine(3, 2), 2) << "the seventh peer";
}

// The map of gfx942 gives each of the seven peers an engine of its own out of engines 2, 4, ... 14.
TEST(SdmaSpec, WithoutAnEngineMapPeersTakeAsManyEnginesAsTheMapOfTheMi300xHas) {
  const SdmaSpec with_map = mi300x().gpu.sdma;
  SdmaSpec without = with_map;
  without.engine_map.clear();
  for (int from = 0; from < 8; ++from) {
    std::set<int> mapped;
    std::set<int> derived;
    for (int to = 0; to < 8; ++to) {
      if (to == from) continue;
      mapped.insert(with_map.recommended_engine(from, to));
      derived.insert(without.recommended_engine(from, to));
    }
    EXPECT_EQ(derived, mapped);
  }
}

// Fourteen link engines serve fifteen peers: one engine serves two peers, the others one each.
TEST(SdmaSpec, ANodeThatIsLargerThanItsEngineMapSharesEnginesInTurn) {
  sim::Config config = platform_config(mi300x_file());
  config.set("gpus=16");
  const SdmaSpec sdma = PlatformSpec::read(config).gpu.sdma;
  for (int from = 0; from < 16; ++from) {
    std::map<int, int> peers;
    for (int to = 0; to < 16; ++to)
      if (to != from) ++peers[sdma.recommended_engine(from, to)];
    EXPECT_EQ(peers.size(), 14u);
    EXPECT_EQ(peers.begin()->first, 2);
    EXPECT_EQ(peers.rbegin()->first, 15);
    for (const auto& [engine, shared_by] : peers) EXPECT_LE(shared_by, 2) << engine;
  }
  ASSERT_EQ(config.warnings().size(), 1u);
  EXPECT_EQ(config.warnings().front().what,
            "gpu.sdma.engine_map: is for 8 GPUs: each of the 16 takes the engines of its links in turn for its peers");
}

TEST(SdmaSpec, ASmallerNodeHasTheFirstRowsAndColumnsOfTheEngineMap) {
  const std::vector<std::vector<int>> whole = mi300x().gpu.sdma.engine_map;
  const std::vector<std::vector<int>> part = mi300x({"gpus=4"}).gpu.sdma.engine_map;
  ASSERT_EQ(part.size(), 4u);
  for (std::size_t from = 0; from < 4; ++from) {
    EXPECT_EQ(part[from], std::vector<int>(whole[from].begin(), whole[from].begin() + 4));
  }
}

}  // namespace
}  // namespace c3sim::models
