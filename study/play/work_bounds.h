// Bounds the size of work: its arrays must fit the memory of a GPU, and simulating it must take about a second at most.
#pragma once

#include <string>

#include "models/platform/cu_resources.h"
#include "models/platform/platform_spec.h"
#include "study/program/operation.h"

namespace c3sim::study {

// Returns the bytes of the work's arrays on each GPU that holds them. A kernel may write in place, so that only the
// larger of its arrays counts. A collective counts its whole array.
sim::Bytes arrays_of(const Work& work);

// Returns why the arrays of the work do not fit a GPU, in one sentence with the size that does; empty if they fit. It
// computes in floating point, so that callers ask it before they count anything of the work in integers.
std::string why_no_room(const Work& work, const models::PlatformSpec& platform);

// Returns why work that fits memory takes too long to simulate on the CUs of the mask, in one sentence with the
// accepted number of workgroups; empty if it does not.
std::string why_too_many_waves(const Work& work, const models::PlatformSpec& platform, models::CuMask mask = {});

}  // namespace c3sim::study
