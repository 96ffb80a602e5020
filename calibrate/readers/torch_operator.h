// What an event of PyTorch's profiler says of the work behind it: which trial it is, or why it is none.
#pragma once

#include <optional>

#include "calibrate/readers/kineto_events.h"
#include "calibrate/readers/profile.h"

namespace c3sim::calibrate {

// Of an operator that multiplies matrices (aten::mm, addmm, bmm, baddbmm, _scaled_mm); nothing of others.
std::optional<KnownWork> matrix_product_of(const KinetoEvent& event);
// Of a kernel or operator that records a collective's arguments; nothing of others.
std::optional<KnownWork> collective_of(const KinetoEvent& event);

}  // namespace c3sim::calibrate
