// Where the time of a run went: what held each kind of work back, for how long, and whom it shared that with.
#pragma once

#include <span>

#include "study/report/results.h"
#include "study/run/testbed.h"

namespace c3sim::study {

// Plays each run again and watches the shared resources. One row per run, part of the work and bottleneck; a part is
// what kernels, or engines, do of one operation. `time_us` is the time over which it moved data, split over the
// bottlenecks by how many of its activities each held back: its sum over the rows of a kind is the time for which that
// kind was active on any GPU. `others_percent` is the part of the load on the bottleneck, while it was one, that came
// from `others`.
ResultTable explain(Testbed& testbed, std::span<const NamedRun> runs);

}  // namespace c3sim::study
