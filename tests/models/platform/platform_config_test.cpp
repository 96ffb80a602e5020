#include "models/platform/platform_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/config/config_error.h"
#include "tests/config_folders.h"

namespace c3sim::models {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
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
  try {
    read("list.yaml");
    FAIL();
  } catch (const sim::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("list.yaml:1:7: base: the name of a file is due here"));
  }
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
  std::ifstream file(*named_platform("mi300x", folders));
  std::string text{std::istreambuf_iterator<char>(file), {}};
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

}  // namespace
}  // namespace c3sim::models
