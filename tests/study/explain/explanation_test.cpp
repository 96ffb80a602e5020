#include <sstream>
#include <string>

#include "study/ask/answers.h"
#include "study/explain/run_trace.h"
#include "tests/study/test_platform.h"
#include "tests/testing.h"

namespace c3sim::study {
namespace {

using sim::operator""_MiB;

std::string explained(models::PlatformSpec platform, const Schedule& schedule) {
  Testbed testbed(std::move(platform));
  const std::vector<NamedRun> runs{{"run", schedule}};
  std::ostringstream csv;
  explain(testbed, runs).write_csv(csv);
  return csv.str();
}

const models::ElementwiseSpec memory_bound{1024_MiB, 512_MiB, {}};

// HBM holds this kernel back, whether or not a part of it is set apart for collectives.
TEST(Explanation, NamesALevelThatIsPartitioned) {
  models::PlatformSpec platform = mi300x().spec;
  const Schedule kernel{operation("kernel", memory_bound)};
  EXPECT_THAT(explained(platform, kernel), HasSubstr(",HBM,"));
  platform.gpu.memory.collective_channels = 0.25;
  EXPECT_THAT(explained(platform, kernel), HasSubstr(",HBM,"));
}

TEST(Explanation, NamesALevelThatIsApartInACounterfactualMachine) {
  models::PlatformSpec platform = mi300x().spec;
  platform.without.add(models::Mechanism::hbm);
  EXPECT_THAT(explained(platform, {operation("kernel", memory_bound)}), HasSubstr(",HBM,"));
}

// Small tiles ask more of the L2s than these give at the clock of the CUs.
TEST(Explanation, NamesTheL2WhereAGemmIsBoundByIt) {
  EXPECT_THAT(explained(mi300x_conccl().spec, {operation("gemm", models::GemmShape{16384, 106496, 8192})}),
              HasSubstr("run,GEMM,L2,"));
}

TEST(Explanation, NamesReadsOfOtherGpus) {
  models::PlatformSpec platform = mi300x().spec;
  platform.rccl.access = models::RcclAccess::load;
  models::CollectiveSpec gather;
  gather.bytes = sim::Bytes(1e9);
  const std::string csv = explained(platform, {operation("all-gather", gather)});
  EXPECT_THAT(csv, HasSubstr("run,RCCL,reads of other GPUs under way,"));
  EXPECT_THAT(csv, Not(HasSubstr("XCD ports")));
}

TEST(Explanation, TellsOperationsOfOneKindApart) {
  const models::GemmShape shape{4096, 4096, 4096};
  const std::string csv = explained(mi300x().spec, {operation("first", shape), operation("second", shape)});
  EXPECT_THAT(csv, HasSubstr("run,GEMM first,"));
  EXPECT_THAT(csv, HasSubstr("run,GEMM second,"));
}

TEST(Explanation, KnowsKernelsThatAreNoGemm) {
  const std::string csv =
      explained(mi300x().spec, {operation("copy", models::ElementwiseSpec{sim::Bytes(1e9), sim::Bytes(1e9), {}})});
  EXPECT_THAT(csv, HasSubstr("run,element-wise kernel,HBM,"));
}

}  // namespace
}  // namespace c3sim::study
