// A ServiceClock holds the progress of equal activities, which share one rate, as the service that a member present
// from the beginning would have attained. A member is done when the clock reaches the mark set at its entry.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/units.h"

namespace c3sim::sim {

class ServiceClock {
 public:
  // Marks are reached in order of `at`; among equal ones the activity with the lower number goes first.
  struct Mark {
    double at;
    std::uint64_t activity;
    std::uint32_t entry;  // distinguishes the marks of an activity that left and came back
  };

  std::uint32_t members() const { return members_; }
  double rate() const { return rate_; }  // units per second of one member
  double service(Time now) const { return service_ + rate_ * to_seconds(now - since_).value(); }
  // Returns the units that all members, present and past, have progressed. A member that has finished counts exactly
  // its amount, although its end is rounded up to a picosecond.
  double units(Time now) const { return units_ + members_ * (service(now) - service_); }
  void set_rate(Time now, double rate);

  // Adds a member that has `amount` units to go.
  Mark enter(Time now, double amount, std::uint64_t activity, std::uint32_t entry);
  // Removes a member that goes elsewhere and returns its remaining amount. Its mark stays until drop_first().
  double leave(Time now, double mark);
  // Removes a member whose mark is reached.
  void finish(Time now, double mark);

  // Returns the marks not yet dropped as a heap whose first element is reached first.
  const std::vector<Mark>& marks() const { return marks_; }
  void drop_first();
  // Returns when the clock reaches `mark` at the present rate, rounded up to a picosecond (to_time).
  Time when(double mark) const;

  // Resets the clock to its initial state but keeps its memory.
  void reset(Time now);

 private:
  void advance(Time now);

  double service_ = 0.0;  // value at since_
  double units_ = 0.0;    // value at since_
  double rate_ = 0.0;
  Time since_{0};
  std::uint32_t members_ = 0;
  std::vector<Mark> marks_;
};

}  // namespace c3sim::sim
