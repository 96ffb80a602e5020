#include "study/work/queued.h"

#include <algorithm>
#include <cstddef>
#include <map>

namespace c3sim::study {

namespace {

// A copy whose commands a queue may hold before its turn; a runtime's calls are made in theirs.
bool is_copy(const Operation& operation) {
  const auto* const copy = std::get_if<models::SdmaCopySpec>(&operation.work);
  return copy != nullptr && !copy->submit;
}

}  // namespace

std::vector<bool> queued(const Schedule& schedule) {
  std::map<std::vector<std::size_t>, int>
      alike;  // kernels that do not say how they are launched, by what they wait for
  for (const Operation& operation : schedule) {
    if (is_kernel(operation.work) && !operation.launch) ++alike[operation.after];
  }
  std::vector<bool> queued;
  const auto is_launched_copy = [&](std::size_t place) {
    const Operation& operation = schedule[place];
    return is_copy(operation) && operation.delay == sim::Time::zero() && (queued[place] || operation.after.empty());
  };
  const auto is_polled_for = [&](const Operation& operation, std::size_t place) {
    return operation.stored && operation.stored->by == place;
  };
  for (const Operation& operation : schedule) {
    const bool waits = !operation.after.empty() && operation.delay == sim::Time::zero();
    const bool as_kernel = operation.launch ? operation.launch == Launch::queued
                                            : is_kernel(operation.work) && alike[operation.after] == 1;
    const bool as_copy = is_copy(operation) && std::ranges::all_of(operation.after, [&](std::size_t place) {
                           return is_polled_for(operation, place) || is_launched_copy(place);
                         });
    queued.push_back(waits && (as_kernel || as_copy));
  }
  return queued;
}

}  // namespace c3sim::study
