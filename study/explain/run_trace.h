// Runs as pictures over time: operations on their streams, every step of host threads, queues, engines and kernels,
// what each link carries, and how busy the memories of every GPU are.
#pragma once

#include <span>

#include "sim/trace.h"
#include "study/report/results.h"
#include "study/run/testbed.h"

namespace c3sim::study {

// Plays each run again. It becomes a group of the trace, with a track per stream, per host thread, queue, engine and
// kernel that had something to do and per link that carried something, and with the utilisation of HBM, Infinity Cache
// and the busiest link out of each GPU, in percent, as counters. Slices of a track never overlap: where steps do
// (signals under way, packets in set-up), a track goes on as "gpu0.sdma2.queue0 (2)". Where one GPU stands for all, its
// tracks do.
void trace_runs(Testbed& testbed, std::span<const NamedRun> runs, sim::TraceSink& sink);

}  // namespace c3sim::study
