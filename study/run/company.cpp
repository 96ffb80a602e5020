#include "study/run/company.h"

#include <algorithm>

namespace c3sim::study {

Company company_of(const Schedule& schedule, const std::vector<Span>& spans, std::size_t place) {
  Company company;
  const Span& own = spans[place];
  if (own.end <= own.start) return company;
  for (std::size_t other = 0; other < schedule.size(); ++other) {
    const Doer doer = doer_of(schedule[other].work);
    const sim::Time together = std::min(own.end, spans[other].end) - std::max(own.start, spans[other].start);
    if (other == place || doer == Doer::host || together <= sim::Time::zero()) continue;
    double& seat = doer == Doer::channels  ? company.channels
                   : doer == Doer::engines ? company.engines
                                           : company.kernels;
    seat = std::min(1.0, seat + sim::to_seconds(together) / sim::to_seconds(own.end - own.start));
  }
  return company;
}

}  // namespace c3sim::study
