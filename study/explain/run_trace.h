// Replays runs and records all of their steps. Draws them as traces over time, finds the critical path to the end of a
// run, and reports what held back each kind of work.
#pragma once

#include <span>
#include <vector>

#include "sim/trace.h"
#include "study/play/testbed.h"
#include "study/report/results.h"

namespace c3sim::study {

// Replays each run and follows what its end waited for from the last step back to the first, by the record of what let
// each step begin. Returns two tables: "critical_path" has a row per step (where it ran, what it did to what, when, and
// what bounded it if it moved data), and "critical_path_parts" sums up the steps of each kind. The times of a run add
// up to its makespan: a gap between steps would be a row of kind "not recorded". Text shows single steps only if there
// is one run.
std::vector<NamedTable> critical_paths(const Testbed& testbed, std::span<const NamedRun> runs);

// Replays each run and watches the shared resources. Returns one row per run, part of the work and bottleneck; a part
// is what kernels, or engines, do of one operation. `time_us` is the time over which the part moved data, split over
// the bottlenecks by how many of its activities each held back: its sum over the rows of a part is the time for which
// that part was active on any GPU. `others_percent` is the share of the load on the bottleneck, while it was one, that
// came from `others`.
ResultTable explain(Testbed& testbed, std::span<const NamedRun> runs);

// Replays each run as a group of the trace. The group has a track for each stream, host thread, queue, engine and
// kernel that did something and each link that carried something, and counters, in percent, for the utilisation of HBM,
// Infinity Cache and the busiest link out of each GPU. Slices of a track never overlap: steps that overlap (signals
// under way, packets in set-up) get a further track, "gpu0.sdma2.queue0 (2)". If one GPU stands for all, only its
// tracks are there.
void trace_runs(Testbed& testbed, std::span<const NamedRun> runs, sim::PerfettoTrace& sink);

}  // namespace c3sim::study
