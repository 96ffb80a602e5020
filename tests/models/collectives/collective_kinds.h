// Every collective, and every plan of copy engines, to go through or to draw from.
#pragma once

#include <vector>

#include "models/platform/collective_spec.h"

namespace c3sim::models {

inline const std::vector<CollectiveKind> all_kinds{CollectiveKind::all_gather, CollectiveKind::all_to_all,
                                                   CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                                   CollectiveKind::broadcast};
inline const std::vector<SdmaVariant> all_variants{SdmaVariant::pcpy, SdmaVariant::bcst, SdmaVariant::swap,
                                                   SdmaVariant::b2b};

}  // namespace c3sim::models
