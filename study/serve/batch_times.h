// Estimates how long a batch of several sequences takes and what it draws. Whole steps (study/step) are simulated at
// points of a grid when a batch first comes near them, and interpolated in between. Kernels of an inference step follow
// each other, so that the time of a batch is the sum of three parts: products, norms and collectives by number of
// tokens; attention of decoding sequences by their number and mean context; attention of chunks of prompts by number,
// tokens and context. A batch that the host launches op by op takes at least as long as launching one token's step, and
// its GPUs rest meanwhile.
// Verified tokens of a draft attend like a chunk of a prompt, in latent attention like tokens of as many sequences, and
// each has logits. A batch is that of one data-parallel replica; it takes as long as if all were as busy.
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

// A Batch has sequences that get one token or have a draft verified, and chunks of prompts.
struct Batch {
  std::int64_t decoding = 0;          // number of such sequences
  std::int64_t drafted = 0;           // tokens of all their drafts, which come beside one token of each
  std::int64_t decoding_context = 0;  // cached tokens of all decoding sequences
  std::int64_t chunks = 0;            // number of chunks of prompts
  std::int64_t chunk_tokens = 0;      // tokens of all chunks
  double chunk_pairs = 0.0;           // pairs of a query and a key: q * (c + q / 2) for q tokens after c cached ones

  std::int64_t tokens() const { return decoding + drafted + chunk_tokens; }
  bool is_empty() const { return tokens() == 0; }
  // These are tokens and cached tokens of a chunk if all chunks were equal with the same number of pairs. The context
  // is not negative, as the mean of squares is not less than the square of the mean.
  double tokens_of_chunk() const { return static_cast<double>(chunk_tokens) / static_cast<double>(chunks); }
  double context_of_chunk() const { return chunk_pairs / static_cast<double>(chunk_tokens) - tokens_of_chunk() / 2.0; }
};

struct BatchCost {
  sim::Time time{0};
  sim::Joules energy;  // of all GPUs of the group
};
using BatchCosts = std::function<BatchCost(const Batch&)>;

// Returns the step of a batch in which all sequences have the mean context, all chunks are equal and all replicas have
// the same.
StepQuestion step_of(StepQuestion question, const Batch& batch);

// A BatchGrid is the density of the grid in tokens, sequences and chunks: fine for answers; coarse for suites of many
// models, whose answers change by a few percent, less than the effects that they compare.
enum class BatchGrid { fine, coarse };

class BatchTimes {
 public:
  // What the machine refers to must outlive this object. `question` holds the model, split and launch mode of any
  // batch. Batches have at most `most_tokens` tokens; those of more than `captured` tokens are launched op by op in any
  // case.
  BatchTimes(const StepMachine& machine, const StepQuestion& question, std::int64_t most_tokens,
             std::int64_t captured = std::int64_t{1} << 40, BatchGrid fineness = BatchGrid::fine);

  BatchCost cost(const Batch& batch);
  // Returns the relative error of the interpolated time of a batch against a simulation of its step; nothing if the
  // step is impossible, as for sequences that share blocks but would not fit without sharing.
  std::optional<double> error(const Batch& batch);

 private:
  struct Cost {
    double seconds = 0.0;
    double joules = 0.0;  // of one GPU

    void add(double share, const Cost& of);
  };
  // A Grid holds costs at points of up to three axes and interpolates linearly; an unused axis has one value.
  struct Grid {
    using Point = std::array<std::int64_t, 3>;
    std::array<std::vector<std::int64_t>, 3> axes;
    std::map<Point, Cost> points{};

    // Interpolates at a place; `ask` computes points that are not known yet.
    Cost at(const std::array<double, 3>& place, const std::function<Cost(const Point&)>& ask);
  };

  bool is_by_op(const Batch& batch) const { return batch.tokens() > captured_; }
  Cost others(bool decodes, std::int64_t tokens) const;
  Cost attention(Phase phase, std::int64_t sequences, std::int64_t tokens, std::int64_t context) const;

  StepMachine machine_;
  models::PlatformSpec roomy_;  // the platform with memory for any point of the grid
  StepQuestion question_;
  std::int64_t captured_;  // tokens of the largest batch that is launched from a graph
  // `launches_` and `others_` have one entry for batches whose sequences all decode, and one for others.
  std::map<bool, double> launches_;  // seconds of one token, which the host launches more slowly than GPUs compute it
  std::map<bool, Grid> others_;      // over tokens
  Grid decoding_;                    // over cached tokens of a sequence, and sequences
  Grid chunks_;                      // over chunks, tokens of each, and cached tokens of each
};

}  // namespace c3sim::study
