#include "study/sweep/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "sim/config/config_error.h"
#include "study/sweep/deal.h"
#include "study/sweep/rank_messages.h"

namespace c3sim::study {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t most_waiting = 4096;             // answers that wait for the store before their makers do
constexpr auto look_around = 20ms;                     // between looks at whether the run was interrupted
constexpr std::chrono::milliseconds in_haste = 100ms;  // how long ranks are waited for where a run is given up
constexpr auto look_for_messages = 1ms;                // the same, of messages

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// How many points are dealt at once: about a twentieth of a second's work. Results do not depend on it.
class BatchSize {
 public:
  explicit BatchSize(std::size_t most) : most_(most) {}
  std::size_t size() const { return size_; }
  void took(double seconds) {
    if (seconds < 0.03) size_ = std::min(2 * size_, most_);
    if (seconds > 0.1) size_ = std::max<std::size_t>(size_ / 2, 1);
  }

 private:
  std::size_t most_;
  std::size_t size_ = 1;
};

// Answers on their way from the threads that make them to the one that stores them.
class Outbox {
 public:
  void put(std::vector<PointAnswer> answers) {
    std::unique_lock lock(mutex_);
    emptied_.wait(lock, [this] { return answers_.size() < most_waiting || closed_; });
    std::ranges::move(answers, std::back_inserter(answers_));
    filled_.notify_one();
  }
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    filled_.notify_one();
  }
  // A thread has nothing more to do.
  void end() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    filled_.notify_one();
  }
  // Waits for answers, for an end or for some time.
  std::vector<PointAnswer> take(Clock::duration longest) {
    std::unique_lock lock(mutex_);
    filled_.wait_for(lock, longest, [this] { return !answers_.empty() || failure_ || ended_ != seen_ended_; });
    seen_ended_ = ended_;
    emptied_.notify_all();
    return std::exchange(answers_, {});
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    emptied_.notify_all();
  }
  std::exception_ptr failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable emptied_;
  std::vector<PointAnswer> answers_;
  std::exception_ptr failure_;
  int ended_ = 0;
  int seen_ended_ = 0;
  bool closed_ = false;
};

// The threads of this process. They end when there is nothing to take, or when told.
class Crew {
 public:
  Crew(const Distribution& distribution, Deal& deal, Outbox& outbox, std::size_t jobs) : outbox_(outbox) {
    for (std::size_t i = 0; i < jobs; ++i) {
      threads_.emplace_back([this, &distribution, &deal] { work(distribution, deal); });
    }
  }
  ~Crew() {
    stop();
    outbox_.close();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void stop() { stopped_ = true; }

 private:
  void work(const Distribution& distribution, Deal& deal) {
    try {
      const Answerer answer = distribution.make_answerer();
      BatchSize batch(256);
      while (!stopped_ && !deal.done()) {
        const std::vector<std::uint64_t> points = deal.take(Deal::here, batch.size());
        if (points.empty()) break;  // the rest is with other threads, which cannot fail to answer
        const Clock::time_point start = Clock::now();
        std::vector<PointAnswer> answers;
        for (const std::uint64_t index : points) {
          if (stopped_) break;
          answers.push_back(answer(index));
        }
        batch.took(seconds_since(start));
        outbox_.put(std::move(answers));
      }
    } catch (...) {  // to be thrown again by the thread that runs the study
      outbox_.fail(std::current_exception());
    }
    outbox_.end();
  }

  Outbox& outbox_;
  std::atomic<bool> stopped_{false};
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

// The other ranks, as rank 0 sees them: each has two batches, so that it never waits for the next one.
class OtherRanks {
 public:
  OtherRanks(Ranks& ranks, Deal& deal, std::string digest) : ranks_(ranks), deal_(deal), digest_(std::move(digest)) {
    peers_.resize(static_cast<std::size_t>(ranks.size()));
  }

  // Takes what has arrived and deals new work for it.
  std::vector<PointAnswer> exchange() {
    std::vector<PointAnswer> answers;
    while (const std::optional<Ranks::Message> message = ranks_.receive()) {
      Report report = unpacked_report(message->bytes);
      Peer& peer = peers_[static_cast<std::size_t>(message->from)];
      if (report.users_fault) throw sim::ConfigError({{"rank " + std::to_string(message->from), "", report.failure}});
      if (!report.failure.empty()) throw std::runtime_error(report.failure);
      if (report.farewell) {
        peer.gone = true;
      } else if (report.asks_for_life) {
        ranks_.send(message->from, packed(Orders{}));
      } else if (!report.digest.empty()) {
        greet(message->from, report.digest);
      } else {
        peer.batch.took(report.seconds);
        deal(message->from);
      }
      std::ranges::move(report.answers, std::back_inserter(answers));
    }
    return answers;
  }

  // Sends everyone home. False where somebody did not answer.
  bool dismiss(std::chrono::milliseconds patience) {
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      if (!peers_[static_cast<std::size_t>(rank)].gone) ranks_.send(rank, packed(Orders{.leave = true}));
    }
    const Clock::time_point start = Clock::now();
    while (Clock::now() - start < patience) {
      while (const std::optional<Ranks::Message> message = ranks_.receive()) {
        const Report report = unpacked_report(message->bytes);
        if (report.farewell) peers_[static_cast<std::size_t>(message->from)].gone = true;
        if (report.asks_for_life) ranks_.send(message->from, packed(Orders{}));
      }
      if (everyone_is_gone()) break;
      std::this_thread::sleep_for(look_for_messages);
    }
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      if (!peers_[static_cast<std::size_t>(rank)].gone) continue;
      ranks_.send(rank, packed(Orders{.leave = true, .go = true, .everyone = everyone_is_gone()}));
    }
    return everyone_is_gone();
  }

