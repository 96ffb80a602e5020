// A UsageList sums what one unit of an activity's progress takes from each shared resource.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/fair_share.h"

namespace c3sim::models {

class UsageList {
 public:
  UsageList() { usages_.reserve(most_usual); }
  // Adds `amount` (>= 0) units of `resource` per unit of progress.
  void add(std::uint32_t resource, double amount) {
    if (amount <= 0.0) return;
    const auto known = std::find_if(usages_.begin(), usages_.end(),
                                    [resource](const sim::Usage& usage) { return usage.resource == resource; });
    if (known != usages_.end()) {
      known->coefficient += amount;
    } else {
      usages_.push_back({resource, amount});
    }
  }
  std::vector<sim::Usage> take() && { return std::move(usages_); }
  const std::vector<sim::Usage>& usages() const { return usages_; }

 private:
  static constexpr std::size_t most_usual = 10;  // enough for a link and every level of two memories

  std::vector<sim::Usage> usages_;
};

}  // namespace c3sim::models
