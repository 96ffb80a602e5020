#include "study/sweep/pareto_front.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace c3sim::study {

namespace {

bool is_no_worse(const std::vector<double>& one, const std::vector<double>& other) {
  return std::ranges::equal(one, other, std::less_equal<>());
}

}  // namespace

void ParetoFront::add(std::vector<double> costs, std::uint64_t index) {
  const auto beats = [&](const Member& member) { return is_no_worse(member.costs, costs); };
  if (std::ranges::any_of(members_, beats)) return;
  std::erase_if(members_, [&](const Member& member) { return is_no_worse(costs, member.costs); });
  members_.push_back({std::move(costs), index});
}

}  // namespace c3sim::study
