// Two batches of sequences whose computing and communicating alternate: while one communicates, the other computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/step/step_operation.h"

namespace c3sim::study {

// The operations of a layer of one kind, for half of the sequences, and how many layers of that kind follow each other.
struct LayersOfHalf {
  std::vector<StepOperation> operations;
  std::int64_t layers = 0;
};

// Of all these layers in their order, for both halves. What communicates is queued on a stream of its own behind what
// computed it, and what computes next of the same half waits for it; the halves take turns on the stream that computes
// where one has to wait. Names of operations end in _1 and _2.
std::vector<StepBlock> two_batches(std::span<const LayersOfHalf> layers);

}  // namespace c3sim::study
