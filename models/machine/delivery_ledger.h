// The book of a collective: which bytes are due where, and which have been written. Holds the simulated copies to what
// a real one would be checked for: every destination byte arrives once, from the right place.
#pragma once

#include <compare>
#include <vector>

#include "models/platform/device.h"
#include "sim/units.h"

namespace c3sim::models {

// A contiguous range of one buffer of one device.
struct BufferRange {
  int device = 0;
  int buffer = 0;  // numbered by whoever lays out the buffers
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
  // Fails a SIM_CHECK unless exactly what was expected has been delivered, each byte once; pieces in any order and of
  // any size. Several sources for one destination byte are right only where they were expected (a reduction).
  void require_complete() const;

 private:
  std::vector<Delivery> expected_;
  std::vector<Delivery> delivered_;
};

}  // namespace c3sim::models
