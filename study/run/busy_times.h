// When something was at work: what runs twice at once counts once. Sets of moments, with the algebra of Boost.Icl:
// `+` either, `&` both, `-` the one without the other.
#pragma once

#include <boost/icl/interval_set.hpp>
#include <cstdint>

#include "sim/units.h"

namespace c3sim::study {

using BusyTimes = boost::icl::interval_set<std::int64_t>;  // picoseconds: disjoint and in order

// From one moment to the other; nothing where that is no time.
inline void add_busy(BusyTimes& times, sim::Time begin, sim::Time end) {
  times.add(BusyTimes::interval_type::right_open(begin.count(), end.count()));
}
inline sim::Time length_of(const BusyTimes& times) { return sim::Time(boost::icl::length(times)); }

}  // namespace c3sim::study
