#include "models/kernels/remote_kernel.h"

#include <limits>
#include <string>
#include <utility>

#include "sim/gate.h"

namespace c3sim::models {
namespace {

class RemoteKernel {
 public:
  RemoteKernel(Node& node, RemoteKernelSpec spec) : node_(node), spec_(std::move(spec)) {
    if (spec_.access != RemoteAccess::store) return;
    dirty_ = node.gpu(spec_.gpu).memory().dirty_in_l2(peers() * spec_.bytes) / peers();
  }

  sim::Task<> run() {
    co_await node_.host().launch_kernel(spec_.gpu, false);
    KernelSpec kernel;
    kernel.name = "remote access";
    kernel.workgroups = spec_.workgroups;
    kernel.workgroup = node_.spec().gpu.cu;  // one to a CU
    CohortBody body = [this](const Cohort& cohort) {
      return move((spec_.bytes - dirty_) * cohort.size() / static_cast<double>(spec_.workgroups), cohort.size(),
                  std::numeric_limits<double>::infinity());
    };
    co_await node_.gpu(spec_.gpu).dispatcher().run(std::move(kernel), std::move(body));
    if (dirty_ > sim::Bytes(0.0)) {
      const sim::BytesPerSecond rate = node_.spec().gpu.memory.writeback_rate;
      co_await move(dirty_, spec_.workgroups, rate.value() / peers());
    }
    co_await node_.host().notice_kernel_end(spec_.gpu);
  }

 private:
  double peers() const { return static_cast<double>(spec_.peers.size()); }

  // So many bytes to or from each peer, at `cap` bytes per second or less.
  sim::Task<> move(sim::Bytes bytes, int workgroups, double cap) {
    sim::Latch moved(node_.simulator(), "data of a kernel", spec_.peers.size());
    for (const int peer : spec_.peers) {
      sim::ActivitySpec activity = describe(peer, workgroups);
      activity.amount = bytes.value();
      activity.cap = cap;
      node_.network().start(activity, [&moved] { moved.count_down(); });
    }
    co_await moved.wait();
  }

  // One unit is a byte, read where it is and written where it goes.
  sim::ActivitySpec describe(int peer, int workgroups) {
    const Memory& own = node_.gpu(spec_.gpu).memory();
    const Memory& other = node_.gpu(peer).memory();
    const RcclSpec& loop = node_.spec().rccl;
    UsageList usages;
    if (spec_.access == RemoteAccess::load) {
      node_.fabric().add_read(usages, spec_.gpu, peer, 1.0, other.latency(0.0));
      other.add_below_l2(usages, {1.0, 0.0, 0.0});
      own.add_from_xcds(usages, own.evenly_spread(), 1.0, {0.0, 1.0, 0.0});
    } else {
      node_.fabric().add(usages, spec_.gpu, peer, 1.0);
      other.add_below_l2(usages, {0.0, 1.0, 0.0});
      own.add_from_xcds(usages, own.evenly_spread(), 1.0, {1.0, 0.0, 0.0});
    }
    sim::ActivitySpec activity;
    activity.usages = std::move(usages).take();
    activity.weight = workgroups * loop.workgroup_in_flight.value() / peers();
    activity.in_flight = activity.weight / 2.0;  // read and written
    activity.fixed_latency = loop.workgroup_latency;
    activity.latency_path = own.latency_path();
    for (const auto resource : other.latency_path()) activity.latency_path.push_back(resource);
    return activity;
  }

  Node& node_;
  RemoteKernelSpec spec_;
  sim::Bytes dirty_;  // of each peer, at the end of the stores
};

}  // namespace

sim::Task<> run_remote_kernel(Node& node, RemoteKernelSpec spec) {
  RemoteKernel kernel(node, std::move(spec));
  co_await kernel.run();
}

}  // namespace c3sim::models
