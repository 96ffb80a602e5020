// How the GPUs of a node share out a model and its sequences: whoever counts tokens, weights or what is reduced asks
// here.
//
// A stage of a pipeline has tp x dp x cp GPUs: tp of them share out each product, cp each sequence, and dp replicas of
// these have sequences of their own. Experts are shared out over the tp x dp GPUs that there are (Megatron-LM, vLLM):
// ep divides that number, adds no GPU, and each of the ep ranks has as many whole experts as the others. The GPUs of a
// rank share out each of its experts' products, as many of them as share out products elsewhere at most (Megatron-LM's
// expert tensor parallelism); what is left over is replicas of the experts. Attention, norms and the router stay as tp
// and dp have them.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "sim/config/choice.h"

namespace c3sim::study {

enum class Shard { none, full };  // of weights, gradients and states over the GPUs that have the same weights
constexpr auto all_names(Shard) { return sim::names("none", "full"); }
using sim::to_string;

struct Split {
  int tp = 1;     // GPUs that share out each product
  int ep = 1;     // of the tp x dp GPUs, ranks that share out the experts
  int dp = 1;     // replicas, each with sequences of its own
  int cp = 1;     // GPUs that share out each sequence
  int pp = 1;     // stages, each with its share of the layers and GPUs of its own
  int micro = 1;  // batches that the sequences of a replica are shared out to, one after the other
  Shard shard = Shard::none;

  auto operator<=>(const Split&) const = default;

  int stage_gpus() const { return tp * dp * cp; }
  int gpus() const { return stage_gpus() * pp; }
  // Whether it is a pipeline's: turns of stages and micro-batches.
  bool has_turns() const { return pp > 1 || micro > 1; }

  // GPUs that have the same weights of all but experts, and add up their gradients.
  int replicas() const { return dp * cp; }
  // GPUs that share out each expert, and those that have the same share of the same experts.
  int expert_tp() const { return std::gcd(tp, tp * dp / ep); }
  int expert_replicas() const { return std::max(1, stage_gpus() / (ep * expert_tp())); }
  // The fewest replicas that so many ranks of experts need beside tp.
  int least_dp() const { return ep / std::gcd(ep, tp); }

  // Of the tokens of a replica those of a GPU, which all GPUs that share out a product have; and those of all replicas.
  std::int64_t tokens_of_gpu(std::int64_t of_replica) const { return of_replica / cp; }
  std::int64_t tokens_in_all(std::int64_t of_replica) const { return of_replica * dp; }
  // Of these, tokens that a GPU sends to experts. Where experts are shared out, GPUs that share out products share out
  // tokens before the router, too, and gather the results (sequence parallelism); where tokens do not come out even,
  // they are filled up.
  std::int64_t tokens_to_route(std::int64_t of_replica) const {
    return ep == 1 ? tokens_of_gpu(of_replica) : (tokens_of_gpu(of_replica) + tp - 1) / tp;
  }
};

// "tp 4, ep 8, dp 2"; "one GPU".
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