 private:
  struct Peer {
    BatchSize batch{64};
    bool gone = false;
  };

  bool everyone_is_gone() const {
    return std::all_of(peers_.begin() + 1, peers_.end(), [](const Peer& peer) { return peer.gone; });
  }
  void greet(int rank, const std::string& digest) {
    if (digest != digest_) {
      throw sim::ConfigError({{"mpirun", "",
                               "rank " + std::to_string(rank) +
                                   " has another study, platform or version of c3sim: all processes "
                                   "must read the same files by the same program"}});
    }
    deal(rank);
    deal(rank);
  }
  void deal(int rank) {
    std::vector<std::uint64_t> points = deal_.take(rank, peers_[static_cast<std::size_t>(rank)].batch.size());
    if (!points.empty()) ranks_.send(rank, packed(Orders{std::move(points)}));
  }

  Ranks& ranks_;
  Deal& deal_;
  std::string digest_;
  std::vector<Peer> peers_;
};

// Rank 0, as another rank sees it.
class Keeper {
 public:
  Keeper(Ranks& ranks, std::chrono::milliseconds patience) : ranks_(ranks), patience_(patience) {}

  void send(const Report& report) { ranks_.send(0, packed(report)); }

  // What it has sent. Asks it for a sign of life where it has long been silent, and gives it up after that.
  std::optional<Orders> receive() {
    const Clock::time_point now = Clock::now();
    if (const std::optional<Ranks::Message> message = ranks_.receive()) {
      asked_.reset();
      heard_ = now;
      return unpacked_orders(message->bytes);
    }
    if (!asked_ && now - heard_ > patience_ / 4) {
      send(Report{.asks_for_life = true});
      asked_ = now;
    }
    if (asked_ && now - *asked_ > patience_) give_up();
    return {};
  }

 private:
  [[noreturn]] void give_up() const {
    const double seconds = std::chrono::duration<double>(patience_).count();
    throw sim::ConfigError({{fmt::format("rank {}", ranks_.rank()), "",
                             fmt::format("rank 0, which keeps the results, has not answered for {:g} s: it is dead or "
                                         "stopped. What it had finished is in its folder, and the same command with "
                                         "--resume goes on",
                                         seconds)}});
  }

  Ranks& ranks_;
  std::chrono::milliseconds patience_;
  Clock::time_point heard_ = Clock::now();
  std::optional<Clock::time_point> asked_;  // and not answered
};

