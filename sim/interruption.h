// Lets long work that simulates little or nothing ask whether its answer is still wanted. Simulations ask by themselves
// (class Interruption in sim/simulator.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
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

// InShortSteps is a range in which each element counts as a short step: for (const Work& one : in_short_steps(all)).
// Its iterators have only what such a loop needs.
template <class Range>
struct InShortSteps {
  struct Iterator {
    decltype(std::begin(std::declval<Range&>())) at;
    ShortSteps steps{};
    decltype(auto) operator*() const { return *at; }
    void operator++() {
      steps.note();
      ++at;
    }
    bool operator!=(const decltype(std::end(std::declval<Range&>()))& end) const { return at != end; }
  };

  Range range;
  auto begin() { return Iterator{std::begin(range)}; }
  auto end() { return std::end(range); }
};
template <class Range>
InShortSteps<Range> in_short_steps(Range&& range) {
  return {std::forward<Range>(range)};
}

// Numbers are those from 0 up to, but without, `count`: std::views::iota does not compile with clang 14.
struct Numbers {
  struct Iterator {
    std::size_t at;
    std::size_t operator*() const { return at; }
    void operator++() { ++at; }
    bool operator!=(const Iterator& end) const { return at != end.at; }
  };
  std::size_t count;
  Iterator begin() const { return {0}; }
  Iterator end() const { return {count}; }
};
inline InShortSteps<Numbers> short_steps(std::size_t count) { return {{count}}; }

}  // namespace c3sim::sim
