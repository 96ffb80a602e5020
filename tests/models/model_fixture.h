// This file offers a small machine with round numbers, for expectations derived by hand, and ways to run parts of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/kernels/gemm.h"
#include "models/machine/resource_kind.h"
#include "models/node.h"
#include "models/platform/platform_config.h"
#include "sim/resource_network.h"
#include "sim/simulator.h"

namespace c3sim::models {

inline std::string platform_file(const std::string& name) {
  return std::string(C3SIM_SOURCE_DIR) + "/configs/platforms/" + name + ".yaml";
}
inline std::string mi300x_file() { return platform_file("mi300x"); }

inline PlatformSpec read_platform(const std::string& file, const std::vector<std::string>& assignments = {}) {
  sim::Config config = platform_config(file);
  for (const std::string& assignment : assignments) config.set(assignment);
  return PlatformSpec::read(config);
}
inline PlatformSpec mi300x(const std::vector<std::string>& assignments = {}) {
  return read_platform(mi300x_file(), assignments);
}
inline PlatformSpec h200(const std::vector<std::string>& assignments = {}) {
  return read_platform(platform_file("h200"), assignments);
}

// The memory serves two XCDs. It has no latency, so only bandwidth counts.
inline MemorySpec round_memory() {
  using sim::operator""_MiB;
  using sim::operator""_GBps;
  MemorySpec spec;
  spec.xcds = 2;
  spec.l2_capacity = 4_MiB;
  spec.l2_rate = 4000.0_GBps;
  spec.port_rate = 1000.0_GBps;
  spec.cache_capacity = 64_MiB;
  spec.cache_rate = 3000.0_GBps;
  spec.hbm_capacity = sim::Bytes(1e12);
  spec.hbm_rate = 1000.0_GBps;
  spec.hbm_read_efficiency = 0.8;
  spec.hbm_write_efficiency = 0.5;
  return spec;
}

// A flop takes 1 pJ at 1 GHz, a byte nothing, and the cap is far away: matrix work runs at 1 GHz, all else at 2 GHz.
inline PowerSpec round_power() {
  PowerSpec spec;
  spec.cap = sim::Watts(1e4);
  spec.idle = sim::Watts(100.0);
  spec.clock_tree = sim::Watts(20.0);
  spec.matrix_energy = sim::JoulesPerFlop(1e-12);
  spec.reference_clock = sim::Hertz(1e9);
  spec.voltage_exponent = 1.0;
  spec.busy_workgroup = sim::Watts(2.0);
  spec.lowest_clock = sim::Hertz(0.1e9);
  spec.highest_clock = sim::Hertz(2e9);
  spec.matrix_clock = sim::Hertz(1e9);
  spec.rated_clock = spec.highest_clock;
  return spec;
}

// One workgroup of any kernel fills a CU unless the test says otherwise.
inline CuResources round_cu() { return {720'720, 0, 0}; }
inline CuResources part_of_cu(int workgroups) { return {720'720 / workgroups, 0, 0}; }

// A CU does 1000 flops a cycle, of which tiles of 128x128 reach half: 0.5 TFLOP/s per CU at 1 GHz.
inline GemmSpec round_gemm() {
  GemmSpec spec;
  spec.flops_per_cycle_per_cu = 1000.0;
  spec.library.name = "round";
  spec.library.efficiency = 0.5;
  spec.library.l2_drift = 64;
  spec.library.cache_drift = 1024;
  GemmKernelSpec& square = spec.library.kernels.emplace_back();
  square.tuned_for = {1, 1, 1};
  square.tile_m = square.tile_n = 128;
  square.depth = 8;
  square.workgroup = round_cu();
  return spec;
}

// The library has six channels, two for each of three peers. LL, LL128 and Simple take 1, 2 and 4 us a step and reach a
// quarter, a half and all of the link rate.
inline RcclSpec round_rccl() {
  using sim::operator""_us;
  RcclSpec spec;
  spec.protocols = {{{1_us, 0.25}, {2_us, 0.5}, {4_us, 1.0}}};
  spec.collectives.fill({{6, round_cu()}, 1.0, 4.0, 1.0, 0.0, 1.0, 1.0, 0.0});
  spec.workgroup_in_flight = sim::Bytes(1e9);
  return spec;
}

// The machine has four GPUs of 2 x 4 CUs, links of 10 GB/s each way and a host thread per GPU. Launching a kernel takes
// 4 us of the host and 1 us of the dispatcher; noticing its end takes 2 us.
inline PlatformSpec round_platform() {
  using sim::operator""_us;
  using sim::operator""_GBps;
  PlatformSpec p;
  p.name = "round";
  p.gpus = p.fabric.gpus = 4;
  p.fabric.link_rate = p.fabric.peak_link_rate = p.fabric.host_to_device_rate = p.fabric.device_to_host_rate =
      10.0_GBps;
  p.fabric.reads_in_flight = sim::Bytes(1e9);
  p.host.threads = HostThreads::per_gpu;
  p.host.kernel_launch = 4_us;
  p.host.graph_launch = 1_us;
  p.host.kernel_notice = 2_us;
  p.gpu.cus_per_xcd = 4;
  p.gpu.cu = round_cu();
  p.gpu.memory = round_memory();
  p.gpu.streams.in_flight = sim::Bytes(1e9);
  p.gpu.dispatch.workgroup_launch = 1_us;
  p.gpu.gemm = round_gemm();
  p.gpu.power = round_power();
  p.rccl = round_rccl();
  return p;
}

// On that machine a kernel takes, besides its work, `dispatch_us` in the dispatcher and `around_us` in all. `tile_us`
// is a full tile of a GEMM with k = 1000: 2 * 128 * 128 * 1000 flops at 0.5 TFLOP/s on one CU.
inline constexpr double dispatch_us = 1.0;
inline constexpr double around_us = 4.0 + dispatch_us + 2.0;  // launch and notice
inline constexpr double tile_us = 65.536;
inline constexpr double clock_step = 1e-3;  // the governor leaves a clock alone that is within this of its target

// A LoneNode is a node with a simulator and a platform of its own.
struct OfLoneNode {
  sim::Simulator own_simulator;
  PlatformSpec own_platform;
};
struct LoneNode : private OfLoneNode, public Node {
  explicit LoneNode(PlatformSpec platform, Symmetry symmetry = Symmetry::none)
      : OfLoneNode{{}, std::move(platform)}, Node(own_simulator, own_platform, symmetry) {}
};

inline sim::Task<> note_end(sim::Simulator& simulator, sim::Task<> task, sim::Time& end) {
  co_await std::move(task);
  end = simulator.now();
}

// Returns when each of the tasks ends if all of them start now.
template <class... Tasks>
std::vector<sim::Time> ends_together(sim::Simulator& simulator, Tasks... tasks) {
  std::vector<sim::Time> ends(sizeof...(tasks));
  auto end = ends.begin();
  (simulator.spawn("test", note_end(simulator, std::move(tasks), *end++)), ...);
  simulator.run();
  return ends;
}

// Returns how long the task takes when it starts now.
inline sim::Time time_of(Node& node, sim::Task<> task) {
  const sim::Time start = node.simulator().now();
  return ends_together(node.simulator(), std::move(task)).front() - start;
}

// Runs until all has ended. Returns what `look` finds as soon as all that starts now has started.
template <class Look>
auto seen_at_once(sim::Simulator& simulator, Look look) {
  decltype(look()) seen{};
  simulator.schedule(simulator.now() + sim::Time(1), [&seen, &look] { seen = look(); });
  simulator.run();
  return seen;
}

// Returns the rates per second at which activities with these usages run while all of them are active.
inline std::vector<double> rates_together(sim::ResourceNetwork& network, std::vector<UsageList> lists) {
  std::vector<sim::ResourceNetwork::ActivityId> activities;
  for (UsageList& list : lists) {
    sim::ActivitySpec spec{.amount = 1e6, .usages = std::move(list).take()};
    activities.push_back(network.start(spec, [] {}));
  }
  return seen_at_once(network.simulator(), [&network, &activities] {
    std::vector<double> rates;
    for (const auto activity : activities) rates.push_back(network.rate(activity));
    return rates;
  });
}

inline double rate_alone(sim::ResourceNetwork& network, UsageList list) {
  return rates_together(network, {std::move(list)}).front();
}

// Returns the plan of a shape on the round machine with the given library.
inline GemmPlan plan_with(const GemmSpec& spec, const GemmShape& shape) {
  GpuSpec gpu = round_platform().gpu;
  gpu.gemm = spec;
  GemmPlan plan = plan_gemm(gpu, shape);
  plan.warm = false;  // the caches hold no operands at the start
  return plan;
}

}  // namespace c3sim::models
