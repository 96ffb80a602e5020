// Holds what is seen of served requests: how long they took, what their servers did, and the load over time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/units.h"

namespace c3sim::study {

struct ServerCounts {
  std::int64_t batches = 0;
  std::int64_t tokens = 0;   // tokens computed
  std::int64_t reused = 0;   // tokens of beginnings found in the cache or the store when a sequence was first admitted
  std::int64_t fetched = 0;  // tokens of beginnings and prompts that were fetched
  std::int64_t preempted = 0;
  std::int64_t drafted = 0;   // tokens of drafts that were verified
  std::int64_t accepted = 0;  // of `drafted`
  std::int64_t most_blocks = 0;
  double block_seconds = 0.0;  // blocks in use, integrated over time
  sim::Time busy{0};           // time in batches
  sim::Joules energy;          // of batches
};

// A ServerLoad is the load of a group over some time.
struct ServerLoad {
  double waiting = 0.0;  // sequences that have arrived and are not admitted, including preempted ones
  double running = 0.0;
  double cache = 0.0;  // cache blocks in use; over a whole run, their share of all blocks

  auto operator<=>(const ServerLoad&) const = default;
};

// Latencies gives quantiles of any number of times in little memory: it counts times that agree within 0.1 %.
class Latencies {
 public:
  static constexpr double largest_error = 0.0005;  // relative error of a quantile

  void add(sim::Time time);  // 0 at least
  std::int64_t count() const { return count_; }
  sim::Time mean() const;                  // exact; 0 if there are no times
  sim::Time quantile(double share) const;  // least time that a share (above 0) of all does not exceed; 0 if none

 private:
  std::map<int, std::int64_t> counts_;  // by place on a logarithmic scale; some 15 thousand for a microsecond to a day
  std::int64_t count_ = 0;
  double sum_ = 0.0;  // seconds
};

// LoadOverTime gives the load over a whole run in little memory: means over intervals of equal length, which doubles
// whenever there would be more than `most` intervals.
class LoadOverTime {
 public:
  static constexpr std::size_t most = 256;  // intervals

  // Adds a load to all that is added for the same time.
  void add(sim::Time from, sim::Time to, const ServerLoad& load);
  sim::Time interval() const { return interval_; }
  // Returns the means over the intervals from the start. The run may end within the last one.
  std::vector<ServerLoad> samples() const;

 private:
  sim::Time interval_ = std::chrono::milliseconds(1);
  std::vector<ServerLoad> sums_;  // load times seconds
};

struct Served {
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  Latencies first_token;           // from the arrival
  Latencies per_token;             // of each request: time from its first token to its last, per token after the first
  Latencies whole;                 // from the arrival to the last token
  std::int64_t within_limits = 0;  // number of requests
  sim::Time begin{0};              // the first arrival
  sim::Time end{0};                // the last token
  std::vector<ServerCounts> groups;       // replica by replica
  std::vector<std::int64_t> of_replicas;  // number of requests of each replica
  LoadOverTime load;                      // sum over all groups; mean cache use of those that end requests

  sim::Time duration() const { return end - begin; }
  double per_second(std::int64_t count) const;
};

}  // namespace c3sim::study
