// How long the GPUs of a group compute a batch, and what they draw: whole steps (study/step) are simulated at points of
// a grid, when a batch first comes near, and interpolated between. In a step of inference one kernel follows the other,
// so that a batch takes what products, norms and collectives take for its tokens, what attention takes for sequences
// that decode, by their number and mean context, and what it takes for chunks of prompts, by number, tokens and
// context; launched op by op by the host no less than that takes to launch one token's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "models/platform/platform_spec.h"
#include "study/serve/batch.h"
#include "study/step/step_question.h"
#include "study/work/operators.h"

namespace c3sim::study {

// The step that a batch is, its sequences having the mean context, and its chunks being equal.
StepQuestion step_of(StepQuestion question, const Batch& batch);

class BatchTimes {
 public:
  // Both outlive it. `question`: of any batch, its model and how it is launched included; batches have so many tokens
  // at most.
  BatchTimes(const models::PlatformSpec& platform, const StepQuestion& question,
             std::span<const ElementwiseOperator> operators, std::int64_t most_tokens);

  BatchCost cost(const Batch& batch);
  // What interpolating makes of it, over what its step takes when that is simulated itself, less 1. Nothing for a step
  // that is refused, as where sequences that share blocks would not have room without.
  std::optional<double> error(const Batch& batch);
  std::size_t points() const { return others_.size() + decoding_.size() + chunks_.size(); }

 private:
  struct Cost {
    double seconds = 0.0;
    double joules = 0.0;  // of one GPU
  };
  using Axis = std::vector<std::int64_t>;
  // Between two values of an axis: the lower one's place, and how far behind it.
  struct Place {
    std::size_t at = 0;
    double beyond = 0.0;
  };
  static Axis axis(std::int64_t low, std::int64_t high, int per_octave);
  static Place place(const Axis& axis, double value);

  Cost others(const Batch& batch);
  Cost attention_decoding(double sequences, double context);
  Cost attention_of_chunks(double chunks, double tokens, double context);
  Cost other_point(bool decodes, std::int64_t tokens);
  Cost attention_point(StepQuestion question) const;
  // Of a batch of one token, which the host takes longer to launch than the GPUs to compute.
  const Cost& launched_by_op(bool decodes);

  const models::PlatformSpec& platform_;
  StepQuestion question_;
  std::span<const ElementwiseOperator> operators_;
  bool by_op_;
  std::map<bool, Cost> launches_;
  Axis tokens_;    // of a batch
  Axis queries_;   // of a chunk
  Axis counts_;    // of sequences and chunks
  Axis contexts_;  // cached tokens of a sequence
  std::map<std::pair<bool, std::int64_t>, Cost> others_;
  std::map<std::pair<std::size_t, std::size_t>, Cost> decoding_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Cost> chunks_;
};

}  // namespace c3sim::study
