#include "study/run/timeline.h"

#include <algorithm>

namespace c3sim::study {

sim::Time Timeline::makespan() const {
  sim::Time latest{0};
  for (const Span& span : operations) latest = std::max(latest, span.end);
  return latest;
}

sim::Time Timeline::time_of_last() const { return operations.back().end - operations.back().start; }

}  // namespace c3sim::study
