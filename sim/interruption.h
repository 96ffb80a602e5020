// Asks whoever waits for an answer whether it is still wanted, for work that takes long and simulates little or nothing
// meanwhile. What is simulated asks by itself (sim/simulator.h).
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace c3sim::sim {

// Calls what the Interruption of this thread asks, where there is one: what that throws ends the work.
void ask_interruption();
// Whether this thread has one.
bool is_interruptible();

// A loop over millions of short steps notes each of them, which costs next to nothing: one in a thousand asks.
class ShortSteps {
 public:
  void note() {
    if (++noted_ % between_asking == 0) ask_interruption();
  }

 private:
  static constexpr std::uint32_t between_asking = 1024;
  std::uint32_t noted_ = 0;
};

// The same call, each of which is a short step: a sort of millions asks by the projection that it is given.
template <class Call>
auto as_short_steps(Call call) {
  return [call = std::move(call), steps = ShortSteps()](auto&&... of) mutable -> decltype(auto) {
    steps.note();
    return std::invoke(call, std::forward<decltype(of)>(of)...);
  };
}

}  // namespace c3sim::sim
