// A Split says how the GPUs of a node share out a model and its sequences. All code that counts tokens, weights or
// reduced gradients asks it.
//
// A stage of a pipeline has tp x dp x cp GPUs: tp GPUs share out each product, cp GPUs each sequence, and dp replicas
// of these have their own sequences. Experts are shared out over the tp x dp GPUs (Megatron-LM, vLLM): ep divides that
// number, adds no GPU, and each of the ep ranks holds equally many whole experts. The GPUs of a rank share out the
// products of each of its experts, at most tp of them (Megatron-LM's expert tensor parallelism); remaining GPUs are
// replicas of the experts. Attention, norms and the router follow tp and dp.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "sim/config/choice.h"

namespace c3sim::study {

// A Shard says what is sharded over the GPUs with the same weights: nothing, or weights, gradients and states.
enum class Shard { none, full };
constexpr auto all_names(Shard) { return sim::names("none", "full"); }
using sim::to_string;

struct Split {
  int tp = 1;     // tensor parallelism: GPUs that share out each product
  int ep = 1;     // expert parallelism: ranks among the tp x dp GPUs that share out the experts
  int dp = 1;     // data parallelism: replicas, each with its own sequences
  int cp = 1;     // context parallelism: GPUs that share out each sequence
  int pp = 1;     // pipeline parallelism: stages, each with its own layers and GPUs
  int micro = 1;  // micro-batches that a replica runs one after the other
  Shard shard = Shard::none;

  auto operator<=>(const Split&) const = default;

  int stage_gpus() const { return tp * dp * cp; }
  int gpus() const { return stage_gpus() * pp; }
  // Returns whether the step consists of turns, each of one stage and micro-batch.
  bool has_turns() const { return pp > 1 || micro > 1; }

  // Returns the number of GPUs with the same weights (except experts), which add up their gradients.
  int replicas() const { return dp * cp; }
  // expert_tp() GPUs share out each expert; expert_replicas() GPUs hold the same share of the same experts.
  int expert_tp() const { return std::gcd(tp, tp * dp / ep); }
  int expert_replicas() const { return std::max(1, stage_gpus() / (ep * expert_tp())); }
  // Returns the least dp with which ep ranks of experts are possible beside tp.
  int least_dp() const { return ep / std::gcd(ep, tp); }

  // The arguments are tokens of one replica. tokens_of_gpu() are those of one GPU, the same on all tp GPUs;
  // tokens_in_all() are those of all replicas.
  std::int64_t tokens_of_gpu(std::int64_t of_replica) const { return of_replica / cp; }
  std::int64_t tokens_in_all(std::int64_t of_replica) const { return of_replica * dp; }
  // Returns whether the tp GPUs send different tokens to experts.
  bool routes_shares() const { return ep > 1 && tp > 1; }
  // Returns the tokens that a GPU sends to experts. With expert parallelism, the tp GPUs also share out tokens before
  // the router, padded to equal shares, and gather the results (sequence parallelism).
  std::int64_t tokens_to_route(std::int64_t of_replica) const {
    return ep == 1 ? tokens_of_gpu(of_replica) : (tokens_of_gpu(of_replica) + tp - 1) / tp;
  }
};

// Describes the split: "tp 4, ep 8, dp 2", or "one GPU".
inline std::string to_string(const Split& split) {
  std::string text;
  for (const auto& [name, parts] : {std::pair("tp ", split.tp),
                                    {"ep ", split.ep},
                                    {"dp ", split.dp},
                                    {"cp ", split.cp},
                                    {"pp ", split.pp},
                                    {"micro ", split.micro}}) {
    if (parts > 1) text += (text.empty() ? "" : ", ") + (name + std::to_string(parts));
  }
  return text.empty() ? "one GPU" : text;
}

}  // namespace c3sim::study
