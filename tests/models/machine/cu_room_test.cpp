#include "models/machine/cu_room.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace c3sim::models {
namespace {

constexpr int cus = 38;
constexpr CuResources whole{64 * 1024, 512 * 1024, 32};
constexpr CuResources workgroup{16 * 1024, 64 * 1024, 4};

// What every CU has, told one by one.
std::vector<CuResources> on_each(const CuRoom& room) {
  std::vector<CuResources> each;
  for (const CuRoom::Stretch& stretch : room.stretches()) {
    EXPECT_EQ(stretch.begin, static_cast<int>(each.size())) << "stretches follow each other";
    EXPECT_LT(stretch.begin, stretch.end);
    each.resize(static_cast<std::size_t>(stretch.end), stretch.room);
  }
  return each;
}

TEST(CuRoom, NeighboursWithAsMuchAreOneStretch) {
  CuRoom room(cus, whole);
  room.add(0, 10, -workgroup);
  room.add(20, 30, -workgroup);
  EXPECT_EQ(room.stretches().size(), 4u);
  room.add(10, 20, -workgroup);
  EXPECT_EQ(room.stretches().size(), 2u);
  room.add(0, 30, workgroup);
  ASSERT_EQ(room.stretches().size(), 1u);
  EXPECT_EQ(room.stretches().front().room, whole);
}

TEST(CuRoom, HoldsWhatEveryCuWouldByItself) {
  CuRoom room(cus, whole);
  std::vector<CuResources> expected(cus, whole);
  std::uint64_t state = 7;
  const auto draw = [&state](int below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(below));
  };
  for (int step = 0; step < 2000; ++step) {
    const int begin = draw(cus);
    const int end = begin + 1 + draw(cus - begin);
    const CuResources change = draw(2) == 0 ? -workgroup : workgroup;
    for (int cu = begin; cu < end; ++cu) {
      expected[static_cast<std::size_t>(cu)] += change;
    }
    room.add(begin, end, change);
    ASSERT_EQ(on_each(room), expected) << "after step " << step;
    for (std::size_t i = 1; i < room.stretches().size(); ++i) {
      ASSERT_FALSE(room.stretches()[i - 1].room == room.stretches()[i].room) << "equal neighbours were not joined";
    }
  }
}

}  // namespace
}  // namespace c3sim::models
