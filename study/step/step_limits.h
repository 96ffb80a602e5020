// What the hardware allows an operation of a step at least, resource by resource, and so what bounds it.
#pragma once

#include <string>

#include "models/platform/platform_spec.h"
#include "sim/units.h"
#include "study/work/operation.h"

namespace c3sim::study {

// Times at peak rates. Of a collective, that of the busiest link.
struct Limits {
  sim::Seconds arithmetic;  // of matrix units, or of vector units where these do the work
  sim::Seconds memory;      // of HBM, each byte moved once
  sim::Seconds links;

  sim::Seconds longest() const;
  Limits& operator+=(const Limits& more);
  Limits& operator*=(double share);
};

Limits limits_of(const Work& work, const models::PlatformSpec& platform);

// "arithmetic", "HBM" or "links", by which takes longest at peak; "latency" where that is less than two fifths of
// `time`.
std::string bound_of(const Limits& limits, sim::Seconds time);

}  // namespace c3sim::study
