// What GPUs compute at once for several sequences, how long that takes and what it draws: whole steps (study/step) are
// simulated at points of a grid, when a batch first comes near, and interpolated between. In a step of inference one
// kernel follows the other, so that a batch takes what products, norms and collectives take for its tokens, what
// attention takes for sequences that decode, by their number and mean context, and what it takes for chunks of prompts,
// by number, tokens and context; launched op by op by the host no less than that takes to launch one token's. Tokens of
// a draft that are verified attend as a chunk of a prompt does, and each of them has logits. Replicas of attention
// share out the sequences of a batch, and it takes as long as the busiest of them would were all as busy.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "models/platform/platform_spec.h"
#include "sim/units.h"
#include "study/network/step_question.h"
#include "study/program/step_operation.h"

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

// The step that a batch is, its sequences having the mean context, and its chunks being equal, replicas as busy as the
// busiest.
StepQuestion step_of(StepQuestion question, const Batch& batch);

// How many values each doubling of tokens, sequences and chunks has in the grid: fine, for answers; coarse, for suites
// of many models, whose answers differ by some percent less than what is compared.
enum class BatchGrid { fine, coarse };

class BatchTimes {
 public:
  // What the machine refers to outlives it. `question`: of any batch, its model and how it is launched included;
  // batches have so many tokens at most, and those of more than `captured` tokens are launched op by op whatever the
  // question says.
  BatchTimes(const StepMachine& machine, const StepQuestion& question, std::int64_t most_tokens,
             std::int64_t captured = std::int64_t{1} << 40, BatchGrid fineness = BatchGrid::fine);

  BatchCost cost(const Batch& batch);
  // What interpolating makes of it, over what its step takes when that is simulated itself, less 1. Nothing for a step
  // that is refused, as where sequences that share blocks would not have room without.
  std::optional<double> error(const Batch& batch);

 private:
  struct Cost {
    double seconds = 0.0;
    double joules = 0.0;  // of one GPU

    void add(double share, const Cost& of);
  };
  // What is known at points of a grid, a value on each axis, and linear between. An axis that is not needed has one.
  struct Grid {
    using Point = std::array<std::int64_t, 3>;
    std::array<std::vector<std::int64_t>, 3> axes;
    std::map<Point, Cost> points{};

    // Points about it that are not known yet are asked for.
    Cost at(const std::array<double, 3>& place, const std::function<Cost(const Point&)>& ask);
  };

  bool is_by_op(const Batch& batch) const { return batch.tokens() > captured_; }
  Cost others(bool decodes, std::int64_t tokens) const;
  Cost attention(Phase phase, std::int64_t sequences, std::int64_t tokens, std::int64_t context) const;
  // Of a batch of one token, which the host takes longer to launch than the GPUs to compute.
  Cost launched_by_op(bool decodes) const;

  StepMachine machine_;
  models::PlatformSpec roomy_;  // the same with memory for any point of the grid, of which batches need not come near
  StepQuestion question_;
  std::int64_t captured_;  // tokens of the largest batch that is launched from a graph
  // By whether all sequences decode.
  std::map<bool, Cost> launches_;
  std::map<bool, Grid> others_;  // over tokens
  Grid decoding_;                // over cached tokens of a sequence, and sequences
  Grid chunks_;                  // over chunks, tokens of each, and cached ones
};

}  // namespace c3sim::study
