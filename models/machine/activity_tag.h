// An ActivityTag says which operation asked for an activity of the resource network, and which kind of tenant it is to
// a GPU. It travels with the activity, so that explanations, traces and counterfactual machines need not guess.
#pragma once

#include <cstdint>

#include "models/platform/interference.h"

namespace c3sim::models {

struct ActivityTag {
  std::uint32_t operation = 0;  // index in the schedule
  Tenant tenant = Tenant::stream;

  constexpr std::uint32_t packed() const {
    return operation * static_cast<std::uint32_t>(tenant_kinds) + static_cast<std::uint32_t>(tenant);
  }
  static constexpr ActivityTag of(std::uint32_t packed) {
    constexpr auto kinds = static_cast<std::uint32_t>(tenant_kinds);
    return {packed / kinds, static_cast<Tenant>(packed % kinds)};
  }
};

}  // namespace c3sim::models
