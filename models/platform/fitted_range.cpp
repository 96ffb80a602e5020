#include "models/platform/fitted_range.h"

#include "models/platform/limits.h"

namespace c3sim::models {

std::vector<FittedRange> FittedRange::read(sim::Section root) {
  std::vector<FittedRange> ranges;
  if (!root.has("fitted_to")) return ranges;
  for (sim::Section row : root.list("fitted_to")) {
    FittedRange range;
    range.work = row.name("name");
    range.smallest = row.quantity("smallest", limits::capacity);
    range.largest = row.quantity("largest", limits::capacity);
    const bool known = row.is_sound("smallest") && row.is_sound("largest");
    if (known && range.largest < range.smallest) row.fault("largest", "is below the smallest");
    range.spread = row.number("spread", 0.0, 10.0, 0.0);
    ranges.push_back(std::move(range));
  }
  return ranges;
}

}  // namespace c3sim::models
