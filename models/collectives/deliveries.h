// This defines the layout of a collective's arrays, and which bytes it must deliver where, whatever runs it.
#pragma once

#include <vector>

#include "models/machine/delivery_ledger.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

// Each GPU has these buffers. All-gather, broadcast and swaps work in place, in the output.
inline constexpr int input_buffer = 0;
inline constexpr int output_buffer = 1;

// Arguments `device`, `from` and `to` are ranks of the collective, from 0; the ranges returned name GPUs of the node.

// Returns the part of an array that belongs to `rank`: one of `spec.gpus` equal chunks, for which the array is padded.
BufferRange chunk(const CollectiveSpec& spec, int device, int buffer, int rank);

// Returns parts `first` to `end` (excluded) of a range that is cut into `parts`; adjacent parts meet exactly.
BufferRange share_of(const BufferRange& whole, int first, int end, int parts);

// Returns the bytes of `from` that must arrive at `to`, by any route. An all-reduce has those of its reduce-scatter and
// its all-gather; in one shot it has the whole array.
std::vector<Delivery> deliveries(CollectiveKind kind, const CollectiveSpec& spec, int from, int to);

// Returns the deliveries of the first `senders` GPUs to all others.
std::vector<Delivery> deliveries_by(CollectiveKind kind, const CollectiveSpec& spec, int senders);
// Makes the ledger expect all deliveries of the first `senders` GPUs to the others.
void expect_deliveries(CollectiveKind kind, const CollectiveSpec& spec, int senders, DeliveryLedger& ledger);

}  // namespace c3sim::models
