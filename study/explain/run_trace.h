// Runs, each played again with all of it noted: as pictures over time, as the path that its end waited for, and as an
// account of what held each kind of work back.
#pragma once

#include <span>
#include <vector>

#include "sim/trace.h"
#include "study/play/testbed.h"
#include "study/report/results.h"

namespace c3sim::study {

// Plays each run again, and follows what its end waited for from the last step back to the first: each step is found
// from the record of what let the one after it begin. Returns two tables: "critical_path" has a row per step (who was
// at it, what it did to what, when, and what bounded it if it moved data); "critical_path_parts" adds them up by kind.
// Of each run the times fill the makespan: a gap that no step accounts for would be a row of kind "not recorded". Text
// shows every step only of a single run.
std::vector<NamedTable> critical_paths(const Testbed& testbed, std::span<const NamedRun> runs);

// Plays each run again and watches the shared resources. One row per run, part of the work and bottleneck; a part is
// what kernels, or engines, do of one operation. `time_us` is the time over which it moved data, split over the
// bottlenecks by how many of its activities each held back: its sum over the rows of a kind is the time for which that
// kind was active on any GPU. `others_percent` is the part of the load on the bottleneck, while it was one, that came
// from `others`.
ResultTable explain(Testbed& testbed, std::span<const NamedRun> runs);

// Plays each run again. It becomes a group of the trace, with a track per stream, per host thread, queue, engine and
// kernel that had something to do and per link that carried something, and with the utilisation of HBM, Infinity Cache
// and the busiest link out of each GPU, in percent, as counters. Slices of a track never overlap: where steps do
// (signals under way, packets in set-up), a track goes on as "gpu0.sdma2.queue0 (2)". Where one GPU stands for all, its
// tracks do.
void trace_runs(Testbed& testbed, std::span<const NamedRun> runs, sim::TraceSink& sink);

}  // namespace c3sim::study
