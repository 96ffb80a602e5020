#include "models/platform/sdma_spec.h"

#include <gtest/gtest.h>

#include "tests/models/model_fixture.h"
#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

// The faults of the platform file's sdma section after an assignment; empty if it is accepted.
std::string faults_after(const std::string& assignment) {
  sim::Config config = sim::Config::from_file(std::string(C3SIM_SOURCE_DIR) + "/configs/platforms/mi300x.yaml");
  config.set(assignment);
  SdmaSpec::read(config.root().section("gpu").section("sdma"), 8);
  try {
    config.finish();
  } catch (const sim::ConfigError& error) {
    for (const sim::Fault& fault : error.faults()) {
      if (fault.path.rfind("gpu.sdma", 0) == 0) return fault.path + ": " + fault.what;
    }
  }
  return {};
}

TEST(SdmaSpec, ReadsTheMi300x) {
  const SdmaSpec sdma = CopyPlatform::mi300x().sdma;
  EXPECT_EQ(sdma.engines, 16);
  EXPECT_EQ(sdma.host_engines, 2);
  EXPECT_EQ(sdma.queues_per_engine, 8);
  // sdma_recommended_engine_map_gfx942.csv
  EXPECT_EQ(sdma.recommended_engine(0, 1), 14);
  EXPECT_EQ(sdma.recommended_engine(7, 2), 8);
  EXPECT_EQ(sdma.recommended_engine(3, host_device), sdma.to_host_engine);
  EXPECT_EQ(sdma.recommended_engine(host_device, 3), sdma.from_host_engine);
}

TEST(SdmaSpec, FewerEnginesAreRecommendedInTurn) {
  SdmaSpec sdma = CopyPlatform::mi300x().sdma;
  sdma.engines = 8;  // 2 to 7 serve the links
  for (int distance = 1; distance <= 6; ++distance)
    EXPECT_EQ(sdma.recommended_engine(3, (3 + distance) % 8), 1 + distance);
  EXPECT_EQ(sdma.recommended_engine(3, 2), 2) << "the seventh peer";
}

TEST(SdmaSpec, ARingSmallerThanAPacketIsTheUsersFault) {
  EXPECT_EQ(faults_after("gpu.sdma.ring=4KiB"), "");
  EXPECT_EQ(faults_after("gpu.sdma.ring=32B"), "gpu.sdma.ring: a ring of 32B is smaller than the largest packet, 36B");
}

TEST(SdmaSpec, AnEngineMapOfAnotherNodeIsTheUsersFault) {
  EXPECT_EQ(faults_after("gpu.sdma.engine_map=[[-1, 2], [2, -1]]"),
            "gpu.sdma.engine_map: a row and a column for each of the 8 GPUs");
}

// It is not blamed on the parameters that come after it.
TEST(SdmaSpec, AnEngineMapThatIsTooSmallIsOneFault) {
  try {
    mi300x({"gpus=9"});
    FAIL() << "nine GPUs have no engine map";
  } catch (const sim::ConfigError& error) {
    EXPECT_EQ(error.faults().size(), 1u) << error.what();
  }
}

TEST(SdmaSpec, ASmallerNodeHasTheFirstRowsAndColumnsOfTheEngineMap) {
  const std::vector<std::vector<int>> whole = mi300x().gpu.sdma.engine_map;
  const std::vector<std::vector<int>> part = mi300x({"gpus=4"}).gpu.sdma.engine_map;
  ASSERT_EQ(part.size(), 4u);
  for (std::size_t from = 0; from < 4; ++from) {
    EXPECT_EQ(part[from], std::vector<int>(whole[from].begin(), whole[from].begin() + 4));
  }
}

TEST(SdmaSpec, LinksNeedAnEngineOfTheirOwn) {
  EXPECT_NE(faults_after("gpu.sdma.host_engines=16").find("fewer than the engines"), std::string::npos);
}

TEST(SdmaSpec, AHostEngineThatDoesNotExistIsTheUsersFault) {
  EXPECT_NE(faults_after("gpu.sdma.to_host_engine=16"), "");
}

}  // namespace
}  // namespace c3sim::models
