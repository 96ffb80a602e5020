// A collective that has a node of its own.
#pragma once

#include "models/collectives/collective.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {

inline sim::Task<> prepare_and_time(sim::Simulator& simulator, CollectiveRun& run, sim::Time& time) {
  co_await run.prepare();
  const sim::Time start = simulator.now();
  co_await run.run();
  time = simulator.now() - start;
}

// The timed part of a collective that is possible on the node.
inline sim::Time time_on(Node& node, const CollectiveSpec& spec) {
  CollectiveRun run(node, spec, {});
  sim::Time time{0};
  node.simulator().spawn("collective", prepare_and_time(node.simulator(), run, time));
  node.simulator().run();
  return time;
}

inline sim::Time time_on(const PlatformSpec& platform, const CollectiveSpec& spec) {
  sim::Simulator simulator;
  Node node(simulator, platform);
  return time_on(node, spec);
}

inline double microseconds_on(const PlatformSpec& platform, const CollectiveSpec& spec) {
  return sim::to_microseconds(time_on(platform, spec));
}

inline CollectiveSpec all_reduce_over_four(double bytes) {
  CollectiveSpec spec;
  spec.kind = CollectiveKind::all_reduce;
  spec.bytes = sim::Bytes(bytes);
  spec.gpus = 4;
  return spec;
}

}  // namespace c3sim::models
