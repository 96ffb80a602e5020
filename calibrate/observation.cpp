#include "calibrate/observation.h"

#include "sim/config/config_error.h"

namespace c3sim::calibrate {

std::vector<Observation> observe(const models::PlatformSpec& platform,
                                 std::span<const Measurement* const> measurements) {
  study::Testbed testbed(platform);
  std::vector<Observation> observations;
  for (const Measurement* const measurement : measurements) {
    if (std::string reason = study::why_impossible(testbed, measurement->trial); !reason.empty()) {
      throw sim::ConfigError({{measurement->where(), "", std::move(reason)}});
    }
    std::set<study::Figure> asked;
    for (const Seen& seen : measurement->seen) asked.insert(seen.figure);
    const study::Figures predicted = study::observe(testbed, measurement->trial, asked);
    for (const Seen& seen : measurement->seen) {
      const auto figure = predicted.find(seen.figure);
      const bool in_points = study::form_of(seen.figure).error == study::ErrorKind::points;
      if (figure == predicted.end() || in_points) continue;
      observations.push_back(
          {measurement->where(), study::kind_of(measurement->trial), seen.figure, figure->second / seen.value - 1.0});
    }
  }
  return observations;
}

}  // namespace c3sim::calibrate
