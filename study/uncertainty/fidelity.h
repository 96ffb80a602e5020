// Says how far measurements back a prediction of isolated work, and how far the prediction was off.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/platform/platform_spec.h"
#include "sim/config/choice.h"
#include "study/program/operation.h"

namespace c3sim::study {

enum class Fidelity {
  calibrated,    // the platform was fitted to measurements of this work, over a range that holds this size
  extrapolated,  // fitted to the same engines or library at other sizes, on other GPU counts or doing other work, or
                 // asked of a machine with other parameters
  assumed,       // no measurement covers the engines or library that do the work
};

constexpr auto all_names(Fidelity) { return sim::names("calibrated", "extrapolated", "assumed"); }
using sim::to_string;

// Returns the fidelity of work that has the node to itself, on so many CUs (all unless given). The sizes of a GEMM are
// those of its three matrices: a thin GEMM is far from what was measured, however long. Kernels of which no row of a
// platform's `fitted_to` is, those of attention and over arrays, are judged by their parameters.
Fidelity fidelity_of(const Work& work, const models::PlatformSpec& platform, std::optional<int> cus = {});

// Returns `extrapolated` if any parameter whose path begins with `of` was measured or fitted, else `assumed`.
Fidelity by_parameters(const models::PlatformSpec& platform, std::string_view of);

// Return the name of such work in `fitted_to` of a platform: "copy", "rccl_all_gather". The name is empty if the work
// differs from what is fitted: if it uses another engine, or fewer CUs or GPUs.
std::string fitted_name_of(const models::SdmaCopySpec& copy, const models::PlatformSpec& platform);
std::string fitted_name_of(const models::CollectiveSpec& collective, const models::PlatformSpec& platform);

// Returns the fidelity of a result that two others make up.
Fidelity weaker(Fidelity one, Fidelity other);

// A Spread is the model's own error for a piece of work.
struct Spread {
  std::string of;         // "copy of 64MiB": the model is off by one factor for all such work
  double relative = 0.0;  // standard deviation of measured over predicted time; 0 where the platform does not say
};

// Returns the spread of the row of fitted_to that has the work's name and holds its size, or else of the row with the
// nearest size, as ratios go. Work that no row is named after has the largest spread of the same engines or library.
// The size of a GEMM is that of its smallest matrix.
Spread spread_of(const Work& work, const models::PlatformSpec& platform);

}  // namespace c3sim::study
