#include "calibrate/replay/occupancy.h"

#include <algorithm>
#include <map>
#include <utility>

#include "study/run/busy_times.h"

namespace c3sim::calibrate {

namespace {

// When a GPU, or a step on it, did either.
struct Doings {
  study::BusyTimes compute, communication;

  void add(const Stretch& one) { study::add_busy(one.communicates ? communication : compute, one.begin, one.end); }
};

}  // namespace

Occupancy occupancy_of(std::span<const Stretch> stretches) {
  std::vector<Stretch> all(stretches.begin(), stretches.end());
  for (Stretch& one : all) one.step = 0;
  return occupancies_of({{0, std::move(all)}}, 1).front();
}

std::vector<Occupancy> occupancies_of(const StretchesByGpu& stretches, std::size_t steps) {
  std::vector<Occupancy> all(steps);
  for (const auto& [gpu, of_gpu] : stretches) {
    Doings whole;
    std::map<std::size_t, Doings> by_step;
    for (const Stretch& one : of_gpu) {
      whole.add(one);
      if (one.step) by_step[*one.step].add(one);
    }
    const study::BusyTimes busy = whole.compute + whole.communication;
    for (const auto& [step, own] : by_step) {
      const study::BusyTimes span(hull(own.compute + own.communication));
      all[step].span += study::length_of(span);
      all[step].busy += study::length_of(span & busy);
      all[step].compute += study::length_of(own.compute);
      all[step].communication += study::length_of(own.communication);
      all[step].overlapped += study::length_of(own.communication & whole.compute);
    }
  }
  return all;
}

std::vector<Stretch> exposed_communication(std::span<const Stretch> stretches) {
  Doings whole;
  for (const Stretch& one : stretches) whole.add(one);
  std::vector<Stretch> exposed;
  for (const auto& interval : whole.communication - whole.compute) {
    exposed.push_back({sim::Time(interval.lower()), sim::Time(interval.upper()), true});
  }
  return exposed;
}

namespace {

// Steps by place, from 1; 0: before the first.
using StepPlace = std::optional<std::size_t>;

// Which step each piece of work belongs to.
class StepOfWork {
 public:
  explicit StepOfWork(const Profile& profile) : profile_(profile), last_of_stream_(profile.streams.size()) {
    const auto is_asked = [](const ProfiledWork& work) { return work.asked.has_value(); };
    some_are_launched_ = std::ranges::any_of(profile.work, is_asked);
    const auto named = [&profile](const std::string& name) {
      return static_cast<std::size_t>(std::ranges::find(profile.steps, name, &ProfiledStep::name) -
                                      profile.steps.begin());
    };
    for (const MarkedStep& one : profile.marked_steps) {
      const std::size_t step = named(one.name);
      if (step < profile.steps.size()) marked_.push_back({&one, step + 1});
    }
  }

  // Nothing: it is in none. To be asked of the work of a stream one after the other.
  StepPlace of(const ProfiledWork& work) {
    StepPlace step = work.asked ? within(*work.asked) : of_unlaunched(work);
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

  // Its launch is not in the trace: by what the trace marks on its GPU, or else by what was launched before it on its
  // stream; nothing was, where it was launched before the trace began. Of a trace that knows no launch at all it is the
  // step within which it begins.
  StepPlace of_unlaunched(const ProfiledWork& work) const {
    const std::int64_t device = profile_.streams[work.stream].device;
    for (const auto& [mark, step] : marked_) {
      if (mark->device == device && mark->begin <= work.begin && work.begin < mark->end) return step;
    }
    if (some_are_launched_)
      return last_of_stream_[work.stream] ? *last_of_stream_[work.stream] : StepPlace(std::size_t{0});
    if (marked_.empty()) return within(work.begin);
    return std::ranges::all_of(marked_, [&work](const auto& one) { return work.begin < one.first->begin; })
               ? StepPlace(std::size_t{0})
               : std::nullopt;
  }

  const Profile& profile_;
  bool some_are_launched_ = false;
  std::vector<std::pair<const MarkedStep*, std::size_t>> marked_;
  std::vector<std::optional<StepPlace>> last_of_stream_;  // of what was launched on it
};

}  // namespace

std::vector<StepWork> steps_of(const Profile& profile) {
  std::vector<StepWork> steps;
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> known;
  StepOfWork step_of(profile);
  for (std::size_t place = 0; place < profile.work.size(); ++place) {
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

std::vector<std::optional<std::size_t>> places_in(const std::vector<StepWork>& steps, const Profile& profile) {
  std::vector<std::optional<std::size_t>> places(profile.work.size());
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (const std::size_t work : steps[step].work) places[work] = step;
  }
  return places;
}

std::vector<IdleGap> idle_gaps(const Profile& profile, const std::vector<StepWork>& steps) {
  const std::vector<std::optional<std::size_t>> step_of = places_in(steps, profile);
  std::vector<IdleGap> gaps;
  std::vector<bool> has_begun(steps.size(), false);
  std::map<std::int64_t, sim::Time> busy_until;  // by GPU
  for (std::size_t place = 0; place < profile.work.size(); ++place) {
    const ProfiledWork& work = profile.work[place];
    const auto [until, is_first] = busy_until.try_emplace(profile.streams[work.stream].device, work.end);
    const std::optional<std::size_t> step = step_of[place];
    if (step && has_begun[*step] && work.begin > until->second) {
      const bool by_host = work.launch && profile.calls[*work.launch].end > until->second;
      gaps.push_back({*step, until->second, work.begin, place, by_host});
    }
    if (step) has_begun[*step] = true;
    until->second = std::max(until->second, work.end);
  }
  return gaps;
}

}  // namespace c3sim::calibrate
