// How far a prediction of isolated work is backed by measurements, and how far it was off of them.
#pragma once

#include <string>

#include "models/platform/platform_spec.h"
#include "sim/config/choice.h"
#include "study/program/operation.h"

namespace c3sim::study {

enum class Fidelity {
  calibrated,    // the platform was fitted to measurements of this work, over a range that holds this size
  extrapolated,  // fitted to the same engines or library at other sizes, on other GPU counts or doing other work, or
                 // asked of a machine with other parameters
  assumed,       // no measurement of what does the work is behind it
};

constexpr auto all_names(Fidelity) { return sim::names("calibrated", "extrapolated", "assumed"); }
using sim::to_string;

// Of a copy, a collective or a GEMM that has the node to itself. The sizes of a GEMM are those of its three matrices: a
// thin one is far from what was measured, however long.
Fidelity fidelity_of(const models::SdmaCopySpec& copy, const models::PlatformSpec& platform);
Fidelity fidelity_of(const models::CollectiveSpec& collective, const models::PlatformSpec& platform);
Fidelity fidelity_of(const models::GemmShape& shape, int cus, const models::PlatformSpec& platform);

// The name under which a platform lists such work in `fitted_to`: "copy", "rccl_all_gather". Empty where it is done in
// another way than what is fitted: by another engine, on fewer CUs or GPUs.
std::string fitted_name_of(const models::SdmaCopySpec& copy, const models::PlatformSpec& platform);
std::string fitted_name_of(const models::CollectiveSpec& collective, const models::PlatformSpec& platform);

// Of a result that two others make up. What runs at once is never better than extrapolated: it was not fitted to.
Fidelity weaker(Fidelity one, Fidelity other);

// The model's own error of a piece of work.
struct Spread {
  std::string of;         // "copy of 64MiB": work of which the model is off by the same factor
  double relative = 0.0;  // standard deviation of measured over predicted time; 0 where the platform does not say
};

// By the row of fitted_to that has the work's name and holds its size, or else the one with the nearest size, as ratios
// go. Work that no row is named after errs like the worst of what the same engines or library do. Of a GEMM the largest
// matrix by that counts.
Spread spread_of(const Work& work, const models::PlatformSpec& platform);

}  // namespace c3sim::study
