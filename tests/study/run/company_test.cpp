#include "study/run/company.h"

#include <gtest/gtest.h>

namespace c3sim::study {
namespace {

const models::GemmShape gemm{4096, 4096, 4096};

models::CollectiveSpec all_gather(models::Backend backend) {
  models::CollectiveSpec spec;
  spec.kind = models::CollectiveKind::all_gather;
  spec.backend = backend;
  spec.bytes = sim::Bytes(1 << 20);
  return spec;
}

Span span(int start, int end) { return {sim::Time(start), sim::Time(end), {}}; }

// Of 10 units a GEMM spends 4 beside the engines, 3 and 2 beside two collectives' channels; a delay is no company.
TEST(Company, IsCountedAsSharesOfTime) {
  const Schedule schedule{operation_of(gemm), operation_of(models::SdmaCopySpec{}),
                          operation_of(all_gather(models::Backend::rccl)),
                          operation_of(all_gather(models::Backend::rccl)), operation_of(DelaySpec{})};
  const std::vector<Span> spans{span(10, 20), span(0, 14), span(12, 15), span(18, 30), span(0, 30)};
  const Company company = company_of(schedule, spans, 0);
  EXPECT_DOUBLE_EQ(company.engines, 0.4);
  EXPECT_DOUBLE_EQ(company.channels, 0.5);
  EXPECT_DOUBLE_EQ(company.kernels, 0.0);
  EXPECT_DOUBLE_EQ(company_of(schedule, spans, 3).kernels, 2.0 / 12.0);
}

// Two that fill all of its time are no more than all of it, and what takes no time has no company.
TEST(Company, IsNeverMoreThanAllOfTheTime) {
  const Schedule schedule{operation_of(models::SdmaCopySpec{}), operation_of(gemm), operation_of(gemm)};
  EXPECT_DOUBLE_EQ(company_of(schedule, {span(0, 10), span(0, 10), span(0, 10)}, 0).kernels, 1.0);
  EXPECT_DOUBLE_EQ(company_of(schedule, {span(5, 5), span(0, 10), span(0, 10)}, 0).kernels, 0.0);
}

}  // namespace
}  // namespace c3sim::study
