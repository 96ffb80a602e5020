#include "calibrate/replay/occupancy.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sim/interruption.h"

namespace c3sim::calibrate {

namespace {

struct Interval {
  sim::Time begin{0}, end{0};
};
// Intervals are disjoint and sorted. For millions of kernels a list is smaller than the tree of study::BusyTimes.
using Intervals = std::vector<Interval>;

void unite(Intervals& all) {
  if (!std::ranges::is_sorted(all, {}, &Interval::begin))
    std::ranges::sort(all, {}, sim::as_short_steps(&Interval::begin));
  std::size_t kept = 0;
  for (const Interval& one : sim::in_short_steps(all)) {
    if (one.end <= one.begin) continue;
    if (kept > 0 && one.begin <= all[kept - 1].end) {
      all[kept - 1].end = std::max(all[kept - 1].end, one.end);
    } else {
      all[kept++] = one;
    }
  }
  all.resize(kept);
}

sim::Time length_of(const Intervals& all) {
  sim::Time length{0};
  for (const Interval& one : all) length += one.end - one.begin;
  return length;
}

// Hands over the intersection, piece by piece. Takes time linear in the part of `all` that lies within `some`.
template <class Take>
void for_each_common(const Intervals& some, const Intervals& all, const Take& take) {
  if (some.empty()) return;
  auto at = std::ranges::upper_bound(all, some.front().begin, {}, &Interval::end);
  for (const Interval& one : sim::in_short_steps(some)) {
    while (at != all.end() && at->end <= one.begin) ++at;
    for (auto inner = at; inner != all.end() && inner->begin < one.end; ++inner) {
      take(Interval{std::max(inner->begin, one.begin), std::min(inner->end, one.end)});
      at = inner;
    }
  }
}

sim::Time common_length(const Intervals& some, const Intervals& all) {
  sim::Time length{0};
  for_each_common(some, all, [&length](const Interval& one) { length += one.end - one.begin; });
  return length;
}

// Doings are the times in which a GPU, or a step on a GPU, computed and communicated.
struct Doings {
  Intervals compute, communication;

  void add(const Stretch& one) { (one.communicates ? communication : compute).push_back({one.begin, one.end}); }
  void settle() {
    unite(compute);
    unite(communication);
  }
  Intervals either() const {
    Intervals all = compute;
    all.insert(all.end(), communication.begin(), communication.end());
    std::ranges::inplace_merge(all, all.begin() + std::ssize(compute), {}, &Interval::begin);
    unite(all);
    return all;
  }
};

Doings doings_of(std::span<const Stretch> stretches) {
  Doings all;
  for (const Stretch& one : sim::in_short_steps(stretches)) all.add(one);
  all.settle();
  return all;
}

void add(Occupancy& all, const Doings& own, const Doings& whole, const Intervals& busy) {
  const Intervals either = own.either();
  if (either.empty()) return;
  const Intervals span{{either.front().begin, either.back().end}};
  all.span += length_of(span);
  all.busy += common_length(span, busy);
  all.compute += length_of(own.compute);
  all.communication += length_of(own.communication);
  all.overlapped += common_length(own.communication, whole.compute);
}

}  // namespace

Occupancy occupancy_of(std::span<const Stretch> stretches) {
  const Doings whole = doings_of(stretches);
  Occupancy all;
  add(all, whole, whole, whole.either());
  return all;
}

std::vector<Occupancy> occupancies_of(const StretchesByGpu& stretches, std::size_t steps) {
  std::vector<Occupancy> all(steps);
  for (const auto& [gpu, of_gpu] : stretches) {
    const Doings whole = doings_of(of_gpu);
    const Intervals busy = whole.either();
    std::map<std::size_t, Doings> by_step;
    for (const Stretch& one : sim::in_short_steps(of_gpu)) {
      if (one.step) by_step[*one.step].add(one);
    }
    for (auto& [step, own] : by_step) {
      own.settle();
      add(all[step], own, whole, busy);
    }
  }
  return all;
}

std::vector<Stretch> exposed_communication(std::span<const Stretch> stretches) {
  const Doings whole = doings_of(stretches);
  std::vector<Stretch> exposed;
  const auto add_exposed = [&exposed](sim::Time begin, sim::Time end) {
    if (end > begin) exposed.push_back({begin, end, true});
  };
  for (const Interval& one : whole.communication) {
    sim::Time from = one.begin;
    for_each_common({one}, whole.compute, [&](const Interval& hidden) {
      add_exposed(from, hidden.begin);
      from = hidden.end;
    });
    add_exposed(from, one.end);
  }
  return exposed;
}

namespace {

// A StepPlace counts steps from 1; 0 is the time before the first step. Without a value it is outside of all steps.
using StepPlace = std::optional<std::size_t>;

// StepOfWork finds the step to which each piece of work belongs.
class StepOfWork {
 public:
  explicit StepOfWork(const Profile& profile) : profile_(profile), last_of_stream_(profile.streams.size()) {
    some_are_launched_ = std::ranges::any_of(profile.work, [](const auto& work) { return bool{work.asked}; });
    for (const MarkedStep& one : profile.marked_steps) {
      const auto step = std::ranges::find(profile.steps, one.name, &ProfiledStep::name);
      if (step != profile.steps.end()) marked_.emplace_back(&one, step - profile.steps.begin() + 1);
    }
  }

