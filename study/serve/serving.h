// Requests over time on replicas, each of one group of GPUs, or of two, one of which computes prompts and hands over
// what it has cached. A router gives each request to a replica when it arrives.
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

// Is told of every batch, and of which group of a replica it is.
using SeesBatch = std::function<void(const Batch& batch, std::size_t group)>;

// Quantiles of any number of times in little memory: counts of times that lie within 0.1 % of each other.
class Latencies {
 public:
  static constexpr double largest_error = 0.0005;  // of a quantile, relative

  void add(sim::Time time);  // 0 at least
  std::int64_t count() const { return count_; }
  sim::Time mean() const;                  // exact; 0 of none
  sim::Time quantile(double share) const;  // the least that so many times do not exceed (0 < share <= 1); 0 of none

 private:
  std::map<int, std::int64_t> counts_;  // by place on a logarithmic scale; some 15 thousand for a microsecond to a day
  std::int64_t count_ = 0;
  double sum_ = 0.0;  // seconds
};

// What waited, ran and lay in the cache over the time of a whole run, in little memory: means over intervals of equal
// length, which doubles as often as there would be more of them than can be shown.
class LoadOverTime {
 public:
  static constexpr std::size_t most = 256;  // intervals

  // For so long there was that, beside what else is added for the same time.
  void add(sim::Time from, sim::Time to, const ServerLoad& load);
  sim::Time interval() const { return interval_; }
  // The means over the intervals from the start, the last of which the run may have left half empty.
  std::vector<ServerLoad> samples() const;

 private:
  sim::Time interval_ = std::chrono::milliseconds(1);
  std::vector<ServerLoad> sums_;  // times seconds
};

struct Served {
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  Latencies first_token;                  // from the arrival
  Latencies per_token;                    // of each request, from its first token to its last over those between
  Latencies whole;                        // from the arrival to the last token
  std::int64_t kept = 0;                  // requests that took no longer than the limits
  sim::Time begin{0};                     // the first arrival
  sim::Time end{0};                       // the last token
  std::vector<ServerCounts> groups;       // those of a replica behind those of the one before
  std::vector<std::int64_t> of_replicas;  // requests that each was given
  LoadOverTime load;                      // of all groups that end requests together; the cache in the mean

  sim::Time duration() const { return end - begin; }
  double per_second(std::int64_t count) const;
};

// All requests of the source, one after another: each is finished, and every block is free in the end. Of the question
// replicas of the groups, router, concurrency, limits and frontend count.
Served serve(RequestSource& source, const std::vector<ServingGroup>& groups, const ServeQuestion& question = {},
             const SeesBatch& sees_batch = {});

}  // namespace c3sim::study
