#include "sim/task.h"

#include <sanitizer/asan_interface.h>

#include <array>
#include <memory>
#include <new>
#include <vector>

namespace c3sim::sim {
namespace {
constexpr std::size_t granule = 64;
constexpr std::size_t classes = 32;  // pooled blocks have up to 2 KiB; larger frames are rare and come from the heap
constexpr std::size_t chunk_bytes = 32768;  // glibc goes through all of its free memory when 65536 or more are freed
}  // namespace

// A Header precedes every frame. Its alignment keeps the frame aligned like memory from operator new.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) FramePool::Header {
  Arena* arena;  // null: the frame came from allocate_alone()
  std::size_t size_class;
  Header* next_free;
};

struct FramePool::Arena {
  using Chunk = std::array<std::byte, chunk_bytes>;
  std::array<Header*, classes> free{};
  std::vector<std::unique_ptr<Chunk>> chunks;
  std::size_t chunk_used = chunk_bytes;
  std::size_t live = 0;
  bool orphaned = false;  // the pool is gone: releasing the last frame deletes the arena

  Header* take(std::size_t size_class) {
    ++live;
    if (Header* const header = free[size_class]) {
      free[size_class] = header->next_free;
      return header;
    }
    const std::size_t bytes = (size_class + 1) * granule;
    if (chunk_used + bytes > chunk_bytes) {
      chunks.push_back(std::make_unique_for_overwrite<Chunk>());
      chunk_used = 0;
    }
    void* const block = chunks.back()->data() + chunk_used;
    chunk_used += bytes;
    return ::new (block) Header{this, size_class, nullptr};
  }

  void give_back(Header* header) noexcept {
    header->next_free = free[header->size_class];
    free[header->size_class] = header;
    --live;
  }
};

FramePool::FramePool() : arena_(new Arena) {}

FramePool::~FramePool() {
  if (arena_->live == 0) {
    delete arena_;
  } else {
    arena_->orphaned = true;
  }
}

void* FramePool::allocate(std::size_t bytes) {
  const std::size_t size_class = (bytes + sizeof(Header) - 1) / granule;
  if (size_class >= classes) return allocate_alone(bytes);
  Header* const header = arena_->take(size_class);
  ASAN_UNPOISON_MEMORY_REGION(header + 1, bytes);
  return header + 1;
}

void* FramePool::allocate_alone(std::size_t bytes) {
  return ::new (::operator new(sizeof(Header) + bytes)) Header{nullptr, 0, nullptr} + 1;
}

void FramePool::release(void* frame) noexcept {
  Header* const header = static_cast<Header*>(frame) - 1;
  Arena* const arena = header->arena;
  if (arena == nullptr) {
    ::operator delete(header);
    return;
  }
  // AddressSanitizer then reports a task used after its end, although the memory is still ours.
  ASAN_POISON_MEMORY_REGION(frame, (header->size_class + 1) * granule - sizeof(Header));
  arena->give_back(header);
  if (arena->orphaned && arena->live == 0) delete arena;
}

std::size_t FramePool::live_frames() const { return arena_->live; }

}  // namespace c3sim::sim
