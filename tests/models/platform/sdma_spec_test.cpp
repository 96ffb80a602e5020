#include "models/platform/sdma_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/models/model_fixture.h"
#include "tests/models/sdma/sdma_fixture.h"

namespace c3sim::models {
namespace {

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
