// One run, played again with all of it noted that a picture or an account of it needs.
#pragma once

#include <map>
#include <string>
#include <vector>

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

}  // namespace c3sim::study