std::vector<std::uint64_t> indices_of(const std::vector<PointAnswer>& answers) {
  std::vector<std::uint64_t> indices;
  indices.reserve(answers.size());
  for (const PointAnswer& answer : answers) indices.push_back(answer.index);
  return indices;
}

// Stores answers as they come, until there is no more or somebody interrupts. What is finished by then is stored, too.
bool keep(const Distribution& distribution, SweepStore& store, Deal& deal, Outbox& outbox, OtherRanks* others) {
  std::uint64_t stored = store.size();
  const auto take_in = [&](std::vector<PointAnswer> answers) {
    if (answers.empty()) return;
    store.add(answers);
    deal.answered(indices_of(answers));
    stored = others == nullptr ? stored + answers.size() : store.size() + store.failures();
    if (distribution.progress) distribution.progress(stored, distribution.size);
  };
  while (!deal.done()) {
    std::vector<PointAnswer> answers = outbox.take(others == nullptr ? look_around : look_for_messages);
    if (others != nullptr) std::ranges::move(others->exchange(), std::back_inserter(answers));
    take_in(std::move(answers));
    if (const std::exception_ptr failure = outbox.failure()) std::rethrow_exception(failure);
    if (distribution.interrupted && distribution.interrupted()) return false;
  }
  return true;
}

}  // namespace

bool run(const Distribution& distribution, SweepStore& store, Ranks* ranks) {
  Deal deal(store, distribution.size);
  Outbox outbox;
  std::optional<OtherRanks> others;
  if (ranks != nullptr) others.emplace(*ranks, deal, distribution.digest);
  const std::size_t cores = ranks != nullptr ? 1 : std::max(1U, std::thread::hardware_concurrency());
  const std::size_t jobs = distribution.jobs > 0 ? static_cast<std::size_t>(distribution.jobs) : cores;
  bool complete = false;
  std::exception_ptr failure;
  {
    Crew crew(distribution, deal, outbox, jobs);
    try {
      complete = keep(distribution, store, deal, outbox, others ? &*others : nullptr);
    } catch (...) {  // thrown again once all threads have ended
      failure = std::current_exception();
    }
  }
  if (!failure) {
    const std::vector<PointAnswer> last = outbox.take(0ms);
    if (!last.empty()) store.add(last);
    complete = complete || store.size() + store.failures() == distribution.size;
  }
  // Who ends a run by force, as mpirun does, gives it a second.
  const std::chrono::milliseconds patience =
      complete ? distribution.patience : std::min(distribution.patience, in_haste);
  if (others) ranks->leave(others->dismiss(patience));
  if (failure) std::rethrow_exception(failure);
  return complete;
}

void serve(const Distribution& distribution, Ranks& ranks) {
  const Answerer answer = distribution.make_answerer();
  Keeper keeper(ranks, distribution.patience);
  keeper.send(Report{.digest = distribution.digest});
  std::deque<std::vector<std::uint64_t>> batches;
  bool dismissed = false;
  std::optional<bool> everyone;  // leaves, once that is known
  const auto look = [&] {
    while (std::optional<Orders> orders = keeper.receive()) {
      dismissed = dismissed || orders->leave;
      if (orders->go) everyone = orders->everyone;
      if (!orders->points.empty()) batches.push_back(std::move(orders->points));
    }
  };
  while (!dismissed) {
    look();
    if (batches.empty()) {
      std::this_thread::sleep_for(look_for_messages);
      continue;
    }
    Report report;
    const Clock::time_point start = Clock::now();
    try {
      for (const std::uint64_t index : batches.front()) {
        look();
        if (dismissed) break;
        report.answers.push_back(answer(index));
      }
    } catch (const std::exception& error) {
      report.failure = error.what();
    }
    batches.pop_front();
    report.seconds = seconds_since(start);
    keeper.send(report);
  }
  keeper.send(Report{.farewell = true});
  while (!everyone) {
    look();
    std::this_thread::sleep_for(look_for_messages);
  }
  ranks.leave(*everyone);
}

}  // namespace c3sim::study
