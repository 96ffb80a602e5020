// This file makes collectives for tests and times one that has a node to itself.
#pragma once

#include <optional>
#include <vector>

#include "models/collectives/collective.h"
#include "tests/models/model_fixture.h"

namespace c3sim::models {

// Tests iterate over these lists of all collectives and all copy-engine plans, or draw from them.
inline const std::vector<CollectiveKind> all_kinds{CollectiveKind::all_gather, CollectiveKind::all_to_all,
                                                   CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                                   CollectiveKind::broadcast};
inline const std::vector<SdmaVariant> all_variants{SdmaVariant::pcpy, SdmaVariant::bcst, SdmaVariant::swap,
                                                   SdmaVariant::b2b};

inline sim::Task<> prepare_and_time(sim::Simulator& simulator, CollectiveRun& run, sim::Time& time) {
  co_await run.prepare();
  const sim::Time start = simulator.now();
  co_await run.run();
  time = simulator.now() - start;
}

// Returns the time of the timed part of a collective; the node must be able to run the collective.
inline sim::Time time_on(Node& node, const CollectiveSpec& spec) {
  CollectiveRun run(node, spec, {});
  sim::Time time{0};
  node.simulator().spawn("collective", prepare_and_time(node.simulator(), run, time));
  node.simulator().run();
  return time;
}

inline sim::Time time_on(const PlatformSpec& platform, const CollectiveSpec& spec) {
  LoneNode node(platform);
  return time_on(node, spec);
}

inline double microseconds_on(const PlatformSpec& platform, const CollectiveSpec& spec) {
  return sim::to_microseconds(time_on(platform, spec));
}

inline CollectiveSpec collective(CollectiveKind kind, Backend backend, sim::Bytes bytes,
                                 int gpus = CollectiveSpec().gpus) {
  CollectiveSpec spec{.kind = kind, .backend = backend, .bytes = bytes, .gpus = gpus};
  return spec;
}
inline CollectiveSpec all_reduce_over_four(double bytes, std::optional<RcclAlgorithm> algorithm = {}) {
  CollectiveSpec spec = collective(CollectiveKind::all_reduce, Backend::rccl, sim::Bytes(bytes), 4);
  spec.algorithm = algorithm;
  return spec;
}

}  // namespace c3sim::models
