#include "calibrate/readers/ranks.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "calibrate/readers/repeated_runs.h"

namespace c3sim::calibrate {

namespace {

bool came_last(const ProfiledWork& collective) { return collective.length() == collective.least; }

// Whether what the rank waited for others is less than a hundredth of its run, of whose collectives all are known.
bool hardly_waited(const Profile& profile) {
  sim::Time waited{0};
  for (const ProfiledWork& work : profile.work) {
    if (work.kind != WorkKind::collective) continue;
    if (work.least == ProfiledWork::unknown) return false;
    waited += work.length() - work.least;
  }
  constexpr int hardly = 100;
  return hardly * waited < profile.end() - profile.begin();
}

// False where nothing is left of it.
bool take_waits_out(Measurement& one, const Profile& profile) {
  if (one.runs.empty()) {
    one.holds_waits = !hardly_waited(profile);
    return true;
  }
  const auto& work = profile.work;
  if (std::ranges::none_of(one.runs,
                           [&](const TracedRun& run) { return work[run.collective].least != ProfiledWork::unknown; }))
    return true;
  std::erase_if(one.runs, [&](const TracedRun& run) { return !came_last(work[run.collective]); });
  if (one.runs.empty()) return false;
  std::vector<double> values;
  for (const TracedRun& run : one.runs) values.push_back(run.value);
  const Percentiles seconds = percentiles_of(std::move(values));
  Seen& seen = one.seen.front();
  std::tie(seen.value, seen.low, seen.high) = std::tuple(seconds.median, seconds.low, seconds.high);
  one.group += ", last to come";
  one.holds_waits = false;
  return true;
}

}  // namespace

void tell_waits_of_ranks(std::span<Reading> readings) {
  std::map<std::string, std::map<int, std::vector<Reading*>>> runs;  // by GPU and rank
  std::vector<std::vector<Reading*>> together;
  for (Reading& reading : readings) {
    if (!reading.profile) continue;
    if (reading.profile->rank) runs[reading.gpu][*reading.profile->rank].push_back(&reading);
    if (!reading.profile->rank) together.push_back({&reading});
  }
  for (const auto& [gpu, ranks] : runs) {
    const bool once = std::ranges::all_of(ranks, [](const auto& rank) { return rank.second.size() == 1; });
    if (once) together.emplace_back();
    for (const auto& [rank, own] : ranks) {
      if (once) together.back().push_back(own.front());
    }
  }
  for (const std::vector<Reading*>& run : together) {
    std::vector<Profile*> profiles;
    for (Reading* const reading : run) profiles.push_back(&*reading->profile);
    tell_waits(profiles);
    for (Reading* const reading : run) {
      std::erase_if(reading->measurements, [&](Measurement& one) {
        if (!one.holds_waits || take_waits_out(one, *reading->profile)) return false;
        reading->left_out.push_back({one.where(), "its rank waited for another, whose trace tells it"});
        return true;
      });
    }
  }
}

}  // namespace c3sim::calibrate
