#include "models/machine/cache_sharing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace c3sim::models {
namespace {

using sim::operator""_GBps;

CacheSharing::Client filling(sim::BytesPerSecond l2, sim::BytesPerSecond cache) { return {l2, cache, nullptr}; }

// 300 of 400 GB/s of fills go to the L2s, 10 of 100 to the Infinity Cache.
TEST(CacheSharing, SharesFollowTheFillsOfEachLevel) {
  CacheSharing sharing;
  const auto a = sharing.enter(filling(300.0_GBps, 10.0_GBps));
  const auto b = sharing.enter(filling(100.0_GBps, 90.0_GBps));
  EXPECT_DOUBLE_EQ(sharing.l2_share(a), 0.75);
  EXPECT_DOUBLE_EQ(sharing.l2_share(b), 0.25);
  EXPECT_DOUBLE_EQ(sharing.cache_share(a), 0.1);
  EXPECT_DOUBLE_EQ(sharing.cache_share(b), 0.9);
}

TEST(CacheSharing, WhatFillsNothingTakesNothing) {
  CacheSharing sharing;
  const auto stream = sharing.enter(filling(0.0_GBps, 0.0_GBps));
  EXPECT_DOUBLE_EQ(sharing.l2_share(stream), 1.0) << "nobody pushes it out";
  const auto kernel = sharing.enter(filling(1.0_GBps, 1.0_GBps));
  EXPECT_DOUBLE_EQ(sharing.l2_share(kernel), 1.0);
  EXPECT_DOUBLE_EQ(sharing.l2_share(stream), 0.0);
}

TEST(CacheSharing, OthersLearnOfAnArrivalAndADepartureWhenSharesHaveChanged) {
  CacheSharing sharing;
  CacheSharing::Handle resident;
  std::vector<double> seen;
  CacheSharing::Client client = filling(1.0_GBps, 1.0_GBps);
  client.on_change = [&] { seen.push_back(sharing.l2_share(resident)); };
  resident = sharing.enter(client);
  EXPECT_TRUE(seen.empty()) << "its own arrival is no news";
  const auto other = sharing.enter(filling(3.0_GBps, 3.0_GBps));
  EXPECT_EQ(seen, (std::vector<double>{0.25}));
  sharing.leave(other);
  EXPECT_EQ(seen, (std::vector<double>{0.25, 1.0}));
}

TEST(CacheSharing, ALevelThatEachHasOfItsOwnIsHeldWhole) {
  Mechanisms without;
  without.add(Mechanism::l2);
  CacheSharing sharing(without);
  const auto a = sharing.enter(filling(1.0_GBps, 1.0_GBps));
  sharing.enter(filling(3.0_GBps, 3.0_GBps));
  EXPECT_DOUBLE_EQ(sharing.l2_share(a), 1.0);
  EXPECT_DOUBLE_EQ(sharing.cache_share(a), 0.25);
}

TEST(CacheSharing, WhoHasLeftIsToldNothing) {
  CacheSharing sharing;
  int calls = 0;
  CacheSharing::Client client = filling(1.0_GBps, 1.0_GBps);
  client.on_change = [&calls] { ++calls; };
  const auto gone = sharing.enter(client);
  sharing.leave(gone);
  sharing.enter(filling(1.0_GBps, 1.0_GBps));
  EXPECT_EQ(calls, 0);
}

RC_GTEST_PROP(CacheSharing, SharesOfAllAddUpToTheCapacity, ()) {
  const auto fills = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000)));
  CacheSharing sharing;
  std::vector<CacheSharing::Handle> clients;
  for (const int fill : fills) clients.push_back(sharing.enter(filling(sim::BytesPerSecond(fill), 1.0_GBps)));
  double l2 = 0.0;
  double cache = 0.0;
  for (const auto client : clients) {
    l2 += sharing.l2_share(client);
    cache += sharing.cache_share(client);
  }
  RC_ASSERT(std::abs(l2 - 1.0) < 1e-9);
  RC_ASSERT(std::abs(cache - 1.0) < 1e-9);
}

}  // namespace
}  // namespace c3sim::models
