// Requests over time on one group of GPUs, or on two, one of which computes prompts and hands over what it has cached.
#pragma once

#include <vector>

#include "study/serve/latencies.h"
#include "study/serve/request_source.h"
#include "study/serve/server.h"

namespace c3sim::study {

struct ServingGroup {
  ServerSpec spec;
  BatchCosts costs;
  Server::FetchTime fetch_time;  // into it, of beginnings, or of prompts that the group before it has computed
  Server::Beside beside{};
};

struct Served {
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  Latencies first_token;  // from the arrival
  Latencies per_token;    // of each request, from its first token to its last over those between
  Latencies whole;        // from the arrival to the last token
  std::int64_t kept = 0;  // requests that took no longer than the limits
  sim::Time begin{0};     // the first arrival
  sim::Time end{0};       // the last token
  std::vector<ServerCounts> groups;

  sim::Time duration() const { return end - begin; }
  double per_second(std::int64_t count) const;
};

// All requests of the source, one after another: each is finished, and every block is free in the end. With a
// `concurrency` so many are under way at any time, and one arrives when another ends, whenever the source has it.
Served serve(RequestSource& source, const std::vector<ServingGroup>& groups,
             const std::function<void(const Batch& batch, std::size_t group)>& sees_batch = {},
             std::int64_t concurrency = 0, const ServiceLimits& limits = {});

}  // namespace c3sim::study
