// This says what RCCL moves from GPU to GPU in a collective, whatever its channels and protocol.
#pragma once

#include <vector>

#include "models/machine/delivery_ledger.h"
#include "models/platform/collective_spec.h"

namespace c3sim::models {

// Returns what `from` sends to `to` over the whole collective. The source of each byte is where it was originally.
std::vector<Delivery> rccl_transfers(const CollectiveSpec& spec, int from, int to);
sim::Bytes payload_between(const CollectiveSpec& spec, int from, int to);

}  // namespace c3sim::models
