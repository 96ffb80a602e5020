// How large work may be: its arrays fit the memory of a GPU, and it is simulated within about a second.
#pragma once

#include <string>

#include "models/machine/cu_mask.h"
#include "models/platform/platform_spec.h"
#include "study/program/operation.h"

namespace c3sim::study {

// Bytes that the arrays of the work take on each GPU that holds them. A kernel may write where it has read, so the
// larger of its arrays counts; a collective is by its whole array.
sim::Bytes arrays_of(const Work& work);

// Why the arrays of the work do not fit a GPU, in one sentence with what does; empty if they do. It is worked out in
// floating point alone, so ask it before anything of the work is counted in integers.
std::string why_no_room(const Work& work, const models::PlatformSpec& platform);

// Why work that fits would take too long to simulate on the CUs of the mask, in one sentence with the number that is
// accepted; empty if it would not.
std::string why_too_many_waves(const Work& work, const models::PlatformSpec& platform, models::CuMask mask = {});

}  // namespace c3sim::study
