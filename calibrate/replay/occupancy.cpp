#include "calibrate/replay/occupancy.h"

#include <algorithm>
#include <map>
#include <utility>

namespace c3sim::calibrate {

Occupancy occupancy_of(std::span<const Stretch> stretches) {
  struct Change {
    sim::Time at;
    int compute, communication;
  };
  std::vector<Change> changes;
  for (const Stretch& one : stretches) {
    if (one.end <= one.begin) continue;
    const int communicates = one.communicates ? 1 : 0;
    changes.push_back({one.begin, 1 - communicates, communicates});
    changes.push_back({one.end, communicates - 1, -communicates});
  }
  std::ranges::sort(changes, {}, &Change::at);
  Occupancy all;
  if (changes.empty()) return all;
  all.span = changes.back().at - changes.front().at;
  int compute = 0;
  int communication = 0;
  sim::Time since = changes.front().at;
  for (const Change& change : changes) {
    const sim::Time passed = change.at - since;
    since = change.at;
    if (compute > 0 || communication > 0) all.busy += passed;
    if (compute > 0) all.compute += passed;
    if (communication > 0) all.communication += passed;
    if (compute > 0 && communication > 0) all.overlapped += passed;
    compute += change.compute;
    communication += change.communication;
  }
  return all;
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

std::vector<IdleGap> idle_gaps(const Profile& profile, const StepWork& step) {
  std::vector<IdleGap> gaps;
  if (step.work.empty()) return gaps;
  sim::Time busy_until = profile.work[step.work.front()].begin;
  for (const std::size_t place : step.work) {
    const ProfiledWork& work = profile.work[place];
    if (work.begin > busy_until) {
      const bool by_host = work.launch && profile.calls[*work.launch].end > busy_until;
      gaps.push_back({busy_until, work.begin, place, by_host});
    }
    busy_until = std::max(busy_until, work.end);
  }
  return gaps;
}

}  // namespace c3sim::calibrate
