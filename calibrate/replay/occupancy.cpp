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

std::vector<StepWork> steps_of(const Profile& profile) {
  std::vector<StepWork> steps;
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> known;
  for (std::size_t place = 0; place < profile.work.size(); ++place) {
    const ProfiledWork& work = profile.work[place];
    const sim::Time asked = work.launch ? profile.calls[*work.launch].begin : work.begin;
    const auto behind = std::ranges::upper_bound(profile.steps, asked, {}, &ProfiledStep::begin);
    const auto step = static_cast<std::size_t>(behind - profile.steps.begin());  // from 1; 0: before all
    if (!profile.steps.empty() && (step == 0 || asked >= profile.steps[step - 1].end)) continue;
    const std::int64_t device = profile.streams[work.stream].device;
    const auto [at, is_new] = known.try_emplace({step, device}, steps.size());
    if (is_new) steps.push_back({step == 0 ? "all" : profile.steps[step - 1].name, device, {}});
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
