// One run, played again with all of it noted that a picture or an account of it needs.
#pragma once

#include <compare>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/machine/resource_kind.h"
#include "sim/resource_network.h"
#include "sim/step_log.h"
#include "study/report/results.h"
#include "study/run/testbed.h"

namespace c3sim::study {

// For how long a link or an engine moved data at one rate.
struct Stretch {
  sim::Time since{0};
  sim::Time until{0};
  sim::BytesPerSecond rate;
  std::string bounded_by;  // what held its oldest transfer back: "link gpu0.link_to_gpu1"
};
using Traffic = std::map<std::string, std::vector<Stretch>>;  // by name of the resource, in order of time

// Times count from the start of the simulation; what is timed lies between `origin` and `end`.
class RunRecord {
 public:
  // `attach` as for Testbed::watch.
  RunRecord(const Testbed& testbed, const NamedRun& run, const Attach& attach = {});

  sim::Time origin() const { return origin_; }
  sim::Time end() const { return origin_ + timeline_.makespan(); }
  const Timeline& timeline() const { return timeline_; }
  const sim::StepLog& steps() const { return steps_; }
  const Traffic& links() const { return links_; }
  // What held a step back that moved data, for most of its time; empty for other steps.
  std::string bounded_by(const sim::StepLog::Step& step) const;

 private:
  sim::Time origin_{0};
  sim::StepLog steps_;
  Traffic links_;
  Traffic engines_;
  Timeline timeline_;
};

// What holds an activity of a node back, in words that people use.

// Its own rate or latency, or a resource of some kind.
struct Bottleneck {
  sim::RateLimit::Kind limit = sim::RateLimit::Kind::cap;
  models::ResourceKind resource{};  // where the limit is a resource
  auto operator<=>(const Bottleneck&) const = default;
};

std::string_view to_string(const Bottleneck& bottleneck);

// What holds a live activity back at the rates now held, and with the name of the resource, if it is one: "link
// gpu0.link_to_gpu1".
Bottleneck bottleneck_of(const sim::ResourceNetwork& network, sim::ResourceNetwork::ActivityId activity);
std::string bottleneck_words(const sim::ResourceNetwork& network, sim::ResourceNetwork::ActivityId activity);

// Plays each run again, and follows what its end waited for from the last step back to the first: each step is found
// from the record of what let the one after it begin. Returns two tables: "critical_path" has a row per step (who was
// at it, what it did to what, when, and what bounded it if it moved data); "critical_path_parts" adds them up by kind.
// Of each run the times fill the makespan: a gap that no step accounts for would be a row of kind "not recorded". Text
// shows every step only of a single run.
std::vector<NamedTable> critical_paths(const Testbed& testbed, std::span<const NamedRun> runs);

}  // namespace c3sim::study
