// A Timeline tells when the operations of a schedule began and ended, and what was metered in that run.
#pragma once

#include <algorithm>
#include <boost/icl/interval_set.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/machine/governor_loop.h"
#include "models/machine/memory.h"
#include "models/sdma/sdma_copy.h"
#include "sim/units.h"

namespace c3sim::study {

// A Span lasts from the launch of an operation until the host knows of its end. Times count from the start of the run.
struct Span {
  sim::Time start{0};
  sim::Time end{0};
  std::optional<models::SdmaCopyPhases> phases;  // only of copies
  // `began` is when the first GPU began the kernel. `launched_late` tells that this GPU waited only for the host's
  // launch: everything else was over before.
  std::optional<sim::Time> began{};
  bool launched_late = false;
  // `exchange_start` is when the first piece of a fused GEMM could be sent, `gemm_end` when that GEMM had ended.
  std::optional<sim::Time> exchange_start{};
  std::optional<sim::Time> gemm_end{};
};

// Means are simulated means of the first GPU over a run, from its first launch to its last end.
struct Means {
  sim::Hertz clock;
  sim::Hertz clock_at_work;  // without the host's time around a kernel
  sim::Watts power;
};

// A ClockSearch tells how the search for the clock of repeated runs ended.
enum class ClockSearch {
  settled,
  above_cap,  // at the lowest clock, where mean power is still above the cap
  given_up,   // mean power neither met the cap nor crossed it at a known clock
};

struct Timeline {
  std::vector<Span> operations;  // by place in the schedule
  std::uint64_t unsettled = 0;   // instants at which the search for rates and clocks was given up
  ClockSearch clock_search = ClockSearch::settled;
  // `ceiling` is the settled ceiling of the clock, if there is one. `governors` are, by simulated GPU, the states of
  // governors that remember earlier runs, at the start of the run.
  std::optional<sim::Hertz> ceiling;
  std::vector<models::GovernorState> governors;
  std::optional<models::MovedBytes> moved{};  // by the first GPU, if memory is metered
  Means means{};
  // Returns the latest end.
  sim::Time makespan() const {
    sim::Time latest{0};
    for (const Span& span : operations) latest = std::max(latest, span.end);
    return latest;
  }
  // Returns the time from the start of the first of the last `count` operations to the end of the last.
  sim::Time time_of_last(std::size_t count = 1) const {
    return operations.back().end - operations[operations.size() - count].start;
  }
};

// BusyTimes are the times at which something was busy; concurrent work counts once. They combine by the set algebra of
// Boost.Icl: `+` (either), `&` (both), `-` (one without the other).
using BusyTimes = boost::icl::interval_set<std::int64_t>;  // in picoseconds; disjoint and in order

// Adds the time from `begin` to `end`, which may be empty.
inline void add_busy(BusyTimes& times, sim::Time begin, sim::Time end) {
  times.add(BusyTimes::interval_type::right_open(begin.count(), end.count()));
}
inline sim::Time length_of(const BusyTimes& times) { return sim::Time(boost::icl::length(times)); }

}  // namespace c3sim::study
