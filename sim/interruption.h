// Lets long work that simulates little or nothing ask whether its answer is still wanted. Simulations ask by themselves
// (class Interruption in sim/simulator.h).
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace c3sim::sim {

// Calls the function of this thread's innermost Interruption, if there is one. An exception from it ends the work.
void ask_interruption();
// Returns whether this thread has an Interruption.
bool is_interruptible();

// A loop over millions of short steps calls note() in each, which is cheap: one call in 1024 calls ask_interruption().
class ShortSteps {
 public:
  void note() {
    if (++noted_ % between_asking == 0) ask_interruption();
  }

 private:
  static constexpr std::uint32_t between_asking = 1024;
  std::uint32_t noted_ = 0;
};

// Wraps `call` so that each call counts as a short step, for comparisons and projections of sorts of millions.
template <class Call>
auto as_short_steps(Call call) {
  return [call = std::move(call), steps = ShortSteps()](auto&&... of) mutable -> decltype(auto) {
    steps.note();
    return std::invoke(call, std::forward<decltype(of)>(of)...);
  };
}

}  // namespace c3sim::sim
