// Asks whoever waits for an answer whether it is still wanted, for work that takes long and simulates little or nothing
// meanwhile. What is simulated asks by itself (sim/simulator.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
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

// A range whose elements are as many short steps: for (const Work& one : in_short_steps(all)). Iterators have what such
// a loop needs.
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

// The numbers from 0 up to `count`, which is none of them.
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
