// A MemoryWord is written by one side and waited on by another: it is a completion signal or releases a queued POLL.
// The value changes at the instant of the write; seeing the change costs the watcher time.
#pragma once

#include <array>
#include <compare>
#include <coroutine>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/simulator.h"

namespace c3sim::models {

enum class Comparison { equal, at_least, at_most };

struct Condition {
  Comparison comparison = Comparison::equal;
  std::int64_t reference = 0;

  bool holds_for(std::int64_t value) const {
    if (comparison == Comparison::equal) return value == reference;
    return comparison == Comparison::at_least ? value >= reference : value <= reference;
  }
  auto operator<=>(const Condition&) const = default;
};
// Returns a text such as ">= 1".
inline std::string to_string(const Condition& condition) {
  constexpr std::array<const char*, 3> signs{"== ", ">= ", "<= "};  // in the order of Comparison
  return signs[static_cast<std::size_t>(condition.comparison)] + std::to_string(condition.reference);
}

class MemoryWord {
 public:
  MemoryWord(sim::Simulator& simulator, std::string name, std::int64_t value)
      : simulator_(simulator), name_(std::move(name)), value_(value) {}
  MemoryWord(const MemoryWord&) = delete;
  MemoryWord& operator=(const MemoryWord&) = delete;

  void write(std::int64_t value) {
    value_ = value;
    written_at_ = simulator_.now();
    for (const Watcher& watcher : watchers_) {
      if (meets(watcher.condition)) simulator_.schedule(simulator_.now(), watcher.go_on);
    }
    std::erase_if(watchers_, [this](const Watcher& watcher) { return meets(watcher.condition); });
  }
  void add(std::int64_t addend) { write(value_ + addend); }

  sim::Simulator& simulator() { return simulator_; }
  std::int64_t value() const { return value_; }
  bool meets(const Condition& condition) const { return condition.holds_for(value_); }
  sim::Time written_at() const { return written_at_; }  // time of the last write, or zero
  const std::string& name() const { return name_; }

  // co_await word.wait(condition, what) goes on at once if the condition holds, otherwise at the write that makes it
  // hold. `what` says in a report of a deadlock who waits; it must live as long as the wait.
  auto wait(Condition condition, std::string_view what) {
    struct Watch {
      MemoryWord& word;
      Condition condition;
      std::string_view what;
      bool await_ready() const { return word.meets(condition); }
      void await_suspend(std::coroutine_handle<> waiter) const {
        word.watchers_.push_back({condition, word.simulator_.suspend(waiter, {what, word.name_})});
      }
      void await_resume() const {}
    };
    return Watch{*this, condition, what};
  }

 private:
  struct Watcher {
    Condition condition;
    sim::EventAction go_on;
  };
  sim::Simulator& simulator_;
  std::string name_;
  std::int64_t value_;
  sim::Time written_at_{0};
  std::vector<Watcher> watchers_;
};

}  // namespace c3sim::models
