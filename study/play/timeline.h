// When the operations of a schedule began and ended.
#pragma once

#include <algorithm>
#include <boost/icl/interval_set.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/machine/governor_state.h"
#include "models/machine/memory.h"
#include "models/sdma/sdma_copy.h"
#include "sim/units.h"

namespace c3sim::study {

// From the launch of an operation to the host's knowledge of its end, counted from the start of the run.
struct Span {
  sim::Time start{0};
  sim::Time end{0};
  std::optional<models::SdmaCopyPhases> phases;  // of copies
  // A kernel's, within it: when the first of its GPUs began it, and whether all that it had to wait for there was over
  // before the host had launched it.
  std::optional<sim::Time> began{};
  bool launched_late = false;
  // Within it, of a GEMM that is fused with a collective: when the first piece could travel, when the GEMM had ended.
  std::optional<sim::Time> exchange_start{};
  std::optional<sim::Time> gemm_end{};
};

// Of the first GPU, over a run from its first launch to its last end, as simulated.
struct Means {
  sim::Hertz clock;
  sim::Hertz clock_at_work;  // without what a host takes around a kernel
  sim::Watts power;
};

struct Timeline {
  std::vector<Span> operations;  // by place in the schedule
  std::uint64_t unsettled = 0;   // instants at which the search for rates and clocks was given up
  bool clock_settled = true;     // or the search for where it does was given up
  // What governors brought along: the ceiling of the clock, where that has settled at one, or, by simulated GPU, what
  // they remembered when the run began.
  std::optional<sim::Hertz> ceiling;
  std::vector<models::GovernorState> governors;
  std::optional<models::MovedBytes> moved{};  // by one GPU, where its memory is metered
  Means means{};
  // The latest end.
  sim::Time makespan() const {
    sim::Time latest{0};
    for (const Span& span : operations) latest = std::max(latest, span.end);
    return latest;
  }
  // Of the last so many operations, from the start of the first of them.
  sim::Time time_of_last(std::size_t count = 1) const {
    return operations.back().end - operations[operations.size() - count].start;
  }
};

// When something was at work: what runs twice at once counts once. Sets of moments, with the algebra of Boost.Icl:
// `+` either, `&` both, `-` the one without the other.
using BusyTimes = boost::icl::interval_set<std::int64_t>;  // picoseconds: disjoint and in order

// From one moment to the other; nothing where that is no time.
inline void add_busy(BusyTimes& times, sim::Time begin, sim::Time end) {
  times.add(BusyTimes::interval_type::right_open(begin.count(), end.count()));
}
inline sim::Time length_of(const BusyTimes& times) { return sim::Time(boost::icl::length(times)); }

}  // namespace c3sim::study
