#include "models/machine/delivery_ledger.h"

#include <algorithm>

#include "sim/check.h"

namespace c3sim::models {
namespace {

bool continues(const Delivery& before, const Delivery& after) {
  const auto adjacent = [](const BufferRange& a, const BufferRange& b) {
    return a.device == b.device && a.buffer == b.buffer && a.begin + a.bytes == b.begin;
  };
  return adjacent(before.destination, after.destination) && adjacent(before.source, after.source);
}

// Joins deliveries that continue each other. Sorting by source device first makes the pieces of one copy neighbours,
// even if reductions from several sources share a destination.
std::vector<Delivery> joined(std::vector<Delivery> deliveries) {
  std::sort(deliveries.begin(), deliveries.end(), [](const Delivery& a, const Delivery& b) {
    if (a.source.device != b.source.device) return a.source.device < b.source.device;
    return a < b;
  });
  std::vector<Delivery> result;
  for (const Delivery& delivery : deliveries) {
    if (!result.empty() && continues(result.back(), delivery)) {
      result.back().destination.bytes += delivery.destination.bytes;
      result.back().source.bytes += delivery.source.bytes;
    } else {
      result.push_back(delivery);
    }
  }
  return result;
}

}  // namespace

void DeliveryLedger::expect(const BufferRange& destination, const BufferRange& source) {
  SIM_CHECK(destination.bytes == source.bytes);
  expected_.push_back({destination, source});
}

void DeliveryLedger::deliver(const BufferRange& destination, const BufferRange& source) {
  SIM_CHECK(destination.bytes == source.bytes);
  if (destination.bytes > sim::Bytes(0.0)) delivered_.push_back({destination, source});
}

void DeliveryLedger::require_complete() const {
  SIM_CHECK(joined(delivered_) == joined(expected_) && "every destination byte is written once, from its own source");
}

}  // namespace c3sim::models
