// A Task<T> is a part of a process that takes simulated time and returns a T. It starts when its single owner awaits
// it, which may happen once; co_await returns its result or throws its exception. Destroying an unfinished task
// destroys its frame. Coroutines that return a Task take parameters by value, except models that outlive the run.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "sim/check.h"

namespace c3sim::sim {

// A FramePool provides memory for coroutine frames and keeps freed frames for later ones of the same size, so that a
// process of many short tasks allocates nothing after the first. Each simulator has one; frames may outlive it.
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

template <class T = void>
class Task;

namespace detail {

// Returns the frame pool of the simulator that a coroutine's parameter is (frame_pool()) or has (simulator()), else
// null. The first two parameters of a coroutine are tried; the first one of a member coroutine is its object.
template <class Parameter>
FramePool* frame_pool_of(Parameter& parameter) {
  if constexpr (requires { static_cast<FramePool&>(parameter.frame_pool()); }) {
    return &parameter.frame_pool();
  } else if constexpr (requires { static_cast<FramePool&>(parameter.simulator().frame_pool()); }) {
    return &parameter.simulator().frame_pool();
  } else {
    return nullptr;
  }
}

// The operator is always inlined, as GCC otherwise takes a templated operator new for a mismatch of the operator delete
// (-Wmismatched-new-delete).
struct FrameAllocation {
  static void* operator new(std::size_t bytes) { return FramePool::allocate_alone(bytes); }
  template <class First, class... Rest>
  [[gnu::always_inline]] static void* operator new(std::size_t bytes, First& first, Rest&... rest) {
    FramePool* pool = frame_pool_of(first);
    if constexpr (sizeof...(Rest) > 0) {
      if (pool == nullptr) pool = [](auto& second, auto&...) { return frame_pool_of(second); }(rest...);
    }
    return pool == nullptr ? FramePool::allocate_alone(bytes) : pool->allocate(bytes);
  }
  static void operator delete(void* frame) noexcept { FramePool::release(frame); }
};

struct TaskPromiseBase : FrameAllocation {
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> finished) noexcept {
      const std::coroutine_handle<> next = finished.promise().awaiting;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }
  void rethrow_failure() {
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }

  std::coroutine_handle<> awaiting;  // resumed at the end; null before the first suspension and in a process
  std::exception_ptr failure;
};

template <class T>
struct TaskPromise : TaskPromiseBase {
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& value) {
    result.emplace(std::forward<U>(value));
  }
  T take_result() {
    rethrow_failure();
    return std::move(*result);
  }
  std::optional<T> result;
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
  Task<void> get_return_object();
  void return_void() noexcept {}
  void take_result() { rethrow_failure(); }
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::TaskPromise<T>;

  Task() = default;  // has no coroutine
  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  // Callers write co_await std::move(task) or co_await on the call that returns the task.
  auto operator co_await() && {
    SIM_CHECK(coroutine_ && !coroutine_.done() && "a task is awaited once");
    return Awaiter{coroutine_};
  }

  // Returns the coroutine for code that starts a task outside of any coroutine.
  std::coroutine_handle<promise_type> coroutine() const { return coroutine_; }

 private:
  struct Awaiter {
    std::coroutine_handle<promise_type> started;
    bool await_ready() noexcept { return false; }
    // A plain call starts the task, and the task resumes the awaiting coroutine by symmetric transfer only if it
    // suspended in between. Starting it by symmetric transfer as well would grow the stack in loops over tasks that end
    // at once: GCC 12 makes the transfer a tail call neither below -O2 nor under AddressSanitizer.
    bool await_suspend(std::coroutine_handle<> awaiting) {
      started.resume();
      if (started.done()) return false;
      started.promise().awaiting = awaiting;
      return true;
    }
    T await_resume() { return started.promise().take_result(); }
  };

  std::coroutine_handle<promise_type> coroutine_;
};

template <class T>
Task<T> detail::TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> detail::TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

}  // namespace c3sim::sim
