#include "calibrate/readers/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace c3sim::calibrate {

namespace {

struct Told {
  int rank;
  Measurement* measurement;

  double time() const { return measurement->seen.front().value; }
};

using Collectives = std::map<std::pair<std::string, study::Trial>, std::vector<Told>>;  // by GPU and trial

Collectives collectives_of(std::span<Reading> readings) {
  Collectives collectives;
  for (Reading& reading : readings) {
    if (!reading.rank) continue;
    for (Measurement& one : reading.measurements) {
      if (one.holds_waits) collectives[{reading.gpu, one.trial}].push_back({*reading.rank, &one});
    }
  }
  return collectives;
}

}  // namespace

void take_least_of_ranks(std::span<Reading> readings) {
  std::set<const Measurement*> superseded;
  for (const auto& [key, told] : collectives_of(readings)) {
    std::set<int> ranks;
    for (const Told& one : told) ranks.insert(one.rank);
    if (ranks.size() < 2) continue;
    const Told& least = *std::ranges::min_element(told, {}, &Told::time);
    least.measurement->holds_waits = false;
    least.measurement->group = fmt::format("profiler: collective, least of {} ranks", ranks.size());
    for (const Told& one : told) {
      if (one.measurement != least.measurement) superseded.insert(one.measurement);
    }
  }
  for (Reading& reading : readings) {
    std::vector<Measurement> kept;
    for (Measurement& one : reading.measurements) {
      if (superseded.contains(&one)) {
        reading.left_out.push_back({one.where(), "another rank waited less for the same collective"});
      } else {
        kept.push_back(std::move(one));
      }
    }
    reading.measurements = std::move(kept);
  }
}

}  // namespace c3sim::calibrate
