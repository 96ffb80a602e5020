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

// Of a copy, a collective or a GEMM that has the node to itself. The sizes of a GEMM are those of its three matrices: a
// thin one is far from what was measured, however long.
Fidelity fidelity_of(const models::SdmaCopySpec& copy, const models::PlatformSpec& platform);
Fidelity fidelity_of(const models::CollectiveSpec& collective, const models::PlatformSpec& platform);
Fidelity fidelity_of(const models::GemmShape& shape, int cus, const models::PlatformSpec& platform);

// Of a result that two others make up. What runs at once is never better than extrapolated: it was not fitted to.
Fidelity weaker(Fidelity one, Fidelity other);

}  // namespace c3sim::study
