#include "sim/frame_pool.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace c3sim::sim {
namespace {

TEST(FramePool, AReleasedFrameServesTheNextOfItsSize) {
  FramePool pool;
  void* const first = pool.allocate(200);
  FramePool::release(first);
  EXPECT_EQ(pool.allocate(200), first);
  FramePool::release(first);
}

TEST(FramePool, LiveFramesAreCounted) {
  FramePool pool;
  void* const a = pool.allocate(100);
  void* const b = pool.allocate(1000);
  EXPECT_EQ(pool.live_frames(), 2u);
  FramePool::release(a);
  EXPECT_EQ(pool.live_frames(), 1u);
  FramePool::release(b);
  EXPECT_EQ(pool.live_frames(), 0u);
}

// 4000 frames of 1 to 4000 bytes fill many chunks, and those above 2 KiB stand alone. All keep what is written to them.
TEST(FramePool, FramesOfAllSizesAreAlignedAndDoNotOverlap) {
  FramePool pool;
  std::vector<unsigned char*> frames;
  for (std::size_t bytes = 1; bytes <= 4000; ++bytes) {
    auto* const frame = static_cast<unsigned char*>(pool.allocate(bytes));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(frame) % __STDCPP_DEFAULT_NEW_ALIGNMENT__, 0u);
    std::memset(frame, static_cast<int>(bytes % 251), bytes);
    frames.push_back(frame);
  }
  for (std::size_t bytes = 1; bytes <= 4000; ++bytes) {
    const unsigned char* const frame = frames[bytes - 1];
    EXPECT_EQ(frame[0], bytes % 251);
    EXPECT_EQ(frame[bytes - 1], bytes % 251);
    FramePool::release(frames[bytes - 1]);
  }
  EXPECT_EQ(pool.live_frames(), 0u);
}

// AddressSanitizer's build shows that nothing is leaked or used after its end here.
TEST(FramePool, FramesMayBeReleasedAfterThePoolIsGone) {
  auto pool = std::make_unique<FramePool>();
  void* const a = pool->allocate(100);
  void* const b = pool->allocate(100);
  pool.reset();
  std::memset(a, 1, 100);
  FramePool::release(a);
  std::memset(b, 1, 100);
  FramePool::release(b);
}

TEST(FramePool, AFrameThatStandsAloneBelongsToNoPool) {
  FramePool pool;
  void* const frame = FramePool::allocate_alone(100);
  EXPECT_EQ(pool.live_frames(), 0u);
  FramePool::release(frame);
}

}  // namespace
}  // namespace c3sim::sim
