// Says why operations of a run are slower than in a loop of their own. Splits the slowdown over what the GPU remembers
// of earlier work and over mechanisms of interference, by runs on machines without some of these.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "study/play/testbed.h"
#include "study/report/chart.h"
#include "study/report/results.h"

namespace c3sim::study {

// Mechanisms overlap: where either of two would hold work back, switching off one alone gains little. So they are
// switched off one after the other until none is left, in the order of models::Mechanism and in reverse, and the part
// of each is the mean of what its two steps gain (for two mechanisms, the Shapley value). Parts may be negative: work
// that no longer waits may meet other work that slows it down.

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

// Returns one row per operation; percentages are of its time alone.
ResultTable slowdown_table(std::span<const Slowdown> slowdowns);
// Draws one bar per operation, stacked from its parts.
BarChart slowdown_chart(std::span<const Slowdown> slowdowns, const std::string& title);

}  // namespace c3sim::study
