// Whose bytes a collective moves where: the layout of its arrays, and what it is defined to deliver, whatever runs it.
#pragma once

#include <vector>

#include "models/machine/delivery_ledger.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

// The buffers of each GPU. All-gather, broadcast and swaps work in place, in the output.
inline constexpr int input_buffer = 0;
inline constexpr int output_buffer = 1;

// Devices here are ranks of the collective, from 0; those of ranges that come out are GPUs of the node.

// The part of an array that belongs to rank `rank`: one of `spec.gpus` equal chunks, for which the array is padded.
BufferRange chunk(const CollectiveSpec& spec, int device, int buffer, int rank);

// The bytes of a range between two shares of it, given as `first` and `end` of `parts`; adjacent shares meet exactly.
BufferRange share_of(const BufferRange& whole, int first, int end, int parts);

// The bytes of `from` that must end at `to`, by whatever way. Of an all-reduce, its reduce-scatter and its
// all-gather; of one in one shot, the whole array.
std::vector<Delivery> deliveries(CollectiveKind kind, const CollectiveSpec& spec, int from, int to);

// The same of the first `senders` GPUs to all others.
std::vector<Delivery> deliveries_by(CollectiveKind kind, const CollectiveSpec& spec, int senders);
// Expects all that the first `senders` GPUs owe to the others.
void expect_deliveries(CollectiveKind kind, const CollectiveSpec& spec, int senders, DeliveryLedger& ledger);

}  // namespace c3sim::models
