#include "study/explain/run_record.h"

#include <algorithm>
#include <utility>

#include "study/explain/bottleneck.h"

namespace c3sim::study {

namespace {

void append(std::vector<Stretch>& stretches, Stretch next) {
  if (!stretches.empty()) {
    Stretch& last = stretches.back();
    if (last.until == next.since && last.rate.value() == next.rate.value() && last.bounded_by == next.bounded_by) {
      last.until = next.until;
      return;
    }
  }
  stretches.push_back(std::move(next));
}

// Notes what links and engines move whenever rates were held for a while.
class TrafficWatch {
 public:
  TrafficWatch(models::Node& node, sim::Time origin, Traffic& links, Traffic& engines)
      : network_(node.network()), origin_(origin), links_(links), engines_(engines) {}

  void operator()(sim::Time since, sim::Time until) {
    for (const sim::ResourceId resource : resources_) {
      const models::ResourceKind kind = models::kind_of(network_, resource);
      if (kind == models::ResourceKind::link) note(links_, resource, since, until);
      if (kind == models::ResourceKind::engine) note(engines_, resource, since, until);
    }
  }

 private:
  void note(Traffic& traffic, sim::ResourceId resource, sim::Time since, sim::Time until) {
    const std::vector<sim::ResourceNetwork::Share> shares = network_.shares(resource);
    if (shares.empty()) return;
    append(traffic[network_.name(resource)],
           {std::max(since, origin_), until, sim::BytesPerSecond(network_.load(resource)),
            bottleneck_words(network_, shares.front().activity)});
  }

  const sim::ResourceNetwork& network_;
  std::vector<sim::ResourceId> resources_ = network_.whole_resources();
  sim::Time origin_;
  Traffic& links_;
  Traffic& engines_;
};

}  // namespace

RunRecord::RunRecord(const Testbed& testbed, const NamedRun& run, const Attach& attach) {
  const auto watch = [this, &attach](models::Node& node, sim::Time origin) {
    origin_ = origin;
    node.network().add_observer(TrafficWatch(node, origin, links_, engines_));
    if (attach) attach(node, origin);
  };
  timeline_ = testbed.watch(run.schedule, watch, &steps_, run.between);
}

std::string RunRecord::bounded_by(const sim::StepLog::Step& step) const {
  std::map<std::string, sim::Time> held;
  for (const Traffic* const traffic : {&engines_, &links_}) {
    const auto found = traffic->find(step.track);
    if (found == traffic->end()) continue;
    for (const Stretch& stretch : found->second) {
      const sim::Time overlap = std::min(stretch.until, step.end) - std::max(stretch.since, step.begin);
      if (overlap.count() > 0) held[stretch.bounded_by] += overlap;
    }
  }
  const auto longest = std::ranges::max_element(held, {}, [](const auto& one) { return one.second; });
  return longest == held.end() ? std::string() : longest->first;
}

}  // namespace c3sim::study
