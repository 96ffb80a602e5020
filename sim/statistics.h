// What a run counts. A model declares each statistic in one line with name, unit and sentence, and keeps a reference:
//   Counter& packets_ = statistics.counter("packets", "packet", "Packets that the engine has executed.");
// Groups own their statistics, so these outlive the model, and list them in the order of declaration.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/units.h"

namespace sim {

// A sum that starts at zero.
class Counter {
 public:
  void add(double amount = 1.0) { total_ += amount; }
  double total() const { return total_; }

 private:
  double total_ = 0.0;
};

// Single values, such as the latencies of requests. Without any, mean, smallest and largest are zero.
class Accumulator {
 public:
  void add(double value);
  std::uint64_t count() const { return count_; }
  double mean() const { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }
  double smallest() const { return smallest_; }
  double largest() const { return largest_; }

 private:
  std::uint64_t count_ = 0;
  double sum_ = 0.0;
  double smallest_ = 0.0;
  double largest_ = 0.0;
};

// A level that holds until it is set again, such as the length of a queue. It is zero at time zero.
class TimeWeighted {
 public:
  void set(Time now, double level);  // now: not before the last one
  double level() const { return level_; }
  double largest() const { return largest_; }  // of the levels set
  // Average over the time from zero to `now` (not before the last set); zero at time zero.
  double mean(Time now) const;

 private:
  double integral_until(Time now) const;

  Time since_{0};
  double level_ = 0.0;
  double largest_ = 0.0;
  double integral_ = 0.0;  // of the level over picoseconds, up to since_
};

// One figure of a report. A Counter gives one row under its own name, an Accumulator gives .count, .mean, .smallest and
// .largest, a TimeWeighted gives .mean and .largest.
struct StatisticsRow {
  std::string name;  // with the groups it is in: "gpu0.sdma3.packets"
  double value;
  std::string unit;
  std::string description;
};

class StatisticsGroup {
 public:
  StatisticsGroup() = default;
  StatisticsGroup(const StatisticsGroup&) = delete;
  StatisticsGroup& operator=(const StatisticsGroup&) = delete;

  // The references stay valid as long as the group. A name is given once in a group and is not empty.
  Counter& counter(std::string name, std::string unit, std::string description);
  Accumulator& accumulator(std::string name, std::string unit, std::string description);
  TimeWeighted& time_weighted(std::string name, std::string unit, std::string description);
  StatisticsGroup& group(std::string name);

  // Everything in the group and in those within, in order of declaration, as it stands at `now`.
  std::vector<StatisticsRow> rows(Time now) const;

 private:
  struct Entry {
    std::string name;
    std::string unit;
    std::string description;
    std::variant<Counter, Accumulator, TimeWeighted, std::unique_ptr<StatisticsGroup>> content;
  };
  template <class Content>
  Content& declare(std::string name, std::string unit, std::string description, Content content);
  void append_rows(std::string_view prefix, Time now, std::vector<StatisticsRow>& rows) const;

  std::deque<Entry> entries_;
};

}  // namespace sim
