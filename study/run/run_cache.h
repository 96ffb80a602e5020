// Runs that have been made, found again by their schedule: by all that decides how it plays out, which names and
// streams do not.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>

#include "study/run/timeline.h"
#include "study/work/operation.h"

namespace c3sim::study {

class RunCache {
 public:
  // Beyond so many operations in all runs the oldest of these are forgotten, but for the newest `at_least`.
  explicit RunCache(std::size_t most_operations = 1 << 18, std::size_t at_least = 64)
      : most_operations_(most_operations), at_least_(at_least) {}

  // What was kept; null if nothing was. It stays valid until `at_least` further runs have been kept.
  const Timeline* find(const Schedule& schedule, Between between) const;
  const Timeline& keep(const Schedule& schedule, Between between, Timeline timeline);
  std::size_t size() const { return runs_.size(); }

 private:
  struct Run {
    std::size_t hash;
    Between between;
    Schedule schedule;
    Timeline timeline;
  };
  void forget_oldest();

  std::size_t most_operations_;
  std::size_t at_least_;
  std::size_t operations_ = 0;  // of all runs
  std::list<Run> runs_;         // by age
  std::unordered_multimap<std::size_t, std::list<Run>::iterator> by_hash_;
};

}  // namespace c3sim::study
