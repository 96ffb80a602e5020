#include "study/work/operation.h"

#include <gtest/gtest.h>

namespace c3sim::study {
namespace {

TEST(Operation, IsDoneByChannelsOrEnginesByItsBackend) {
  models::CollectiveSpec collective;
  collective.backend = models::Backend::rccl;
  EXPECT_EQ(doer_of(collective), Doer::channels);
  EXPECT_TRUE(is_kernel(collective));
  collective.backend = models::Backend::sdma;
  EXPECT_EQ(doer_of(collective), Doer::engines);
  EXPECT_FALSE(is_kernel(collective));
}

TEST(Operation, IsAKernelWhereItRunsOnComputeUnits) {
  for (const Work& work :
       {Work(models::GemmShape{256, 256, 256}), Work(models::ElementwiseSpec{}), Work(models::RemoteKernelSpec{})}) {
    EXPECT_TRUE(is_kernel(work)) << to_string(work);
  }
  for (const Work& work :
       {Work(models::SdmaCopySpec{}), Work(models::SdmaPacketList{}), Work(DelaySpec{}), Work(HostWorkSpec{})}) {
    EXPECT_FALSE(is_kernel(work)) << to_string(work);
  }
  EXPECT_EQ(doer_of(models::SdmaPacketList{}), Doer::engines);
  EXPECT_EQ(doer_of(DelaySpec{}), Doer::host);
}

}  // namespace
}  // namespace c3sim::study
