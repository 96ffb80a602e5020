#include "study/sweep/distribution.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <vector>

namespace c3sim::study {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds look_around(20);  // between checks for an interruption
constexpr std::chrono::milliseconds between_stores(50);

// A Deal gives each point that the store lacks to one thread, and stores the answers. Any thread may call it.
class Deal {
 public:
  // The store and the distribution must outlive the deal.
  Deal(SweepStore& store, const Distribution& distribution)
      : store_(store),
        distribution_(distribution),
        share_(distribution.shard.share_of(distribution.size)),
        answered_(std::min(store.size(), share_)) {}

  // Returns a point that nobody has taken; none where none is left.
  std::optional<std::uint64_t> take() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t index = next();
    if (index == distribution_.size) return {};
    ++unanswered_;
    return index;
  }
  // Stores the answers and forgets them.
  void store(std::vector<PointAnswer>& answers) {
    if (answers.empty()) return;
    const std::lock_guard lock(mutex_);
    store_.add(answers);
    unanswered_ -= answers.size();
    answered_ += answers.size();
    answers.clear();
    if (distribution_.progress) distribution_.progress(answered_, share_);
  }
  // Reports the initial progress before any thread starts.
  void begin() const {
    if (distribution_.progress && answered_ < share_) distribution_.progress(answered_, share_);
  }
  // Returns whether every point has its answer. It is called once, when no thread is left.
  bool complete() { return unanswered_ == 0 && next() == distribution_.size; }

 private:
  // Returns the next point of the shard that the store lacks, or the number of points.
  std::uint64_t next() {
    constexpr std::size_t looked_up_at_once = 4096;
    while (frontier_ < distribution_.size) {
      if (frontier_ == looked_up_) {
        in_store_ = store_.indices(frontier_, looked_up_at_once);
        looked_up_ = in_store_.size() < looked_up_at_once ? distribution_.size : in_store_.back() + 1;
      }
      const std::uint64_t index = frontier_++;
      if (distribution_.shard.has(index) && !std::ranges::binary_search(in_store_, index)) return index;
    }
    return distribution_.size;
  }

  SweepStore& store_;
  const Distribution& distribution_;
  const std::uint64_t share_;  // number of points of the shard
  std::mutex mutex_;
  std::uint64_t answered_;
  std::uint64_t unanswered_ = 0;         // points taken by threads and not stored yet
  std::uint64_t frontier_ = 0;           // every point below it was taken or is in the store
  std::uint64_t looked_up_ = 0;          // `in_store_` covers the points up to this one ...
  std::vector<std::uint64_t> in_store_;  // ... from the last look-up on
};

// Runs in each thread until no point is left or a thread stops all.
void answer_points(const Distribution& distribution, Deal& deal, std::atomic<bool>& stopped) {
  std::vector<PointAnswer> answers;
  try {
    const Answerer answer = distribution.make_answerer();
    Clock::time_point stored = Clock::now();
    while (!stopped) {
      const std::optional<std::uint64_t> index = deal.take();
      if (!index) break;
      answers.push_back(answer(*index));
      if (Clock::now() - stored < between_stores) continue;
      deal.store(answers);
      stored = Clock::now();
    }
    deal.store(answers);
  } catch (...) {
    stopped = true;
    deal.store(answers);
    throw;
  }
}

}  // namespace

bool run(const Distribution& distribution, SweepStore& store) {
  Deal deal(store, distribution);
  deal.begin();
  std::atomic<bool> stopped{false};
  const int jobs = threads_of(distribution.jobs);
  const auto work_along = [&](std::size_t) { answer_points(distribution, deal, stopped); };
  std::future<void> crew =
      std::async(std::launch::async, [&] { for_each_index(static_cast<std::size_t>(jobs), work_along, {}, jobs); });
  try {
    while (crew.wait_for(look_around) != std::future_status::ready) {
      if (distribution.interrupted && distribution.interrupted()) stopped = true;
    }
  } catch (...) {  // rethrown once all threads have ended
    stopped = true;
    crew.wait();
    throw;
  }
  crew.get();
  return deal.complete();
}

}  // namespace c3sim::study
