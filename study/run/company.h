// Who runs beside an operation, and for how much of its time.
#pragma once

#include <cstddef>
#include <vector>

#include "study/run/timeline.h"
#include "study/work/operation.h"

namespace c3sim::study {

// What runs beside an operation, as shares of its time.
struct Company {
  double kernels = 0.0;   // GEMMs, element-wise and remote ones
  double channels = 0.0;  // collectives by kernels
  double engines = 0.0;   // copies, and collectives by engines
};

// Of the operation at `place`, by the spans of all.
Company company_of(const Schedule& schedule, const std::vector<Span>& spans, std::size_t place);

}  // namespace c3sim::study
