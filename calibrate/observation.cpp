#include "calibrate/observation.h"

#include "calibrate/prediction.h"

namespace calibrate {

std::vector<Observation> observe(const models::PlatformSpec& platform,
                                 std::span<const Measurement* const> measurements) {
  study::Testbed testbed(platform);
  std::vector<Observation> observations;
  for (const Measurement* measurement : measurements) {
    const Prediction predicted = predict(testbed, *measurement);
    const auto add = [&](Quantity quantity, double ratio) {
      observations.push_back({measurement->where, measurement->subject, quantity, ratio - 1.0});
    };
    if (measurement->time) add(Quantity::time, predicted.time / *measurement->time);
    if (measurement->power) add(Quantity::power, predicted.power / *measurement->power);
    if (measurement->clock) add(Quantity::clock, predicted.clock / *measurement->clock);
  }
  return observations;
}

}  // namespace calibrate
