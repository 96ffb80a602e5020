// A DeliveryLedger records which bytes a collective owes to which buffer, and which have been written. It checks the
// simulated copies as a real collective would be checked: every destination byte arrives once, from the right place.
#pragma once

#include <compare>
#include <vector>

#include "models/platform/device.h"
#include "sim/units.h"

namespace c3sim::models {

// A contiguous range of one buffer of one device.
struct BufferRange {
  int device = 0;
  int buffer = 0;  // a number that the layout of the collective's buffers defines
  sim::Bytes begin;
  sim::Bytes bytes;

  auto operator<=>(const BufferRange&) const = default;
};

struct Delivery {
  BufferRange destination;
  BufferRange source;  // as long as the destination

  auto operator<=>(const Delivery&) const = default;
};

class DeliveryLedger {
 public:
  void expect(const BufferRange& destination, const BufferRange& source);
  void deliver(const BufferRange& destination, const BufferRange& source);  // may be empty
  // Fails a SIM_CHECK unless exactly the expected bytes have been delivered, each once, in pieces of any size and
  // order. A destination byte may have several sources only if they were expected (a reduction).
  void require_complete() const;

 private:
  std::vector<Delivery> expected_;
  std::vector<Delivery> delivered_;
};

}  // namespace c3sim::models
