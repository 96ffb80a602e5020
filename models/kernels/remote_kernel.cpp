#include "models/kernels/remote_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/kernels/kernel_run.h"
#include "models/platform/device.h"
#include "sim/gate.h"

namespace c3sim::models {
namespace {

double peers_of(const RemoteKernelSpec& spec) { return static_cast<double>(spec.peers.size()); }

// Returns how many of each peer's bytes are still in the L2s when the last workgroup ends.
sim::Bytes dirty_at_the_end(Node& node, const RemoteKernelSpec& spec) {
  if (spec.access != RemoteAccess::store) return sim::Bytes(0.0);
  return node.gpu(spec.gpu).memory().dirty_in_l2(peers_of(spec) * spec.bytes) / peers_of(spec);
}

// Workgroups deal what they have under way evenly to the peers.
Demand demand_of(const RcclSpec& loop, const RemoteKernelSpec& spec, std::size_t stream) {
  Demand demand = moving_demand(spec.peers[stream], spec.access == RemoteAccess::load);
  demand.in_flight = loop.workgroup_in_flight / peers_of(spec);
  demand.bytes_per_unit = 2.0;
  demand.step_latency = loop.workgroup_latency;
  return demand;
}

// Writes back the lines that the kernel has left in the L2s, at their write-back rate.
sim::Task<> write_back(Node& node, const RemoteKernelSpec& spec, sim::Bytes dirty, std::uint32_t operation) {
  sim::Latch written(node.simulator(), "lines left in the L2s", spec.peers.size());
  const Portion portion{node.gpu(spec.gpu).memory().evenly_spread(), 0.0, static_cast<double>(spec.workgroups)};
  for (std::size_t stream = 0; stream < spec.peers.size(); ++stream) {
    Demand demand = demand_of(node.spec().rccl, spec, stream);
    demand.cap = node.spec().gpu.memory.writeback_rate.value() / peers_of(spec);
    sim::ActivitySpec activity = activity_of(node, spec.gpu, demand, portion, {operation, Tenant::remote});
    activity.amount = dirty.value();
    node.network().start(activity, [&written] { written.count_down(); });
  }
  co_await written.wait();
}

Kernel kernel_of(Node& node, const RemoteKernelSpec& spec, sim::Bytes dirty, const Stream& stream) {
  Kernel kernel;
  kernel.shape.name = "remote access";
  kernel.subject = to_string(spec);
  kernel.shape.workgroups = spec.workgroups;
  kernel.shape.workgroup = node.spec().gpu.cu;  // one to a CU
  kernel.shape.stream = stream;
  kernel.shape.tenant = Tenant::remote;
  kernel.work = (spec.bytes - dirty).value() / spec.workgroups;
  kernel.streams = static_cast<int>(spec.peers.size());
  kernel.demand = [&loop = node.spec().rccl, spec](int peer, const Footing&) {
    return demand_of(loop, spec, static_cast<std::size_t>(peer));
  };
  return kernel;
}

}  // namespace

std::string to_string(const RemoteKernelSpec& spec) {
  std::string peers;
  for (const int peer : spec.peers) peers += (peers.empty() ? "" : ", ") + device_name(peer);
  return fmt::format("{} of {} by gpu{}, {} workgroups, {} {}", to_string(spec.access), sim::to_string(spec.bytes),
                     spec.gpu, spec.workgroups, spec.access == RemoteAccess::load ? "from" : "to", peers);
}

std::string why_impossible(const RemoteKernelSpec& spec, int gpus, const GpuSpec& gpu) {
  const auto exists = [gpus](int index) { return index >= 0 && index < gpus; };
  if (!exists(spec.gpu)) return fmt::format("gpu{} is not there: gpu0 to gpu{} are accepted", spec.gpu, gpus - 1);
  if (spec.peers.empty()) return "remote access needs at least one other GPU";
  for (std::size_t i = 0; i < spec.peers.size(); ++i) {
    const int peer = spec.peers[i];
    if (!exists(peer)) return fmt::format("gpu{} is not there: gpu0 to gpu{} are accepted", peer, gpus - 1);
    if (peer == spec.gpu) return fmt::format("gpu{} is no other GPU than the one that runs the kernel", peer);
    if (std::count(spec.peers.begin(), spec.peers.end(), peer) > 1) return fmt::format("gpu{} is named twice", peer);
  }
  if (spec.bytes < sim::Bytes(1.0)) return "remote access moves at least 1 byte";
  if (spec.workgroups < 1 || spec.workgroups > gpu.cus()) {
    return fmt::format("1 to {} workgroups are accepted, one to a CU", gpu.cus());
  }
  return {};
}

sim::Task<> run_remote_kernel(Node& node, RemoteKernelSpec spec, Stream stream) {
  const sim::Bytes dirty = dirty_at_the_end(node, spec);
  Kernel kernel = kernel_of(node, spec, dirty, stream);
  if (dirty > sim::Bytes(0.0)) {
    kernel.afterwards = [&node, &spec, dirty, stream] { return write_back(node, spec, dirty, stream.operation); };
  }
  std::vector<int> gpus(1, spec.gpu);
  co_await launch_kernel(node, std::move(kernel), std::move(gpus));
}

}  // namespace c3sim::models
