// Explains the time of runs by replaying them: draws all of their steps as traces over time, finds the critical path to
// the end of a run, and reports what held back each kind of work. Says why operations are slower than in a loop of
// their own: splits the slowdown over what the GPU remembers of earlier work and over mechanisms of interference, by
// runs on machines without some of these.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "models/platform/interference.h"
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

// Mechanisms overlap: where either of two would hold work back, switching off one alone gains little. So they are
// switched off one after the other until none is left, in the order of models::Mechanism and in reverse, and the part
// of each is the mean of what its two steps gain (for two mechanisms, the Shapley value). Parts may be negative: work
// that no longer waits may meet other work that slows it down.

// Returns the mechanisms that each machine lacks: machine k lacks the first k, and machine all.size() + k the last k.
// Machine all.size(), which lacks all mechanisms, ends both series.
std::vector<std::span<const models::Mechanism>> left_out_in_turn(std::span<const models::Mechanism> all);
// Returns, for each quantity, the part that each mechanism has in it, in their order. `quantities` holds every quantity
// of each machine, in the order of left_out_in_turn().
template <class Quantity>
std::vector<std::vector<Quantity>> parts_of(const std::vector<std::vector<Quantity>>& quantities) {
  const std::size_t all = quantities.size() / 2;  // number of mechanisms
  const auto without_last = [all](std::size_t k) { return k == 0 || k == all ? k : all + k; };
  std::vector<std::vector<Quantity>> parts(quantities.front().size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t k = 0; k < all; ++k) {
      const Quantity forwards = quantities[k][i] - quantities[k + 1][i];
      const Quantity backwards = quantities[without_last(all - k - 1)][i] - quantities[without_last(all - k)][i];
      parts[i].push_back((forwards + backwards) / 2);
    }
  }
  return parts;
}

// A Slowdown says how much slower one operation of a run is, and which mechanisms slow it down.
struct Slowdown {
  std::string run;
  std::string operation;
  sim::Time alone{0};            // in a loop that has the node and all its CUs to itself
  sim::Time together{0};         // from its start to its end in the run
  std::vector<sim::Time> parts;  // by mechanism

  // Returns the slowdown that is left without any mechanism, which the order of launches causes.
  sim::Time rest() const;
  double percent(sim::Time part) const;  // of `alone`
};

// Splits the slowdown of every operation of the runs, in order, except delays and operations that wait for others,
// which have no time alone. Plays each run 2 * mechanisms times.
std::vector<Slowdown> split_slowdowns(const models::PlatformSpec& platform, std::span<const NamedRun> runs);

// Returns one row per operation, with percentages of its time alone, and a bar for each, stacked from its parts, unless
// there are too many for a chart. `title` says in the chart what was asked.
NamedTable slowdown_table(std::span<const Slowdown> slowdowns, const std::string& title);

}  // namespace c3sim::study
