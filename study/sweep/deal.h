// Which points are dealt to whom: every point of a study that the store has not got, each to one owner, and again to
// the process itself where an owner in another one has fallen silent. Any thread may ask.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "study/sweep/sweep_store.h"

namespace c3sim::study {

class Deal {
 public:
  // The owner that all threads of this process are; others are ranks. It cannot fall silent.
  static constexpr int here = 0;

  // `size` points, from 0. The store outlives the deal.
  Deal(const SweepStore& store, std::uint64_t size) : store_(store), size_(size) {}

  // Up to `most` points that nobody has; where there are none left, and the owner is `here`, points that others have
  // not answered yet. Empty: nothing to do.
  std::vector<std::uint64_t> take(int owner, std::size_t most);
  // Its points have answers. Those that were somebody else's by now count all the same.
  void answered(const std::vector<std::uint64_t>& indices);
  // Whether every point has been dealt and has its answer.
  bool done() const;

 private:
  // The next point that the store has not got, or size_.
  std::uint64_t next();

  const SweepStore& store_;
  const std::uint64_t size_;
  mutable std::mutex mutex_;
  std::uint64_t frontier_ = 0;          // below it, every point was dealt or is in the store
  std::deque<std::uint64_t> in_store_;  // from the frontier on, as far as they were looked up
  std::uint64_t looked_up_ = 0;         // to where
  std::map<std::uint64_t, int> dealt_;  // points without an answer, with their owner
};

}  // namespace c3sim::study
