#include "models/machine/delivery_ledger.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/check.h"

namespace c3sim::models {
namespace {

BufferRange range(int device, double begin, double bytes) { return {device, 0, sim::Bytes(begin), sim::Bytes(bytes)}; }

// Bytes 0 to 100 of GPU 1 are due from those of GPU 0.
TEST(DeliveryLedger, RejectsAMissingByteAByteWrittenTwiceAndBytesOfAnotherSource) {
  using Deliveries = std::vector<std::pair<BufferRange, BufferRange>>;
  for (const Deliveries& deliveries : {Deliveries{{range(1, 0, 99), range(0, 0, 99)}},
                                       {{range(1, 0, 100), range(0, 0, 100)}, {range(1, 50, 1), range(0, 50, 1)}},
                                       {{range(1, 0, 100), range(0, 1, 100)}}}) {
    DeliveryLedger ledger;
    ledger.expect(range(1, 0, 100), range(0, 0, 100));
    for (const auto& [to, from] : deliveries) ledger.deliver(to, from);
    EXPECT_THROW(ledger.require_complete(), sim::InternalError);
  }
}

TEST(DeliveryLedger, ASwapIsTwoDeliveriesBothOfWhichAreDue) {
  DeliveryLedger ledger;
  ledger.expect(range(0, 0, 8), range(1, 0, 8));
  ledger.expect(range(1, 0, 8), range(0, 0, 8));
  ledger.deliver(range(0, 0, 8), range(1, 0, 8));
  EXPECT_THROW(ledger.require_complete(), sim::InternalError);
  ledger.deliver(range(1, 0, 8), range(0, 0, 8));
  EXPECT_NO_THROW(ledger.require_complete());
}

TEST(DeliveryLedger, AReductionTakesEverySourceOnce) {
  DeliveryLedger ledger;
  for (int source : {1, 2}) ledger.expect(range(0, 0, 100), range(source, 0, 100));
  // The pieces of the two sources interleave in the destination.
  for (double begin : {0.0, 50.0}) {
    for (int source : {2, 1}) ledger.deliver(range(0, begin, 50), range(source, begin, 50));
  }
  EXPECT_NO_THROW(ledger.require_complete());
  ledger.deliver(range(0, 0, 50), range(1, 0, 50));
  EXPECT_THROW(ledger.require_complete(), sim::InternalError);
}

RC_GTEST_PROP(DeliveryLedgerProperty, AnyPartitionInAnyOrderIsComplete, ()) {
  DeliveryLedger ledger;
  const auto cuts = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000));
  std::vector<int> ends(cuts);
  ends.push_back(0);
  ends.push_back(1000);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<std::pair<int, int>> pieces;
  for (std::size_t i = 1; i < ends.size(); ++i) pieces.emplace_back(ends[i - 1], ends[i]);
  std::rotate(pieces.begin(), pieces.begin() + *rc::gen::inRange<long>(0, static_cast<long>(pieces.size())),
              pieces.end());
  ledger.expect(range(3, 0, 1000), range(4, 7000, 1000));
  for (const auto& [begin, end] : pieces)
    ledger.deliver(range(3, begin, end - begin), range(4, 7000 + begin, end - begin));
  ledger.require_complete();
}

}  // namespace
}  // namespace c3sim::models
