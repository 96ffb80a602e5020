#include "study/run/steady_clock.h"

#include <algorithm>
#include <cmath>

namespace c3sim::study {

namespace {
constexpr double close = 5e-4;  // relative distance of mean power from the cap that is near enough
constexpr int most_runs = 16;
}  // namespace

// The step of the governor's loop is a secant through the run and what is known of its shape: what is drawn above rest
// grows with the cube of the clock. From the second run on the slope between two runs takes the place of that.
bool settle_clock(const models::PowerSpec& spec, const std::function<SteadyRun(sim::Hertz ceiling)>& run) {
  SteadyRun seen = run(spec.highest_clock);
  if (seen.power <= (1.0 + close) * spec.cap) return true;
  double low = spec.lowest_clock.value();
  double high = spec.highest_clock.value();
  double clock = seen.clock_at_work.value();
  double slope = 1.0;  // of the logarithm of the step over that of the clock, less its sign
  for (int runs = 1; runs < most_runs; ++runs) {
    const double step = std::log(spec.step_to_cap(seen.power));
    double next = clock * std::exp(step / slope);
    if (!(next > low && next < high)) next = std::sqrt(low * high);
    seen = run(sim::Hertz(next));
    if (std::abs(seen.power / spec.cap - 1.0) <= close) return true;
    (seen.power > spec.cap ? high : low) = next;
    const double change = std::log(spec.step_to_cap(seen.power)) - step;
    constexpr double least_slope = 0.1;
    slope = std::max(least_slope, -change / std::log(next / clock));
    clock = next;
  }
  return high <= (1.0 + close) * low;
}

}  // namespace c3sim::study
