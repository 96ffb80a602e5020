// Whose an activity of the resource network is: the operation that asked for it, and which kind of tenant it is to a
// GPU. Travels as the activity's tag, so that explanations, traces and counterfactual machines ask and need not guess.
#pragma once

#include <cstdint>

#include "models/platform/interference.h"

namespace c3sim::models {

struct ActivityTag {
  std::uint32_t operation = 0;  // its place in the schedule
  Tenant tenant = Tenant::stream;

  constexpr std::uint32_t packed() const {
    return operation * static_cast<std::uint32_t>(tenants) + static_cast<std::uint32_t>(tenant);
  }
  static constexpr ActivityTag of(std::uint32_t packed) {
    constexpr auto kinds = static_cast<std::uint32_t>(tenants);
    return {packed / kinds, static_cast<Tenant>(packed % kinds)};
  }
};

}  // namespace c3sim::models
