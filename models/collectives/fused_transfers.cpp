#include "models/collectives/fused_transfers.h"

namespace c3sim::models {

namespace {

std::vector<FusedTransfer> around_ring(const FusedSpec& spec, std::int64_t gpus) {
  std::vector<FusedTransfer> transfers;
  const std::int64_t around = gpus - 1;
  const std::int64_t hops = spec.all_reduces() ? 2 * around : around;
  for (std::int64_t hop = 0; hop < hops; ++hop) {
    for (std::int64_t piece = 0; piece < spec.pieces; ++piece) {
      const std::int64_t here = hop * spec.pieces + piece;
      const std::int64_t next = here + spec.pieces;
      if (spec.gathers()) {
        const std::int64_t sent = hop == 0 ? FusedTransfer::from_the_start : here - spec.pieces;
        transfers.push_back({sent, 1, here, hop > 0});
      } else {
        transfers.push_back({here, 1, next, hop > 0, hop >= around});
      }
    }
  }
  return transfers;
}

std::vector<FusedTransfer> to_each_peer(const FusedSpec& spec, std::int64_t gpus) {
  std::vector<FusedTransfer> transfers;
  for (std::int64_t round = 0; round < spec.pieces; ++round) {
    for (std::int64_t distance = 1; distance < gpus; ++distance) {
      if (spec.gathers()) {
        transfers.push_back({FusedTransfer::from_the_start, static_cast<int>(distance), round, false});
      } else {
        const std::int64_t first = round * gpus;
        transfers.push_back({first + distance - 1, static_cast<int>(distance), first + gpus - 1, false});
      }
    }
    for (std::int64_t distance = 1; spec.all_reduces() && distance < gpus; ++distance) {
      const std::int64_t sum = round * gpus + gpus - 1;
      transfers.push_back({sum, static_cast<int>(distance), gpus * spec.pieces + round, true, true});
    }
  }
  return transfers;
}

}  // namespace

std::vector<FusedTransfer> fused_transfers(const FusedSpec& spec, std::int64_t gpus) {
  return spec.path == FusedPath::ring ? around_ring(spec, gpus) : to_each_peer(spec, gpus);
}

}  // namespace c3sim::models
