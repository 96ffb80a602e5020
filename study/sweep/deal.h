// Which points are dealt to whom: every point of a study that the store has not got, each to one owner, and again to
// the process itself where an owner in another one has fallen silent. Their answers go to the store. Any thread may
// call.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "study/run/parallel.h"
#include "study/sweep/sweep_store.h"

namespace c3sim::study {

class Deal {
 public:
  // The owner that all threads of this process are; others are ranks. It cannot fall silent.
  static constexpr int here = 0;

  // `size` points, from 0. The store outlives the deal. `progress` is told how many points are in it, never by two
  // threads at once.
  Deal(SweepStore& store, std::uint64_t size, Progress progress = {})
      : store_(store), size_(size), progress_(std::move(progress)), answered_(store.size()) {}

  // Up to `most` points that nobody has; where there are none left, and the owner is `here`, points that others have
  // not answered yet. Empty: nothing to do.
  std::vector<std::uint64_t> take(int owner, std::size_t most);
  // It does not matter whose these points are by now.
  void store(const std::vector<PointAnswer>& answers);
  // Whether every point has its answer.
  bool complete() const;

 private:
  // The next point that the store has not got, or size_.
  std::uint64_t next();

  SweepStore& store_;
  const std::uint64_t size_;
  const Progress progress_;
  mutable std::mutex mutex_;
  std::uint64_t answered_;              // points
  std::uint64_t frontier_ = 0;          // below it, every point was dealt or is in the store
  std::deque<std::uint64_t> in_store_;  // from the frontier on, as far as they were looked up
  std::uint64_t looked_up_ = 0;         // to where
  std::map<std::uint64_t, int> dealt_;  // points without an answer, with their owner
};

}  // namespace c3sim::study
