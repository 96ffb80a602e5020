// Equal activities share one rate, so one number says how far each of them is: the service that a member present from
// the beginning would have attained. A member is done when the clock reaches the mark set as it entered.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/units.h"

namespace c3sim::sim {

class ServiceClock {
 public:
  // Marks are reached in this order: the earlier activity goes first among equals.
  struct Mark {
    double at;
    std::uint64_t activity;
    std::uint32_t entry;  // tells apart the marks of an activity that left and came back
  };

  std::uint32_t members() const { return members_; }
  double rate() const { return rate_; }  // of one member, units per second
  double service(Time now) const { return service_ + rate_ * to_seconds(now - since_).value(); }
  // Units that all members, present and past, have progressed. Exact once a member is done: what it would get between
  // its end and the picosecond to which that was rounded up does not count.
  double units(Time now) const { return units_ + members_ * (service(now) - service_); }
  void set_rate(Time now, double rate);

  // Lets a member in that has `amount` to go.
  Mark enter(Time now, double amount, std::uint64_t activity, std::uint32_t entry);
  // A member goes elsewhere; its mark stays behind until drop_first(). Returns what it had to go.
  double leave(Time now, double mark);
  // A member's mark is reached.
  void finish(Time now, double mark);

  // The marks not yet dropped, a heap with the first to be reached in front.
  const std::vector<Mark>& marks() const { return marks_; }
  void drop_first();
  // When the clock reaches `mark` if the rate stays as it is: rounded up, but for rounding errors, to a picosecond.
  Time when(double mark) const;

  // As new, keeping its memory.
  void reset(Time now);

 private:
  void advance(Time now);

  double service_ = 0.0;  // at since_
  double units_ = 0.0;    // at since_
  double rate_ = 0.0;
  Time since_{0};
  std::uint32_t members_ = 0;
  std::vector<Mark> marks_;
};

}  // namespace c3sim::sim
