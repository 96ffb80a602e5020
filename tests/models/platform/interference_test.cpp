#include "models/platform/interference.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/kernels/gemm.h"
#include "models/machine/dispatcher.h"
#include "tests/models/collectives/collective_fixture.h"

namespace c3sim::models {
namespace {

using sim::operator""_us;
using sim::operator""_MiB;

Mechanisms everything() {
  Mechanisms all;
  for (const Mechanism mechanism : all_mechanisms) all.add(mechanism);
  return all;
}

Mechanisms only(Mechanism mechanism) {
  Mechanisms one;
  one.add(mechanism);
  return one;
}

PlatformSpec without(Mechanisms mechanisms) {
  PlatformSpec platform = mi300x();
  platform.host.threads = HostThreads::per_gpu;
  platform.without = mechanisms;
  return platform;
}

const GemmShape memory_bound{8192, 57344, 2048};
CollectiveSpec collective(CollectiveKind kind, Backend backend) { return collective(kind, backend, 256_MiB); }
const std::vector<CollectiveSpec> collectives{collective(CollectiveKind::all_gather, Backend::rccl),
                                              collective(CollectiveKind::all_to_all, Backend::rccl),
                                              collective(CollectiveKind::all_gather, Backend::sdma)};

sim::Time gemm_alone(const PlatformSpec& platform) {
  LoneNode node(platform, Symmetry::all_alike);
  return time_of(node, run_gemm(node, memory_bound, {}));
}

sim::Time alone(const PlatformSpec& platform, const CollectiveSpec& spec) {
  LoneNode node(platform, Symmetry::all_alike);
  CollectiveRun run(node, spec, {});
  return time_of(node, run.run());
}

struct Ends {
  sim::Time gemm{0};
  sim::Time collective{0};
};
// Returns when both end if they run together. The GEMM is launched first.
Ends together(const PlatformSpec& platform, const CollectiveSpec& spec) {
  LoneNode node(platform, Symmetry::all_alike);
  CollectiveRun run(node, spec, {});
  const std::vector<sim::Time> ends = ends_together(node.simulator(), run_gemm(node, memory_bound, {}), run.run());
  return {ends[0], ends[1]};
}

TEST(Interference, FullATenantAloneRunsTheSameWithoutAnyMechanism) {
  const PlatformSpec real = without({});
  for (const Mechanism mechanism : all_mechanisms) {
    const PlatformSpec platform = without(only(mechanism));
    EXPECT_EQ(gemm_alone(platform), gemm_alone(real)) << to_string(mechanism);
    for (const CollectiveSpec& spec : collectives) {
      // The solver finds latencies that depend on rates to within a millionth.
      EXPECT_NEAR(sim::to_microseconds(alone(platform, spec)) / sim::to_microseconds(alone(real, spec)), 1.0, 1e-6)
          << to_string(mechanism) << " " << to_string(spec.backend);
    }
  }
}

// Without any mechanism only the host's thread remains, which launches one thing after the other: at most the launch of
// a kernel (6 us) or the enqueueing of seven copies (seven doorbells 0.76 us apart) delays the rest.
TEST(Interference, WithoutAllMechanismsOnlyTheOrderOfLaunchesIsLeft) {
  const PlatformSpec platform = without(everything());
  for (const CollectiveSpec& spec : collectives) {
    const Ends ends = together(platform, spec);
    EXPECT_GE(ends.gemm, gemm_alone(platform));
    EXPECT_LE(ends.gemm, gemm_alone(platform) + 7_us);
    EXPECT_GE(ends.collective, alone(platform, spec));
    EXPECT_LE(ends.collective, alone(platform, spec) + 7_us);
  }
}

TEST(Interference, ARealMachineHasAllMechanisms) {
  const PlatformSpec platform = without({});
  const CollectiveSpec all_to_all = collective(CollectiveKind::all_to_all, Backend::rccl);
  EXPECT_GT(together(platform, all_to_all).collective, 2 * alone(platform, all_to_all));
}

// There are two XCDs of one CU. A GEMM of 4 workgroups of 10 us, one per CU, takes 20 us alone; a collective of 2
// workgroups of 20 us arrives after it.
struct OneCuPerXcd {
  explicit OneCuPerXcd(Mechanisms mechanisms)
      : dispatcher(simulator, {DispatchPolicy::oldest_first, sim::Time(0), sim::Time(0), 1}, 2, 1, round_cu(), "gpu0",
                   mechanisms) {
    run("gemm", Tenant::gemm, 4, 10_us, gemm);
    run("rccl", Tenant::rccl, 2, 20_us, rccl);
    simulator.run();
  }
  void run(std::string name, Tenant tenant, int workgroups, sim::Time duration, sim::Time& end) {
    KernelSpec kernel{.name = name, .workgroups = workgroups, .workgroup = round_cu(), .tenant = tenant};
    CohortBody body = [this, duration](const Cohort&) { return wait(simulator, duration); };
    simulator.spawn(std::move(name), note_end(simulator, dispatcher.run(std::move(kernel), std::move(body)), end));
  }
  static sim::Task<> wait(sim::Simulator& simulator, sim::Time duration) { co_await simulator.delay(duration); }

  sim::Simulator simulator;
  Dispatcher dispatcher;
  sim::Time gemm{0};
  sim::Time rccl{0};
};

TEST(DispatcherInterference, IsAWaitForCusOrALossOfThemOrNeither) {
  const OneCuPerXcd real({});
  EXPECT_EQ(real.gemm, 20_us);
  EXPECT_EQ(real.rccl, 40_us);
  // The collective is placed at once; the second wave of the GEMM then waits until it leaves the CUs.
  const OneCuPerXcd without_wait(only(Mechanism::dispatch_wait));
  EXPECT_EQ(without_wait.rccl, 20_us);
  EXPECT_EQ(without_wait.gemm, 30_us);
  Mechanisms both = only(Mechanism::dispatch_wait);
  both.add(Mechanism::cu_loss);
  const OneCuPerXcd without_either(both);
  EXPECT_EQ(without_either.rccl, 20_us);
  EXPECT_EQ(without_either.gemm, 20_us);
}

// A mask of half the CUs of each XCD doubles the waves of a GEMM, unless the GEMM cannot lose CUs.
TEST(DispatcherInterference, WithoutCuLossAMaskKeepsNothingFromAGemm) {
  PlatformSpec platform = round_platform();
  const GemmShape two_waves_of_half{512, 512, 1024};  // 16 tiles of 128x128 on 2 x 2 CUs: four waves; on 2 x 4: two
  const auto time = [&](CuMask mask) {
    LoneNode node(platform, Symmetry::all_alike);
    return time_of(node, run_gemm(node, two_waves_of_half, {mask}));
  };
  const sim::Time whole = time({});
  EXPECT_GT(time({0, 2}), whole);
  platform.without = only(Mechanism::cu_loss);
  EXPECT_EQ(time({0, 2}), whole);
}

}  // namespace
}  // namespace c3sim::models
