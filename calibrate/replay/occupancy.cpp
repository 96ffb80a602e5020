#include "calibrate/replay/occupancy.h"

#include <algorithm>
#include <map>
#include <utility>

namespace c3sim::calibrate {

namespace {

// Between two changes: how many stretches of either kind there are.
struct Segment {
  sim::Time begin{0}, end{0};
  int compute = 0, communication = 0;
};

std::vector<Segment> swept(std::span<const Stretch> stretches) {
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
  std::vector<Segment> all;
  Segment now;
  for (const Change& change : changes) {
    now.end = change.at;
    if (now.end > now.begin && (now.compute > 0 || now.communication > 0)) all.push_back(now);
    now.begin = change.at;
    now.compute += change.compute;
    now.communication += change.communication;
  }
  return all;
}

}  // namespace

Occupancy occupancy_of(std::span<const Stretch> stretches) {
  const std::vector<Segment> busy = swept(stretches);
  Occupancy all;
  if (busy.empty()) return all;
  all.span = busy.back().end - busy.front().begin;
  for (const Segment& one : busy) {
    const sim::Time passed = one.end - one.begin;
    all.busy += passed;
    if (one.compute > 0) all.compute += passed;
    if (one.communication > 0) all.communication += passed;
    if (one.compute > 0 && one.communication > 0) all.overlapped += passed;
  }
  return all;
}

std::vector<Stretch> exposed_communication(std::span<const Stretch> stretches) {
  std::vector<Stretch> exposed;
  for (const Segment& one : swept(stretches)) {
    if (one.compute > 0) continue;
    if (!exposed.empty() && exposed.back().end == one.begin) {
      exposed.back().end = one.end;
    } else {
      exposed.push_back({one.begin, one.end, true});
    }
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
