// Why the operations of a run are slower than in a loop of their own: their slowdown split over what the GPU remembers
// of work before and over the mechanisms of interference, by runs on machines that are without some of them.
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

// Mechanisms overlap: where either of two would hold work back, switching off one of them alone gains little. So they
// are switched off one after the other until none is left, in the order of models::Mechanism and in reverse, and the
// part of each is the mean of what its two steps gain (for two mechanisms, the Shapley value). Parts may be negative:
// who no longer waits may come to meet others.

// What machines are to be without for that: [k] the first k mechanisms, [all.size() + k] the last k. The last of the
// first series, without all, ends the second one too.
std::vector<std::span<const models::Mechanism>> left_out_in_turn(std::span<const models::Mechanism> all);
// Of each quantity the part that each mechanism has in it, in their order; `quantities` tells of each of those
// machines, in their order, every quantity.
template <class Quantity>
std::vector<std::vector<Quantity>> parts_of(const std::vector<std::vector<Quantity>>& quantities) {
  const std::size_t all = quantities.size() / 2;  // mechanisms
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

// How much slower one operation of a run is, and by which mechanisms.
struct Slowdown {
  std::string run;
  std::string operation;
  sim::Time alone{0};            // in a loop, with the node, and all of its CUs, to itself
  sim::Time together{0};         // from its start to its end in the run
  std::vector<sim::Time> parts;  // by mechanism

  // What is left without any mechanism: the order of launches.
  sim::Time rest() const;
  double percent(sim::Time part) const;  // of the time alone
};

// Of all operations of the runs, one after the other, but for delays and for those that wait for others and so have no
// time alone. Takes each run 2 * mechanisms times.
std::vector<Slowdown> split_slowdowns(const models::PlatformSpec& platform, std::span<const NamedRun> runs);

// One row per operation; percent of its time alone.
ResultTable slowdown_table(std::span<const Slowdown> slowdowns);
// One bar per operation, stacked of its parts.
BarChart slowdown_chart(std::span<const Slowdown> slowdowns, const std::string& title);

}  // namespace c3sim::study
