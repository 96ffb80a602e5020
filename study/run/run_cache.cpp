#include "study/run/run_cache.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <string>
#include <utility>

namespace c3sim::study {

namespace {

// The same for schedules that play out alike; it need not differ for others.
std::size_t hash_of(const Schedule& schedule, Between between) {
  auto hash = static_cast<std::size_t>(between);
  for (const Operation& operation : schedule) {
    boost::hash_combine(hash, to_string(operation.work));
    boost::hash_range(hash, operation.after.begin(), operation.after.end());
    boost::hash_combine(hash, operation.priority);
    boost::hash_combine(hash, operation.delay.count());
  }
  return hash;
}

bool plays_alike(const Operation& one, Operation other) {
  other.name = one.name;
  other.stream = one.stream;
  return one == other;
}

}  // namespace

const Timeline* RunCache::find(const Schedule& schedule, Between between) const {
  const auto [first, last] = by_hash_.equal_range(hash_of(schedule, between));
  const auto known = std::find_if(first, last, [&](const auto& entry) {
    const Run& run = *entry.second;
    return run.between == between && std::ranges::equal(run.schedule, schedule, plays_alike);
  });
  return known == last ? nullptr : &known->second->timeline;
}

const Timeline& RunCache::keep(const Schedule& schedule, Between between, Timeline timeline) {
  const std::size_t hash = hash_of(schedule, between);
  const auto kept = runs_.insert(runs_.end(), {hash, between, schedule, std::move(timeline)});
  by_hash_.emplace(hash, kept);
  operations_ += schedule.size();
  while (operations_ > most_operations_ && runs_.size() > at_least_) forget_oldest();
  return kept->timeline;
}

void RunCache::forget_oldest() {
  const auto oldest = runs_.begin();
  const auto [first, last] = by_hash_.equal_range(oldest->hash);
  by_hash_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == oldest; }));
  operations_ -= oldest->schedule.size();
  runs_.erase(oldest);
}

}  // namespace c3sim::study
