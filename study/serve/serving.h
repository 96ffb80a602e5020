// Serves requests on replicas, each of one group of GPUs, or of two: one computes prompts and hands its cache over to
// the other. A router assigns each request to a replica when it arrives.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "sim/units.h"
#include "study/serve/request_source.h"
#include "study/serve/serve_question.h"
#include "study/serve/server.h"

namespace c3sim::study {

// A SeesBatch is called for every batch, with the index of its group within the replica.
using SeesBatch = std::function<void(const Batch& batch, std::size_t group)>;

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

// Serves all requests of a source to the end, after which every block is free. Of `question` only replicas, router,
// concurrency, limits and frontend count.
Served serve(RequestSource& source, const std::vector<ServingGroup>& groups, const ServeQuestion& question = {},
             const SeesBatch& sees_batch = {});

}  // namespace c3sim::study
