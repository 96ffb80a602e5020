#include "calibrate/readers/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/config/config_error.h"
#include "sim/interruption.h"

namespace c3sim::calibrate {

namespace {

// By sort, each in the order in which they began, of each GPU of a trace.
using Collectives = std::map<models::CollectiveSpec, std::vector<ProfiledWork*>>;
void add_collectives(Profile& profile, std::vector<Collectives>& all) {
  std::map<std::int64_t, Collectives> by_device;
  sim::ShortSteps steps;
  for (ProfiledWork& work : profile.work) {
    steps.note();
    Collectives& own = by_device[profile.streams[work.stream].device];
    if (const models::CollectiveSpec* const spec = profile.collective_of(work)) own[*spec].push_back(&work);
  }
  for (auto& [device, own] : by_device) all.push_back(std::move(own));
}

void require_different_ranks(std::span<Profile* const> profiles) {
  std::set<int> ranks;
  for (const Profile* const one : profiles) {
    if (one->rank && !ranks.insert(*one->rank).second)
      throw sim::ConfigError({{one->file, "", fmt::format("another trace is of rank {}, too", *one->rank)}});
  }
}

}  // namespace

std::string ProfiledStream::name() const { return fmt::format("gpu{} stream {}", device, stream); }

sim::Time Profile::begin() const { return work.empty() ? sim::Time(0) : work.front().begin; }

sim::Time Profile::end() const {
  sim::Time end = begin();
  for (const ProfiledWork& one : work) end = std::max(end, one.end);
  return end;
}

void tell_waits(std::span<Profile* const> profiles) {
  require_different_ranks(profiles);
  std::vector<Collectives> all;
  for (Profile* const profile : profiles) add_collectives(*profile, all);
  if (all.size() < 2) return;
  sim::ShortSteps steps;
  for (const auto& [spec, first] : all.front()) {
    const auto of_rank = [&spec = spec](Collectives& one) -> std::vector<ProfiledWork*>& { return one[spec]; };
    const std::size_t runs = first.size();
    const bool match = std::ranges::all_of(all, [&](Collectives& one) { return of_rank(one).size() == runs; });
    if (!match) {
      constexpr auto why = "collectives of which another rank ran more or fewer: waits are not told apart";
      for (const ProfiledWork* const one : first) profiles.front()->misunderstood[why].add(one->line, sim::Time(0));
      continue;
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      steps.note();
      sim::Time least = sim::Time::max();
      for (Collectives& one : all) least = std::min(least, of_rank(one)[i]->length());
      for (Collectives& one : all) of_rank(one)[i]->least = least;
    }
  }
}

}  // namespace c3sim::calibrate
