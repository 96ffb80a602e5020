// What GPUs compute at once for several sequences, and what that costs.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/units.h"

namespace c3sim::study {

// Sequences that get a token each, or have a draft of several verified, and parts of prompts.
struct Batch {
  std::int64_t decoding = 0;          // sequences
  std::int64_t verified = 1;          // tokens of each of these: the next one, and those of its draft
  std::int64_t decoding_context = 0;  // tokens that they have cached, all together
  std::int64_t chunks = 0;            // parts of prompts
  std::int64_t chunk_tokens = 0;      // of all of them
  double chunk_pairs = 0.0;           // of a query and a key: of q tokens behind c that are cached, q * (c + q / 2)

  std::int64_t tokens() const { return decoding * verified + chunk_tokens; }
  bool is_empty() const { return tokens() == 0; }
  // Of as many equal chunks with as many pairs: tokens of each, and cached ones before these. Not below 0, as the mean
  // of squares is not below the square of the mean.
  double tokens_of_chunk() const { return static_cast<double>(chunk_tokens) / static_cast<double>(chunks); }
  double context_of_chunk() const { return chunk_pairs / static_cast<double>(chunk_tokens) - tokens_of_chunk() / 2.0; }
};

// What the busiest of so many replicas has of a batch, whose sequences they share out: each is of one replica.
Batch of_replica(Batch batch, int replicas);

struct BatchCost {
  sim::Time time{0};
  sim::Joules energy;  // of all GPUs of the group
};
using BatchCosts = std::function<BatchCost(const Batch&)>;

}  // namespace c3sim::study
