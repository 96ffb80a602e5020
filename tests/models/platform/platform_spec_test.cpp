#include "models/platform/platform_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/platform/platform_config.h"
#include "models/platform/sdma_spec.h"
#include "sim/config/config_error.h"
#include "tests/config_fault.h"
#include "tests/config_folders.h"
#include "tests/models/model_fixture.h"
#include "tests/models/sdma/sdma_fixture.h"
#include "tests/text_file.h"

namespace c3sim::models {
namespace {

using ::testing::HasSubstr;

TEST(GemmLibraries, ShareTheirLastTilesOnlyWhereWorkgroupsStay) {
  const std::vector<std::string> assignments{"gpu.gemm.library=opus_gemm_a2a_persistent",
                                             "gpu.gemm.libraries[2].schedule=tile_per_workgroup"};
  EXPECT_THAT(config_fault([&] { read_platform(platform_file("mi355x"), assignments); }),
              HasSubstr("shares_last: asks for workgroups that stay on their CUs: schedule persistent"));
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

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::Not;

class PlatformConfig : public ::testing::Test {
 protected:
  PlatformConfig() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  struct Listing {
    PlatformSpec spec;
    std::map<std::string, sim::Parameter> parameters;
    std::string resolved;
  };
  static Listing list(sim::Config config) {
    Listing listing;
    listing.spec = PlatformSpec::read(config, folders);
    for (const sim::Parameter& parameter : config.parameters()) listing.parameters[parameter.path] = parameter;
    listing.resolved = config.resolved();
    return listing;
  }
  Listing read(const std::string& name) const { return list(platform_config(folder_ / name, folders)); }

 private:
  const fs::path folder_ = fs::path(testing::TempDir()) / "platform_config";
};

TEST_F(PlatformConfig, AFileWithABaseSaysOnlyWhatDiffers) {
  write("mine.yaml",
        "base: mi300x\n"
        "name: mine\n"
        "gpu: {power: {cap: {value: 600 W, source: my board, kind: measured}}}\n");
  const Listing mine = read("mine.yaml");
  const PlatformSpec mi300x = list(platform_config(*named_platform("mi300x", folders), folders)).spec;
  EXPECT_EQ(mine.spec.name, "mine");
  EXPECT_EQ(mine.spec.gpu.power.cap, sim::Watts(600.0));
  EXPECT_EQ(mine.spec.gpu.power.idle, mi300x.gpu.power.idle);
  EXPECT_EQ(mine.spec.gpu.gemm.library.kernels.size(), mi300x.gpu.gemm.library.kernels.size());
  EXPECT_EQ(mine.parameters.at("base").value, "mi300x");
  const sim::Parameter& cap = mine.parameters.at("gpu.power.cap");
  EXPECT_EQ(cap.source, "my board");
  EXPECT_EQ(cap.kind, "measured");
  EXPECT_THAT(cap.file, EndsWith("/mine.yaml"));
  EXPECT_EQ(cap.line, 3);
  EXPECT_THAT(mine.parameters.at("gpu.power.idle").file, EndsWith("platforms/mi300x.yaml"));
}

TEST_F(PlatformConfig, AValueKeepsItsProvenanceUnlessTheFileSaysOtherwise) {
  write("mine.yaml", "base: mi300x\nfabric:\n  latency: 600 ns\n  link_rate: {range: [40 GB/s, 70 GB/s]}\n");
  const Listing mine = read("mine.yaml");
  const sim::Parameter& latency = mine.parameters.at("fabric.latency");
  EXPECT_EQ(latency.value, "600 ns");
  EXPECT_EQ(latency.kind, "assumed");
  EXPECT_EQ(latency.low, "300 ns");
  EXPECT_THAT(latency.source, HasSubstr("mine.yaml:3:12, instead of 450 ns (about half"));
  const sim::Parameter& rate = mine.parameters.at("fabric.link_rate");
  EXPECT_EQ(rate.value, "48.855 GB/s");
  EXPECT_EQ(rate.low, "40 GB/s");
  EXPECT_THAT(rate.source, HasSubstr("transferbench_p2p_unidir"));
}

TEST_F(PlatformConfig, ListsAreReplaced) {
  write("mine.yaml",
        "base: mi300x\n"
        "fitted_to:\n"
        "  - name: copy\n"
        "    smallest: {value: 1 MiB, source: mine, kind: measured}\n"
        "    largest: {value: 2 MiB, source: mine, kind: measured}\n"
        "gpus: 2\n"
        "gpu:\n  sdma:\n    engine_map: [[-1, 5], [6, -1]]\n");
  const Listing mine = read("mine.yaml");
  EXPECT_EQ(mine.spec.fitted_to.size(), 1u);
  EXPECT_EQ(mine.spec.gpu.sdma.engine_map, (std::vector<std::vector<int>>{{-1, 5}, {6, -1}}));
}

TEST_F(PlatformConfig, BasesFormAChain) {
  write("first.yaml", "base: mi300x\nname: first\ngpus: 4\nhost: {kernel_launch: 5us}\n");
  const fs::path second = write("second.yaml", "base: first.yaml\nname: second\nhost: {kernel_launch: 4us}\n");
  const Listing listing = read("second.yaml");
  EXPECT_EQ(listing.spec.name, "second");
  EXPECT_EQ(listing.spec.gpus, 4);
  EXPECT_EQ(listing.spec.host.kernel_launch, sim::Time(4'000'000));
  write("third.yaml", "base: second\nname: third\n");
  EXPECT_EQ(read("third.yaml").spec.gpus, 4) << "a name is looked for beside the file, too";
}

TEST_F(PlatformConfig, ABaseIsOneFile) {
  write("list.yaml", "base: [mi300x]\n");
  EXPECT_THAT(config_fault([&] { read("list.yaml"); }),
              HasSubstr("list.yaml:1:7: base: the name of a file is due here"));
}

TEST_F(PlatformConfig, WhatIsResolvedIsCompleteAndReadsBackTheSame) {
  write("mine.yaml", "base: mi300x\nname: mine\nfabric: {latency: 600 ns}\ngpus: 4\n");
  const Listing mine = read("mine.yaml");
  // No base and no folder with defaults: all of it stands in the text.
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

// A platform of its own need not know what-ifs, nor how a collective of no interest to it is done.
TEST_F(PlatformConfig, DefaultsStandInForWhatIfsAndUnmeasuredCollectives) {
  const std::string text = content(*named_platform("mi300x", folders));
  const std::size_t begin = text.find("    reduce_scatter:\n");
  ASSERT_NE(begin, std::string::npos);
  write("own.yaml", text.substr(0, begin));
  const Listing own = read("own.yaml");
  for (const char* path : {"gpu.memory.collective_channels", "gpu.memory.collectives_first", "gpu.sdma.reduction",
                           "gpu.sdma.batched_doorbell", "gpu.sdma.gpu_initiated.doorbell",
                           "rccl.collectives.broadcast.buffer_share", "rccl.collectives.broadcast.steps_per_peer"}) {
    ASSERT_TRUE(own.parameters.contains(path)) << path;
    const sim::Parameter& parameter = own.parameters.at(path);
    EXPECT_THAT(parameter.file, EndsWith("platforms/defaults.yaml")) << path;
    EXPECT_FALSE(parameter.source.empty()) << path;
    EXPECT_FALSE(parameter.kind.empty()) << path;
  }
}

TEST_F(PlatformConfig, TheDefaultsAreNoPlatform) {
  EXPECT_THAT(platform_names(folders), Not(testing::Contains("defaults")));
  EXPECT_EQ(named_platform("defaults", folders), std::nullopt);
}

TEST(SdmaSpec, FewerEnginesAreRecommendedInTurn) {
  SdmaSpec sdma = CopyPlatform::mi300x().sdma;
  sdma.engines = 8;  // 2 to 7 serve the links
  for (int distance = 1; distance <= 6; ++distance)
    EXPECT_EQ(sdma.recommended_engine(3, (3 + distance) % 8), 1 + distance);
  EXPECT_EQ(sdma.recommended_engine(3, 2), 2) << "the seventh peer";
}

// The map of gfx942 gives each of the seven peers an engine of its own, of 2, 4, ... 14.
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

// Fifteen peers of fourteen link engines: one engine serves two, the others one each.
TEST(SdmaSpec, ANodeThatIsLargerThanItsEngineMapSharesEnginesInTurn) {
  sim::Config config = platform_config(mi300x_file());
  config.set("gpus=16");
  const SdmaSpec sdma = PlatformSpec::read(config).gpu.sdma;
  for (int from = 0; from < 16; ++from) {
    std::map<int, int> peers;
    for (int to = 0; to < 16; ++to) {
      if (to != from) ++peers[sdma.recommended_engine(from, to)];
    }
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
