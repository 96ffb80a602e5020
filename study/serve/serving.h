// Requests over time on replicas, each of one group of GPUs, or of two, one of which computes prompts and hands over
// what it has cached. A router gives each request to a replica when it arrives.
#pragma once

#include <functional>
#include <vector>

#include "study/serve/latencies.h"
#include "study/serve/load_over_time.h"
#include "study/serve/request_source.h"
#include "study/serve/server.h"

namespace c3sim::study {

struct ServingGroup {
  ServerSpec spec;
  BatchCosts costs;
  Server::FetchTime fetch_time;  // into it, of beginnings, or of prompts that the group before it has computed
  Server::Beside beside{};
};

struct ServingRules {
  int replicas = 1;  // of the groups
  Router router = Router::round_robin;
  std::int64_t concurrency =
      0;  // so many requests at any time, one arriving when another ends; 0: as the source has it
  ServiceLimits limits{};
  sim::Time frontend{0};  // of each request, until it can be scheduled
  std::function<void(const Batch& batch, std::size_t group)> sees_batch{};
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

// All requests of the source, one after another: each is finished, and every block is free in the end.
Served serve(RequestSource& source, const std::vector<ServingGroup>& groups, const ServingRules& rules = {});

}  // namespace c3sim::study
