// Says why operations of a run are slower than in a loop of their own. Splits the slowdown over what the GPU remembers
// of earlier work and over mechanisms of interference, by runs on machines without some of these.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "models/platform/interference.h"
#include "study/play/testbed.h"
#include "study/report/chart.h"
#include "study/report/results.h"

namespace c3sim::study {

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

// Returns one row per operation; percentages are of its time alone.
ResultTable slowdown_table(std::span<const Slowdown> slowdowns);
// Draws one bar per operation, stacked from its parts.
BarChart slowdown_chart(std::span<const Slowdown> slowdowns, const std::string& title);

}  // namespace c3sim::study
