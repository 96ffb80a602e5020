#include "study/work/cu_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/study/test_platform.h"

namespace c3sim::study {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CuPartitionTest : public testing::Test {
 protected:
  const models::PlatformSpec platform_ = mi300x().spec;  // 8 XCDs of 38 CUs
};

TEST_F(CuPartitionTest, MasksHoldAsManyCusOfEachXcd) {
  EXPECT_THAT(why_no_mask(platform_, 8), IsEmpty());
  EXPECT_THAT(why_no_mask(platform_, 304), IsEmpty());
  EXPECT_THAT(why_no_mask(platform_, 12), HasSubstr("multiples of 8 from 8 to 304 are accepted"));
  EXPECT_THAT(why_no_mask(platform_, 0), HasSubstr("0 CUs cannot be used"));
  EXPECT_THAT(why_no_mask(platform_, 312), HasSubstr("multiples of 8 from 8 to 304"));
  EXPECT_THAT(why_no_mask(platform_, -8), HasSubstr("-8 CUs cannot be used"));
}

TEST_F(CuPartitionTest, AReservationLeavesTheGemmACuOfEveryXcd) {
  EXPECT_THAT(why_no_reservation(platform_, 296), IsEmpty());
  EXPECT_THAT(why_no_reservation(platform_, 304), HasSubstr("from 8 to 296"));
}

TEST_F(CuPartitionTest, ReservationsWorthTryingArePowersOfTwoWithACuPerXcd) {
  EXPECT_THAT(cu_reservations(platform_), testing::ElementsAre(8, 16, 32, 64, 128));
  EXPECT_THAT(cu_reservations(mi300x({"gpu.cus_per_xcd=1"}).spec), IsEmpty());
}

TEST_F(CuPartitionTest, FineSplitsAreNoneAndEveryMultipleOfTheXcds) {
  const std::vector<int> fine = cu_reservations(platform_, Splits::fine);
  ASSERT_EQ(fine.size(), 38u);  // 0, 8, ... 296 of 304 CUs
  for (std::size_t i = 0; i < fine.size(); ++i) EXPECT_EQ(fine[i], static_cast<int>(8 * i));
  EXPECT_THAT(cu_reservations(mi300x({"gpu.cus_per_xcd=1"}).spec, Splits::fine), testing::ElementsAre(0));
  const CuPartition none = reserve(platform_, 0);
  EXPECT_EQ(none.gemm, models::CuMask{});
  EXPECT_EQ(none.collective, models::CuMask{});
}

TEST_F(CuPartitionTest, AllCusAreNoMask) {
  EXPECT_EQ(first_cus(platform_, 304), models::CuMask{});
  EXPECT_EQ(first_cus(platform_, 240), (models::CuMask{0, 30}));
}

TEST_F(CuPartitionTest, TheTwoPartsOfAReservationMeetAndDoNotOverlap) {
  const CuPartition partition = reserve(platform_, 64);
  EXPECT_EQ(partition.collective, (models::CuMask{0, 8}));
  EXPECT_EQ(partition.gemm, (models::CuMask{8, 38}));
  EXPECT_EQ(partition.reserved, 64);
}

}  // namespace
}  // namespace c3sim::study
