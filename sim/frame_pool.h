// A FramePool provides memory for coroutine frames and keeps freed frames for later ones of the same size, so that a
// process of many short tasks allocates nothing after the first. Each simulator has one; frames may outlive it.
#pragma once

#include <cstddef>

namespace c3sim::sim {

class FramePool {
 public:
  FramePool();
  ~FramePool();
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // Returns memory for a frame of `bytes`, aligned for any ordinary type.
  void* allocate(std::size_t bytes);
  // Returns memory from the heap, for a coroutine that knows no simulator.
  static void* allocate_alone(std::size_t bytes);
  // Gives a frame back to where it came from, even after its pool is gone.
  static void release(void* frame) noexcept;

  // Returns the number of frames of this pool not yet released, without those from allocate_alone().
  std::size_t live_frames() const;

 private:
  struct Header;
  struct Arena;
  Arena* arena_;  // outlives this pool as long as frames are alive in it
};

}  // namespace c3sim::sim
