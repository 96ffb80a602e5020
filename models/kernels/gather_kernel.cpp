#include "models/kernels/gather_kernel.h"

#include <algorithm>
#include <utility>

#include "models/kernels/kernel_run.h"
#include "models/platform/device.h"

namespace c3sim::models {

namespace {

constexpr int blocks_on_a_cu = 4;  // workgroups of 512 threads on a CU of 2048

// Returns a demand whose progress counts in bytes. What is under way are loads.
Demand demand_of(Node& node, const SdmaCopySpec& spec) {
  const bool pulled = spec.from == host_device;
  Demand demand;
  PeerDemand& peer = demand.peer.emplace();
  peer.gpu = pulled ? host_device : spec.to;
  peer.link_bytes = 1.0;
  peer.pulled = pulled;
  const Traffic read{1.0, 0.0, 0.0};
  const Traffic written{0.0, 1.0, 0.0};
  demand.own = {1.0, pulled ? written : read, {}};
  if (peer.gpu != host_device) peer.memory.below_l2 = written;
  demand.in_flight = std::min(spec.bytes, node.spec().host.copies.workgroup_in_flight);
  demand.waits = true;
  demand.waits_for_own = !pulled;
  demand.waits_for_peer = false;
  if (pulled) demand.step_latency = 2 * node.fabric().route(spec.from, spec.to).latency;
  return demand;
}

Kernel kernel_of(Node& node, const SdmaCopySpec& spec, Stream stream) {
  const CuResources& cu = node.spec().gpu.cu;
  Kernel kernel;
  kernel.shape.name = "gather";
  kernel.shape.tenant = Tenant::remote;
  kernel.shape.workgroups = static_cast<int>(spec.copies);
  kernel.shape.workgroup = {cu.lds / blocks_on_a_cu, cu.registers / blocks_on_a_cu, cu.waves / blocks_on_a_cu};
  kernel.shape.stream = std::move(stream);
  kernel.work = spec.bytes.value();
  kernel.demand = [demand = demand_of(node, spec)](int, const Footing&) { return demand; };
  return kernel;
}

}  // namespace

sim::Task<SdmaCopyPhases> run_gather_kernel(Node& node, SdmaCopySpec spec, Stream stream) {
  sim::Simulator& simulator = node.simulator();
  const CopyCallsSpec& calls = node.spec().host.copies;
  const int gpu = spec.from == host_device ? spec.to : spec.from;
  const sim::Time asked = simulator.now();
  co_await node.host().launcher_of(gpu).work(calls.call, {"copy call", "blocks"});
  const sim::Time called = simulator.now();
  co_await simulator.delay(calls.start - calls.call);
  const sim::Time started = simulator.now();
  co_await run_kernel(node, gpu, kernel_of(node, spec, std::move(stream)));
  const sim::Time moved = simulator.now();
  co_await simulator.delay(node.spec().host.kernel_notice);
  co_return SdmaCopyPhases{called - asked, started - called, moved - started, simulator.now() - moved};
}

}  // namespace c3sim::models
