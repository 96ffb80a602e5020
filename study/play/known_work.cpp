#include "study/play/known_work.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "sim/check.h"
#include "sim/interruption.h"
#include "sim/simulator.h"

namespace c3sim::study {

WorkClasses::Id WorkClasses::add() {
  classes_.emplace_back();
  return static_cast<Id>(classes_.size() - 1);
}

void WorkClasses::slow_down(Id slowed, Id by, double times) {
  classes_[slowed].slowed_by.push_back({by, times});
  classes_[by].slows.push_back(slowed);
}

std::span<const WorkClasses::Id> WorkClasses::begin(Id of, sim::Time now) {
  if (classes_[of].running++ > 0) return {};
  classes_[of].since = now;
  return changed_by(of, now);
}

std::span<const WorkClasses::Id> WorkClasses::end(Id of, sim::Time now) {
  if (classes_[of].running > 1) {
    --classes_[of].running;
    return {};
  }
  classes_[of].done = done(of, now);
  classes_[of].running = 0;
  return changed_by(of, now);
}

double WorkClasses::done(Id of, sim::Time now) const {
  const Class& one = classes_[of];
  if (one.running == 0) return one.done;
  return one.done + static_cast<double>((now - one.since).count()) / one.slowdown;
}

sim::Time WorkClasses::when_done(Id of, double due, sim::Time now) const {
  const double left = std::max(0.0, due - done(of, now));
  return now + sim::Time(static_cast<std::int64_t>(left * classes_[of].slowdown));
}

std::span<const WorkClasses::Id> WorkClasses::changed_by(Id of, sim::Time now) {
  for (const Id slowed : classes_[of].slows) {
    Class& one = classes_[slowed];
    double slowdown = 1.0;
    for (const auto& [by, times] : one.slowed_by) {
      if (runs(by)) slowdown = std::max(slowdown, times);
    }
    if (slowdown == one.slowdown) continue;
    one.done = done(slowed, now);
    one.since = now;
    one.slowdown = slowdown;
  }
  return classes_[of].slows;
}

namespace {

class Player {
 public:
  Player(std::span<const KnownWork> works, const WaitLists& waits, WorkClasses classes)
      : works_(works),
        first_(works.size() + 1, 0),
        waits_for_(works.size()),
        played_(works.size(), {sim::Time::min(), sim::Time::min()}),
        classes_(std::move(classes)),
        running_(classes_.size()),
        ends_at_(classes_.size(), sim::Time::max()) {
    SIM_CHECK(waits.size() == works.size());
    for (const std::size_t i : sim::short_steps(works.size())) {
      for (const After& after : waits[i]) ++first_[after.node + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    followers_.resize(first_.back(), After(0, sim::Time(0)));
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const std::size_t i : sim::short_steps(works.size())) {
      waits_for_[i] = static_cast<std::uint32_t>(waits[i].size());
      for (const After& after : waits[i]) followers_[next[after.node]++] = After(i, after.lag, after.of_begin);
      if (waits_for_[i] == 0) begin_at(sim::Time(0), i);
    }
  }

  std::vector<Stay> play() && {
    simulator_.run();
    SIM_CHECK(ended_ == works_.size());
    return std::move(played_);
  }

 private:
  void begin_at(sim::Time at, std::size_t work) {
    simulator_.schedule(at, [this, work] { begin(work); });
  }

  void begin(std::size_t work) {
    const sim::Time now = simulator_.now();
    played_[work].begin = now;
    release(work, true);
    const auto [alone, of] = works_[work];
    if (alone == sim::Time(0)) return end(work);
    const std::span<const WorkClasses::Id> changed = classes_.begin(of, now);
    running_[of].push({classes_.done(of, now) + static_cast<double>(alone.count()), work});
    expect_ends(of, changed);
  }

  void end(std::size_t work) {
    played_[work].end = simulator_.now();
    ++ended_;
    release(work, false);
  }

  // Ends the work of a class that is due first, unless its end was put off after this event had been scheduled.
  void end_first(WorkClasses::Id of) {
    const sim::Time now = simulator_.now();
    if (ends_at_[of] != now) return;
    ends_at_[of] = sim::Time::max();
    const std::size_t work = running_[of].top().second;
    running_[of].pop();
    const std::span<const WorkClasses::Id> changed = classes_.end(of, now);
    end(work);
    expect_ends(of, changed);
  }

  void expect_ends(WorkClasses::Id of, std::span<const WorkClasses::Id> changed) {
    expect_end(of);
    for (const WorkClasses::Id other : changed) expect_end(other);
  }
  // Schedules the next end of work of a class.
  void expect_end(WorkClasses::Id of) {
    const sim::Time now = simulator_.now();
    const sim::Time at =
        running_[of].empty() ? sim::Time::max() : classes_.when_done(of, running_[of].top().first, now);
    if (at == ends_at_[of]) return;
    ends_at_[of] = at;
    if (at != sim::Time::max()) simulator_.schedule(at, [this, of] { end_first(of); });
  }

  // Work whose last wait is over begins when all lags have passed, but not in the past.
  void release(std::size_t work, bool of_begin) {
    const sim::Time now = simulator_.now();
    for (std::uint32_t i = first_[work]; i < first_[work + 1]; ++i) {
      const After& follower = followers_[i];
      if (follower.of_begin != of_begin) continue;
      sim::Time& from = played_[follower.node].begin;
      from = std::max(from, now + follower.lag);
      if (--waits_for_[follower.node] == 0) begin_at(std::max(now, from), follower.node);
    }
  }

  const std::span<const KnownWork> works_;
  std::vector<After> followers_;  // those of work i stand from first_[i] to first_[i + 1]: who waits for it
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> waits_for_;
  std::vector<Stay> played_;
  std::size_t ended_ = 0;
  WorkClasses classes_;
  // A Due is the progress of its class at which work ends, and the work. Each class has a queue of them.
  using Due = std::pair<double, std::size_t>;
  std::vector<std::priority_queue<Due, std::vector<Due>, std::greater<>>> running_;
  std::vector<sim::Time> ends_at_;  // by class: when the next end is expected
  sim::Simulator simulator_;
};

}  // namespace

std::vector<Stay> play_known(std::span<const KnownWork> works, const WaitLists& waits, WorkClasses classes) {
  return Player(works, waits, std::move(classes)).play();
}

}  // namespace c3sim::study
