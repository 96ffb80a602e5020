#include "models/collectives/rccl_transfers.h"

#include "models/collectives/deliveries.h"

namespace c3sim::models {

std::vector<Delivery> rccl_transfers(const CollectiveSpec& spec, int from, int to) {
  if (from == to) return {};
  if (spec.kind != CollectiveKind::broadcast) return deliveries(spec.kind, spec, from, to);
  // GPU 0 deals parts to the others, which pass them on to each other.
  if (to == 0) return {};
  const int part = from == 0 ? to : from;
  const Delivery whole = deliveries(spec.kind, spec, 0, to).front();
  return {{share_of(whole.destination, part - 1, part, spec.gpus - 1),
           share_of(whole.source, part - 1, part, spec.gpus - 1)}};
}

sim::Bytes payload_between(const CollectiveSpec& spec, int from, int to) {
  sim::Bytes payload;
  for (const Delivery& transfer : rccl_transfers(spec, from, to)) payload += transfer.destination.bytes;
  return payload;
}

}  // namespace c3sim::models
