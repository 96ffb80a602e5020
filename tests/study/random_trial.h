// This file draws trials at random from few values per field, so that two trials often differ in one field alone.
#pragma once

#include <rapidcheck.h>

#include <initializer_list>
#include <optional>
#include <vector>

#include "study/ask/trial.h"

namespace c3sim::study {

template <class T>
T any_of(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}

template <class T>
T any_choice(const std::vector<sim::Choice<T>>& choices) {
  return (*rc::gen::elementOf(choices)).second;
}

inline std::optional<int> maybe_count() { return any_of<std::optional<int>>({std::nullopt, 1, 8, 16}); }
inline models::GemmShape any_shape() {
  return any_of<models::GemmShape>(
      {{64, 128, 256}, {64, 128, 256, models::Dtype::fp8}, {128, 64, 256}, {64, 256, 128}, {16777216, 1, 1}});
}
// The sizes include neighbours and sizes that are written with a unit.
inline sim::Bytes any_bytes() {
  return sim::Bytes(any_of({64.0, 1024.0, 1025.0, 1048576.0, 1048577.0, 1e9, 1099511627776.0}));
}
inline sim::Time any_pause() {
  return sim::Time(any_of<std::int64_t>({0, 1, 1'000'000, 1'000'001, 3'600'000'000'000'000}));
}

inline models::CollectiveSpec any_collective() {
  models::CollectiveSpec spec{.kind = any_choice(sim::choices_of<models::CollectiveKind>()),
                              .backend = any_choice(sim::choices_of<models::Backend>()),
                              .bytes = any_bytes(),
                              .gpus = any_of({0, 2, 8}),
                              .cus = maybe_count(),
                              .channels = maybe_count(),
                              .graph = any_of({0, 1}) == 1};
  if (models::by_kernels(spec.backend)) return spec;  // the other fields concern engines
  spec.variant = any_choice(sim::choices_of<models::SdmaVariant>());
  spec.prelaunch = any_of({0, 1}) == 1;
  spec.engines = any_of({1, 2, 4});
  using models::HostThreads;
  spec.host_threads = any_of<std::optional<HostThreads>>({std::nullopt, HostThreads::one, HostThreads::per_gpu});
  return spec;
}

inline RemoteTrial any_remote() {
  using models::RemoteAccess;
  RemoteTrial trial;
  trial.access = any_of({RemoteAccess::store, RemoteAccess::uncached_store, RemoteAccess::load});
  trial.pattern = any_of({RemoteTrial::Pattern::one_way, RemoteTrial::Pattern::both_ways, RemoteTrial::Pattern::all});
  trial.bytes = any_bytes();
  trial.cus = maybe_count();
  if (trial.pattern == RemoteTrial::Pattern::all) return trial;  // a trial of all GPUs names none
  trial.gpu = any_of({0, 1, 2});
  trial.peer = any_of({0, 1, 2});
  return trial;
}

inline StreamTrial any_stream() { return {any_of({0, 1, 2}), any_of({1, 2}), any_bytes(), maybe_count()}; }

inline C3Trial any_c3() {
  C3Trial trial;  // the scenario has no name: the name decides nothing
  trial.scenario.gemm = any_shape();
  trial.scenario.collective = any_choice(sim::choices_of<models::CollectiveKind>());
  trial.scenario.bytes = any_bytes();
  trial.scenario.channels = maybe_count();
  trial.scenario.reserved = maybe_count();
  trial.scenario.delay = any_pause();
  trial.strategy = any_choice(sim::choices_of<Strategy>());
  trial.scenario.barrier = *rc::gen::element(Barrier::each, Barrier::none);
  trial.scenario.operands = any_of<std::optional<Operands>>({std::nullopt, Operands::cold, Operands::rotating});
  trial.scenario.kernels = any_choice(sim::choices_of<models::Backend>());
  trial.scenario.variant = any_choice(sim::choices_of<models::SdmaVariant>());
  trial.scenario.prelaunch = *rc::gen::arbitrary<bool>();
  return trial;
}

// Returns a trial of any kind.
inline Trial any_trial() {
  switch (*rc::gen::inRange(0, 14)) {
    case 0:
      return RestTrial{};
    case 1:
      return EmptyKernelTrial{};
    case 2:
      return GemmTrial{any_shape(), maybe_count(), maybe_count(), any_pause()};
    case 3:
      return CollectiveTrial{any_collective()};
    case 4:
      return CopyTrial{
          {any_of({models::host_device, 0, 1}), any_of({models::host_device, 0, 1}), any_bytes(), maybe_count()}};
    case 5:
      return FanOutTrial{any_of({1, 7}), any_bytes()};
    case 6:
      return any_remote();
    case 7:
      return any_stream();
    case 8:
      return LoadTrial{any_bytes(), sim::BytesPerSecond(any_of({0.0, 1.0, 1e9, 1.5e9, 4e12})), any_of({0.0, 0.5, 1.0})};
    case 9:
      return any_c3();
    case 10:
      return StreamAndCollectiveTrial{any_stream(), any_collective()};
    case 11: {
      StreamAndCopiesTrial trial{{}, any_bytes(), any_of({0, 1}) == 1, any_of({0, 1})};
      if (any_of({0, 1}) == 1) trial.stream = any_stream();
      return trial;
    }
    case 12: {
      HogTrial trial;
      trial.hog = any_of({Hog::compute, Hog::stream});
      if (trial.hog == Hog::stream) trial.arrays.arrays_read = any_of({0, 1, 2});
      trial.arrays.workgroups = any_of({1, 16});
      trial.beside = any_shape();
      if (any_of({0, 1}) == 1) trial.beside = any_collective();
      return trial;
    }
    default:
      return DependentTrial{any_shape(), any_choice(sim::choices_of(all_dependent_schedules()))};
  }
}

}  // namespace c3sim::study
