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

// Of the steps on one GPU.
class Sweep {
 public:
  Sweep(const std::vector<Stretch>& stretches, std::vector<Occupancy>& steps)
      : steps_(steps), own_(steps.size()), left_(steps.size(), 0) {
    for (const Stretch& one : stretches) {
      if (one.end <= one.begin) continue;
      changes_.push_back({one.begin, 1, &one});
      changes_.push_back({one.end, -1, &one});
      if (one.step) left_[*one.step] += 2;
    }
    std::ranges::stable_sort(changes_, {}, &Change::at);
  }

  void sweep() {
    for (const Change& change : changes_) {
      pass(change.at - now_.begin);
      now_.begin = change.at;
      count(now_, change);
      if (!change.of->step) continue;
      const std::size_t step = *change.of->step;
      count(own_[step], change);
      if (std::ranges::find(begun_, step) == begun_.end()) begun_.push_back(step);
      if (--left_[step] == 0) std::erase(begun_, step);
    }
  }

 private:
  struct Change {
    sim::Time at;
    int by;
    const Stretch* of;
  };

  static void count(Segment& segment, const Change& change) {
    (change.of->communicates ? segment.communication : segment.compute) += change.by;
  }
  void pass(sim::Time time) {
    for (const std::size_t step : begun_) {
      Occupancy& one = steps_[step];
      one.span += time;
      if (now_.compute > 0 || now_.communication > 0) one.busy += time;
      if (own_[step].compute > 0) one.compute += time;
      if (own_[step].communication > 0) one.communication += time;
      if (own_[step].communication > 0 && now_.compute > 0) one.overlapped += time;
    }
  }

  std::vector<Occupancy>& steps_;
  std::vector<Change> changes_;
  std::vector<Segment> own_;        // of each step
  std::vector<std::size_t> left_;   // changes of each step that are to come
  std::vector<std::size_t> begun_;  // steps
  Segment now_;
};

}  // namespace

Occupancy occupancy_of(std::span<const Stretch> stretches) {
  std::vector<Stretch> all(stretches.begin(), stretches.end());
  for (Stretch& one : all) one.step = 0;
  return occupancies_of({{0, std::move(all)}}, 1).front();
}

std::vector<Occupancy> occupancies_of(const StretchesByGpu& stretches, std::size_t steps) {
  std::vector<Occupancy> all(steps);
  for (const auto& [gpu, of_gpu] : stretches) Sweep(of_gpu, all).sweep();
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
