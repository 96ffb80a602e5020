// Memory for coroutine frames: a freed frame is kept for the next one of its size, so a process that starts many short
// tasks allocates nothing after its first. One pool per simulator; a frame may outlive its pool.
#pragma once

#include <cstddef>

namespace c3sim::sim {

class FramePool {
 public:
  FramePool();
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // Memory for a frame of `bytes`, aligned for any ordinary type.
  void* allocate(std::size_t bytes);
  // The same from the heap, for a coroutine that knows no simulator.
  static void* allocate_alone(std::size_t bytes);
  // Gives a frame back to wherever it came from, also after its pool is gone.
  static void release(void* frame) noexcept;

  // Frames of this pool not yet released; those that stand alone do not count.
  std::size_t live_frames() const;

 private:
  struct Header;
  struct Arena;
  Arena* arena_;  // outlives this pool as long as frames are alive in it
};

}  // namespace c3sim::sim
