#include "study/run/company.h"

#include <algorithm>

namespace c3sim::study {

Company company_of(const Schedule& schedule, const std::vector<Span>& spans, std::size_t place) {
  Company company;
  const Span& own = spans[place];
  if (own.end <= own.start) return company;
  const auto seat_of = [&company](Doer doer) -> double* {
    switch (doer) {
      case Doer::gemm:
      case Doer::kernel:
        return &company.kernels;
      case Doer::channels:
        return &company.channels;
      case Doer::engines:
        return &company.engines;
      case Doer::host:
        break;
    }
    return nullptr;
  };
  for (std::size_t other = 0; other < schedule.size(); ++other) {
    double* const seat = seat_of(doer_of(schedule[other].work));
    const sim::Time together = std::min(own.end, spans[other].end) - std::max(own.start, spans[other].start);
    if (other == place || seat == nullptr || together <= sim::Time::zero()) continue;
    *seat = std::min(1.0, *seat + sim::to_seconds(together) / sim::to_seconds(own.end - own.start));
  }
  return company;
}

}  // namespace c3sim::study