  // Returns the step, or nothing if the work is in none. Work of a stream must be passed in its order.
  StepPlace of(const ProfiledWork& work) {
    StepPlace step = work.asked ? within(profile_.calls[*work.asked].begin) : of_unlaunched(work);
    if (work.asked) last_of_stream_[work.stream] = step;
    return step;
  }

 private:
  StepPlace within(sim::Time moment) const {
    const auto behind = std::ranges::upper_bound(profile_.steps, moment, {}, &ProfiledStep::begin);
    const auto step = static_cast<std::size_t>(behind - profile_.steps.begin());
    if (step > 0 && moment >= profile_.steps[step - 1].end) return {};
    return step;
  }

  // If the launch is not in the trace, work belongs to the step that is marked on its GPU, or else to the step of the
  // work launched before it on its stream; if there is none, it was launched before the trace began. In a trace without
  // any launch, work belongs to the step within which it begins.
  StepPlace of_unlaunched(const ProfiledWork& work) const {
    const std::int64_t device = profile_.streams[work.stream].device;
    for (const auto& [mark, step] : marked_) {
      if (mark->device == device && mark->begin <= work.begin && work.begin < mark->end) return step;
    }
    if (some_are_launched_) return last_of_stream_[work.stream].value_or(StepPlace(std::size_t{0}));
    if (marked_.empty()) return within(work.begin);
    return std::ranges::all_of(marked_, [&work](const auto& one) { return work.begin < one.first->begin; })
               ? StepPlace(std::size_t{0})
               : std::nullopt;
  }

  const Profile& profile_;
  bool some_are_launched_ = false;
  std::vector<std::pair<const MarkedStep*, std::size_t>> marked_;
  std::vector<std::optional<StepPlace>> last_of_stream_;  // step of the last launched work
};

}  // namespace

std::vector<StepWork> steps_of(const Profile& profile) {
  std::vector<StepWork> steps;
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> known;
  StepOfWork step_of(profile);
  for (const std::size_t place : sim::short_steps(profile.work.size())) {
    const ProfiledWork& work = profile.work[place];
    const StepPlace step = profile.steps.empty() ? StepPlace(std::size_t{0}) : step_of.of(work);
    if (!step) continue;
    const std::int64_t device = profile.streams[work.stream].device;
    const auto [at, is_new] = known.try_emplace({*step, device}, steps.size());
    if (is_new) {
      const char* const outside = profile.steps.empty() ? "all" : "before the first step";
      steps.push_back({*step == 0 ? outside : profile.steps[*step - 1].name, device, {}});
    }
    steps[at->second].work.push_back(place);
  }
  std::ranges::stable_sort(steps, {}, [&](const StepWork& one) { return profile.work[one.work.front()].begin; });
  return steps;
}

std::vector<Place> places_in(const std::vector<StepWork>& steps, const Profile& profile) {
  std::vector<Place> places(profile.work.size());
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (const std::size_t work : steps[step].work) places[work] = step;
  }
  return places;
}

std::vector<IdleGap> idle_gaps(const Profile& profile, const std::vector<StepWork>& steps) {
  const std::vector<Place> step_of = places_in(steps, profile);
  std::vector<IdleGap> gaps;
  std::vector<bool> has_begun(steps.size(), false);
  std::map<std::int64_t, sim::Time> busy_until;  // by GPU
  for (const std::size_t place : sim::short_steps(profile.work.size())) {
    const ProfiledWork& work = profile.work[place];
    const auto [until, is_first] = busy_until.try_emplace(profile.streams[work.stream].device, work.end);
    const Place step = step_of[place];
    if (step && has_begun[*step] && work.begin > until->second) {
      const bool by_host = work.launch() && profile.calls[*work.launch()].end > until->second;
      gaps.push_back({*step, until->second, work.begin, place, by_host});
    }
    if (step) has_begun[*step] = true;
    until->second = std::max(until->second, work.end);
  }
  return gaps;
}

}  // namespace c3sim::calibrate
