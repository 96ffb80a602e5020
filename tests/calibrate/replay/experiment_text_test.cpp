// Traces as experiments.
#include "calibrate/replay/experiment_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/config/config_error.h"
#include "study/run/platform_file.h"
#include "study/run/queue_time.h"
#include "tests/calibrate/readers/kineto_trace.h"
#include "tests/config_folders.h"

namespace c3sim::calibrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ExperimentText : public testing::Test {
 protected:
  std::string written(const Trace& trace) {
    const Profile profile = trace.read();
    const auto run = take_apart(profile, dependencies_of(profile), contention_);
    return experiment_text(profile, run, contention_, models::Backend::sdma);
  }
  study::Testbed testbed_{
      study::read_platform(study::find_platform("mi300x", "test", folders), std::vector<std::string>{}, folders).spec};
  Contention contention_{testbed_, {}};
};

// 2^24 elements of two bytes.
TEST_F(ExperimentText, KeepsStreamsAndWaitsAndChangesTheBackend) {
  Trace trace;
  trace.call("hipLaunchKernel", 0, 1, 1).kernel("gemm", 0, 10, 1000, 1);
  trace.call("hipLaunchKernel", 2, 1, 2).all_gather(4, 1013, 500, 2, 1 << 24);
  trace.call("hipLaunchKernel", 4, 1, 3).kernel("copy", 0, 1517, 100, 3);
  const std::string text = written(trace);
  EXPECT_THAT(text, HasSubstr("- {name: products_1, stream: s0, gemm: 8192x8192x"));
  EXPECT_THAT(text, HasSubstr("after: [products_1]}\n"));
  EXPECT_THAT(text, HasSubstr("stream: s4, collective: {kind: all_gather, bytes: 32MiB, gpus: 8, backend: sdma}"));
  EXPECT_THAT(text, HasSubstr("after: [collective_3]}\n"));
}

// A step of the depth of 8192 is less than 2 % of so long a product.
TEST_F(ExperimentText, StandsInForComputationWithWorkOfThatLength) {
  for (const Beside beside : {Beside::matrix, Beside::memory}) {
    const sim::Time length = std::chrono::milliseconds(3);
    const study::Work work = contention_.company(beside, length);
    const sim::Time alone =
        study::alone_on_queue(testbed_, study::operation_of(work), false, study::Between::communication);
    EXPECT_NEAR(sim::to_seconds(alone) / sim::to_seconds(length), 1.0, 0.02);
  }
}

// What a stream computes while another computes more is part of that one's traced time already: 100 us and more of the
// copy are no kernel of 5 TB/s beside the product, but a delay.
TEST_F(ExperimentText, HasNoSecondTimeWhatComputationBesideItCosts) {
  Trace trace;
  trace.call("hipLaunchKernel", 0, 1, 1).kernel("gemm", 0, 10, 1000, 1);
  trace.call("hipLaunchKernel", 2, 1, 2).kernel("copy", 4, 20, 100, 2);
  trace.call("hipLaunchKernel", 4, 1, 3).all_gather(6, 122, 500, 3, 1 << 24);
  const std::string text = written(trace);
  EXPECT_THAT(text, HasSubstr("stream: s4, delay: 110.000us}"));
  EXPECT_THAT(text, Not(HasSubstr("kernel: {read")));
}

// The division by how much longer a deeper product takes must not be one by zero: here all take as long, and a deeper
// one even less.
TEST(ExperimentTextWhereDepthCostsNothing, WritesProductsOfOneDepth) {
  const study::Testbed::Factor all_alike = [](const study::Work& work, const study::Company&) {
    return std::holds_alternative<models::GemmShape>(work) ? 1e-30 : 1.0;
  };
  const study::Testbed::Factor less_with_depth = [](const study::Work& work, const study::Company&) {
    const auto* const gemm = std::get_if<models::GemmShape>(&work);
    return gemm == nullptr ? 1.0 : std::pow(64.0 / static_cast<double>(gemm->k), 2.0);
  };
  for (const study::Testbed::Factor& factor : {all_alike, less_with_depth}) {
    study::Testbed testbed(
        study::read_platform(study::find_platform("mi300x", "test", folders), std::vector<std::string>{}, folders).spec,
        factor);
    Contention contention(testbed, {});
    Trace trace;
    trace.call("hipLaunchKernel", 0, 1, 1).kernel("gemm", 0, 10, 1000, 1);
    trace.call("hipLaunchKernel", 2, 1, 2).all_gather(4, 1013, 500, 2, 1 << 24);
    const Profile profile = trace.read();
    const auto run = take_apart(profile, dependencies_of(profile), contention);
    EXPECT_THAT(experiment_text(profile, run, contention, models::Backend::sdma), HasSubstr("gemm: 8192x8192x"));
  }
}

// 192 GiB are read in 48 ms at 4.3 TB/s: half a second is more than ten times as much.
TEST_F(ExperimentText, WritesKernelsThatFitTheMemoryOfAGpu) {
  Trace trace;
  trace.call("hipLaunchKernel", 0, 1, 1).kernel("copy", 0, 10, 500'000, 1);
  trace.call("hipLaunchKernel", 2, 1, 2).all_gather(4, 500'013, 500, 2, 1 << 24);
  const std::string text = written(trace);
  EXPECT_THAT(text, HasSubstr("- {name: kernels_2, stream: s0, kernel: {read: "));
}

TEST_F(ExperimentText, RefusesATraceOfSeveralGpus) {
  Trace trace;
  trace.kernel("gemm", 0, 10, 5);
  trace.other(R"({"ph":"X","cat":"kernel","name":"k","ts":40,"dur":1,"args":{"device":1,"stream":7}})");
  EXPECT_THROW(static_cast<void>(written(trace)), sim::ConfigError);
}

}  // namespace
}  // namespace c3sim::calibrate
