// An EventAction is what an event does when it runs. It is small, allocates nothing and is copied bit by bit.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <new>
#include <type_traits>

namespace c3sim::sim {

// An EventAction holds a callable of at most two words: a lambda may capture `this` and one pointer, index or
// reference. It takes no coroutine handle, as coroutines are resumed by the action that Simulator::suspend returns.
class EventAction {
 public:
  EventAction() = default;  // does nothing

  template <class F>
  requires(std::is_invocable_r_v<void, F&> && !std::is_same_v<F, EventAction> &&
           !std::is_convertible_v<F, std::coroutine_handle<>>)
      EventAction(F callable)  // NOLINT(google-explicit-constructor): a lambda is an action
      : invoke_([](void* words) { (*std::launder(static_cast<F*>(words)))(); }) {
    static_assert(sizeof(F) <= sizeof(words_) && alignof(F) <= alignof(void*), "capture at most two words");
    static_assert(std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F>, "capture plain data only");
    ::new (words_.data()) F(callable);
  }

  void operator()() { invoke_(words_.data()); }

 private:
  void (*invoke_)(void* words) = [](void*) {};
  alignas(void*) std::array<std::byte, 2 * sizeof(void*)> words_{};
};

}  // namespace c3sim::sim
