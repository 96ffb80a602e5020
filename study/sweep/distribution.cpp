#include "study/sweep/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <future>
#include <iterator>
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

// What a thread of this process does, until there is nothing to take or somebody stops all.
void answer_points(const Distribution& distribution, Deal& deal, std::atomic<bool>& stopped) {
  try {
    const Answerer answer = distribution.make_answerer();
    BatchSize batch(256);
    while (!stopped) {
      const std::vector<std::uint64_t> points = deal.take(Deal::here, batch.size());
      if (points.empty()) break;  // the rest is with other threads, which cannot fail to answer
      const Clock::time_point start = Clock::now();
      std::vector<PointAnswer> answers;
      for (const std::uint64_t index : points) {
        if (stopped) break;
        answers.push_back(answer(index));
      }
      batch.took(seconds_since(start));
      deal.store(answers);
    }
  } catch (...) {
    stopped = true;
    throw;
  }
}

// The other ranks, as rank 0 sees them: each has two batches, so that it never waits for the next one.
class OtherRanks {
 public:
  OtherRanks(Ranks& ranks, Deal& deal, std::string digest) : ranks_(ranks), deal_(deal), digest_(std::move(digest)) {
    peers_.resize(static_cast<std::size_t>(ranks.size()));
  }

  // Takes what has arrived and deals new work for it.
  std::vector<PointAnswer> exchange() {
    std::vector<PointAnswer> answers;
    while (std::optional<Received> received = receive()) {
      const auto& [from, report] = *received;
      if (report.users_fault) throw sim::ConfigError({{"rank " + std::to_string(from), "", report.failure}});
      if (!report.failure.empty()) throw std::runtime_error(report.failure);
      if (!report.digest.empty()) {
        greet(from, report.digest);
      } else if (!report.farewell && !report.asks_for_life) {
        peer(from).batch.took(report.seconds);
        deal(from);
      }
      std::ranges::move(received->report.answers, std::back_inserter(answers));
    }
    return answers;
  }

  // Sends everyone home. False where somebody did not answer.
  bool dismiss(std::chrono::milliseconds patience) {
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      if (!peer(rank).gone) ranks_.send(rank, packed(Orders{.leave = true}));
    }
    const Clock::time_point start = Clock::now();
    while (Clock::now() - start < patience) {
      while (receive()) {
      }
      if (everyone_is_gone()) break;
      std::this_thread::sleep_for(look_for_messages);
    }
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      if (peer(rank).gone) {
        ranks_.send(rank, packed(Orders{.leave = true, .go = true, .everyone = everyone_is_gone()}));
      }
    }
    return everyone_is_gone();
  }

 private:
  struct Peer {
    BatchSize batch{64};
    bool gone = false;
  };
  struct Received {
    int from;
    Report report;
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  // The next message, if there is one. A rank that asks for a sign of life has it at once.
  std::optional<Received> receive() {
    const std::optional<Ranks::Message> message = ranks_.receive();
    if (!message) return {};
    Received received{message->from, unpacked_report(message->bytes)};
    if (received.report.farewell) peer(received.from).gone = true;
    if (received.report.asks_for_life) ranks_.send(received.from, packed(Orders{}));
    return received;
  }
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
    std::vector<std::uint64_t> points = deal_.take(rank, peer(rank).batch.size());
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

// Waits until each point has its answer, somebody interrupts, or the threads of this process have failed. Meanwhile it
// stores what other ranks send.
void oversee(const Distribution& distribution, Deal& deal, OtherRanks* others, const std::future<void>& crew,
             const std::atomic<bool>& stopped) {
  while (true) {
    if (others != nullptr) deal.store(others->exchange());
    if (stopped || deal.complete() || (distribution.interrupted && distribution.interrupted())) return;
    if (others != nullptr) {
      std::this_thread::sleep_for(look_for_messages);
    } else if (crew.wait_for(look_around) == std::future_status::ready) {
      return;
    }
  }
}

}  // namespace

bool run(const Distribution& distribution, SweepStore& store, Ranks* ranks) {
  Deal deal(store, distribution.size, distribution.progress);
  std::optional<OtherRanks> others;
  if (ranks != nullptr) others.emplace(*ranks, deal, distribution.digest);
  const int jobs = ranks != nullptr ? std::max(distribution.jobs, 1) : threads_of(distribution.jobs);
  std::exception_ptr failure;
  {
    std::atomic<bool> stopped{false};
    const auto work_along = [&](std::size_t) { answer_points(distribution, deal, stopped); };
    std::future<void> crew =
        std::async(std::launch::async, [&] { for_each_index(static_cast<std::size_t>(jobs), work_along, {}, jobs); });
    try {
      oversee(distribution, deal, others ? &*others : nullptr, crew, stopped);
      stopped = true;
      crew.get();
    } catch (...) {  // thrown again once all threads have ended
      stopped = true;
      failure = std::current_exception();
    }
  }
  const bool complete = !failure && deal.complete();
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
