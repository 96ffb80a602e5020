// A profiled run as an experiment for `c3sim run`, to be edited.
#pragma once

#include <string>

#include "calibrate/replay/replay.h"

namespace c3sim::calibrate {

// Of one rank, which stands for all GPUs. What computes on a stream between two waits is GEMMs no longer than the
// longest traced, one where there is no collective, and a kernel that goes through memory, together as long, by the
// machine's model, as such work alone; delays are waits of collectives for other GPUs, idle time of a stream that no
// other stream explains, and what computes while a stream that computes more does: what both cost each other is part of
// their traced times. Throws sim::ConfigError for a trace of several GPUs.
std::string experiment_text(const Profile& profile, const Run& run, Contention& machine, models::Backend backend);

}  // namespace c3sim::calibrate
