#include "models/kernels/block_copies.h"

#include <algorithm>
#include <utility>

#include "models/kernels/kernel_run.h"
#include "models/platform/device.h"
#include "sim/gate.h"

namespace c3sim::models {
namespace {

bool with_host(const SdmaCopySpec& spec) { return spec.from == host_device || spec.to == host_device; }

// Returns the rate of a block that has its route to itself.
sim::BytesPerSecond rate_alone(const SdmaCopySpec& spec, const CopyCallsSpec& calls, const SdmaSpec& sdma,
                               const FabricSpec& fabric) {
  if (!with_host(spec)) return std::min(fabric.link_rate, sdma.payload_rate);
  return std::min(calls.host_rate, spec.to == host_device ? fabric.device_to_host_rate : fabric.host_to_device_rate);
}

sim::Task<> make_calls(SubmittingThread& thread, std::int64_t count, sim::Time call, sim::Latch& made) {
  constexpr SubmittingThread::Occupation calling{"copy calls", "blocks"};
  co_await thread.work(count * call, calling);
  made.count_down();
}

}  // namespace

sim::Time gap_between_blocks(const SdmaCopySpec& spec, const CopyCallsSpec& calls, const SdmaSpec& sdma) {
  const bool batch = spec.submit == Submission::batch;
  if (spec.bytes <= calls.kernels_up_to && with_host(spec))
    return batch ? calls.kernel_batch_order : calls.kernel_order;
  if (batch && calls.batch_packs) return sdma.transfer_setup;
  if (spec.from == host_device) return calls.order_from_host;
  return spec.to == host_device ? calls.order_to_host : calls.order_of_peers;
}

sim::Task<SdmaCopyPhases> run_block_copies(Host& host, std::span<SdmaComplex* const> engines, const Fabric& fabric,
                                           SdmaCopySpec spec, std::uint32_t operation) {
  sim::Simulator& simulator = host.simulator();
  SdmaComplex& complex = *engines[static_cast<std::size_t>(spec.from == host_device ? spec.to : spec.from)];
  const SdmaSpec& sdma = complex.spec();
  const CopyCallsSpec& calls = host.spec().copies;
  const auto copies = static_cast<double>(spec.copies);
  const sim::Time gap = gap_between_blocks(spec, calls, sdma);
  const sim::Time data = sim::to_time(spec.bytes / rate_alone(spec, calls, sdma, fabric.spec()));
  const bool each = spec.submit == Submission::each;  // every copy takes a call
  const sim::Time apart = std::max(gap + data, each ? calls.call : sim::Time(0));

  SubmittingThread& thread = host.thread_of(complex.gpu());
  const sim::Time asked = simulator.now();
  sim::Latch made(simulator, "calls that copy blocks", 1);
  const sim::Time packets =
      spec.submit == Submission::batch ? spec.copies * host.spec().submission.packet_write : sim::Time(0);
  co_await thread.work(calls.call + packets, {"copy call", "blocks"});
  const sim::Time called = simulator.now();
  simulator.spawn("calls that copy blocks", make_calls(thread, each ? spec.copies - 1 : 0, calls.call, made));
  co_await simulator.delay(calls.start - calls.call);
  const sim::Time started = simulator.now();

  TransferCommand blocks;
  blocks.source = {spec.from, 0, sim::Bytes(0.0), spec.all_bytes()};
  blocks.destinations.push_back({spec.to, 0, sim::Bytes(0.0), spec.all_bytes()});
  blocks.operation = operation;
  // The last block is followed by no gap.
  const sim::Seconds least = copies * sim::to_seconds(apart) - sim::to_seconds(apart - data);
  const double share = with_host(spec) ? sdma.host_payload_rate / calls.both_ways_rate : 1.0;
  co_await complex.engine(spec.engine.value_or(sdma.recommended_engine(spec.from, spec.to)))
      .run_blocks(std::move(blocks), spec.all_bytes() / least, share);
  const sim::Time moved = simulator.now();
  co_await made.wait();
  co_await simulator.delay(host.spec().kernel_notice);
  co_return SdmaCopyPhases{called - asked, started - called, moved - started, simulator.now() - moved};
}

namespace {

constexpr int blocks_on_a_cu = 4;  // workgroups of 512 threads on a CU of 2048

// What is under way are loads.
Demand demand_of(Node& node, const SdmaCopySpec& spec) {
  const bool pulled = spec.from == host_device;
  Demand demand = moving_demand(pulled ? host_device : spec.to, pulled);
  demand.in_flight = std::min(spec.bytes, node.spec().host.copies.workgroup_in_flight);
  demand.waits_for_own = !pulled;
  demand.waits_for_peer = false;
  if (pulled) demand.step_latency = 2 * node.fabric().route(spec.from, spec.to).latency;
  return demand;
}

Kernel kernel_of(Node& node, const SdmaCopySpec& spec, Stream stream) {
  Kernel kernel;
  kernel.shape.name = "gather";
  kernel.shape.tenant = Tenant::remote;
  kernel.shape.workgroups = static_cast<int>(spec.copies);
  kernel.shape.workgroup = node.spec().gpu.cu / blocks_on_a_cu;
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
