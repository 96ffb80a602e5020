// The names that the command line and experiment files use for the alternatives of the models.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "models/collectives/collective.h"
#include "models/collectives/fused_gemm.h"
#include "models/kernels/remote_kernel.h"
#include "models/platform/interference.h"
#include "models/sdma/sdma_copy.h"

namespace c3sim::study {

// An alternative by its name, in the form that sim::Section::choice takes.
template <class T>
using Choice = std::pair<std::string_view, T>;

// The alternatives, each under the name that its to_string gives.
template <class T>
std::vector<Choice<T>> choices_of(std::span<const T> alternatives) {
  std::vector<Choice<T>> choices;
  for (const T alternative : alternatives) choices.emplace_back(to_string(alternative), alternative);
  return choices;
}

inline std::vector<Choice<models::CollectiveKind>> collective_choices() {
  using enum models::CollectiveKind;
  return choices_of<models::CollectiveKind>(std::array{all_gather, all_to_all, all_reduce, reduce_scatter, broadcast});
}
inline std::vector<Choice<models::Dtype>> dtype_choices() { return choices_of<models::Dtype>(models::all_dtypes); }
inline std::vector<Choice<models::Backend>> backend_choices() {
  std::vector<Choice<models::Backend>> choices;
  for (const models::BackendAbilities& one : models::backends()) choices.emplace_back(one.name, one.backend);
  return choices;
}
inline std::vector<Choice<models::SdmaVariant>> variant_choices() {
  std::vector<Choice<models::SdmaVariant>> choices;
  for (const models::SdmaPlan& plan : models::sdma_plans()) choices.emplace_back(plan.name, plan.variant);
  return choices;
}
inline std::vector<Choice<models::RemoteAccess>> remote_access_choices() {
  using enum models::RemoteAccess;
  return choices_of<models::RemoteAccess>(std::array{store, uncached_store, load});
}
inline std::vector<Choice<models::Submission>> submission_choices() {
  return choices_of<models::Submission>(models::all_submissions);
}
inline std::vector<Choice<models::FusedPath>> fused_path_choices() {
  return choices_of<models::FusedPath>(std::array{models::FusedPath::direct, models::FusedPath::ring});
}
inline std::vector<Choice<models::TriggerChoice>> trigger_choices() {
  std::vector<Choice<models::TriggerChoice>> choices;
  for (std::size_t place = 0; place < models::trigger_policies().size(); ++place) {
    choices.emplace_back(models::trigger_policies()[place].name, models::TriggerChoice{place});
  }
  return choices;
}
inline std::vector<Choice<models::HostThreads>> host_thread_choices() {
  return choices_of<models::HostThreads>(std::array{models::HostThreads::one, models::HostThreads::per_gpu});
}
inline std::vector<Choice<models::Protocol>> protocol_choices() {
  return choices_of<models::Protocol>(models::all_protocols);
}
inline std::vector<Choice<models::Mechanism>> mechanism_choices() {
  return choices_of<models::Mechanism>(models::all_mechanisms);
}

}  // namespace c3sim::study
