// How far a prediction of isolated work is backed by measurements.
#pragma once

#include <string_view>

#include "models/platform/platform_spec.h"
#include "study/operation.h"

namespace c3sim::study {

enum class Fidelity {
  calibrated,    // the platform was fitted to measurements of this work, over a range that holds this size
  extrapolated,  // fitted to the same engines or library at other sizes, on other GPU counts or doing other work, or
                 // asked of a machine with other parameters
  assumed,       // no measurement of what does the work is behind it
};

std::string_view to_string(Fidelity fidelity);

// Of a copy or a collective that has the node to itself.
Fidelity fidelity_of(const models::SdmaCopySpec& copy, const models::PlatformSpec& platform);
Fidelity fidelity_of(const models::CollectiveSpec& collective, const models::PlatformSpec& platform);

}  // namespace c3sim::study
