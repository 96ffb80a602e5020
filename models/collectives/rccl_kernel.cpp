#include "models/collectives/rccl_kernel.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "models/collectives/deliveries.h"
#include "models/collectives/rccl_plan.h"
#include "models/collectives/rccl_transfers.h"
#include "models/collectives/stream_fill.h"
#include "models/kernels/demand.h"
#include "models/node.h"
#include "models/platform/device.h"
#include "models/platform/limits.h"
#include "sim/open_step.h"

namespace c3sim::models {

namespace {

// Channels that the CUs of a mask hold at once.
int slots(Node& node, const CuMask& mask, const CuResources& channel) {
  const GpuSpec& gpu = node.spec().gpu;
  return gpu.slots(gpu.memory.xcds * mask.cus(gpu.cus_per_xcd), channel);
}

class RcclRun {
 public:
  RcclRun(Node& node, const CollectiveSpec& spec, const Stream& stream)
      : node_(node),
        spec_(spec),
        stream_(stream),
        library_(node.spec().rccl),
        collective_(library_.collective(spec.kind)),
        plan_(node, spec, slots(node, stream.mask, collective_.channel)),
        channels_(plan_.channels()),
        gpus_(std::min(spec.gpus, node.simulated())),
        running_(gpus_),
        finished_(node.simulator(), "all GPUs to finish a collective", static_cast<std::uint64_t>(gpus_)),
        kernels_(static_cast<std::size_t>(gpus_), sim::OpenStep(node.simulator())),
        arrivals_(static_cast<std::size_t>(channels_), 0) {
    for (int channel = 0; channel < channels_; ++channel) {
      moved_.push_back(std::make_unique<sim::Gate>(node.simulator(), "the data of a channel"));
    }
    expect_deliveries(spec.kind, spec, gpus_, ledger_);
  }

  sim::Task<> run();

 private:
  sim::Task<> run_on(int gpu);
  sim::Task<> run_channels(int gpu, const Cohort& cohort);
  sim::Task<> move_data(std::vector<int> channels);
  // What a share of all channels moves from one GPU to another.
  struct Flow {
    int from;
    int to;
    double share;
    sim::ResourceNetwork::ActivityId activity;
  };
  Demand demand(int to) const;
  sim::ActivitySpec describe(const Flow& flow) const;
  void book(const std::vector<int>& channels, int from, int to);
  void follow_clock(int gpu);
  static std::string track(int gpu) { return device_name(gpu) + ".rccl"; }
  void start_ready_channels();

  Node& node_;
  CollectiveSpec spec_;
  Stream stream_;
  const RcclSpec& library_;
  const RcclCollectiveSpec& collective_;
  RcclPlan plan_;
  int channels_;
  int gpus_;     // of those that take part, the simulated ones
  int running_;  // of those, how many have not ended
  sim::Latch finished_;
  std::vector<sim::OpenStep> kernels_;             // by GPU, from their launch on
  std::vector<int> arrivals_;                      // by channel: GPUs that have placed it
  std::vector<int> ready_;                         // channels placed everywhere, not yet moving
  std::vector<std::unique_ptr<sim::Gate>> moved_;  // by channel
  DeliveryLedger ledger_;                          // of the simulated GPUs
  std::optional<StreamFill> caches_;               // while data moves
  std::vector<Flow> flows_;                        // under way
  int moving_ = 0;                                 // groups of channels
  std::optional<sim::Time> last_gpu_;              // when it is there, known once the first channels wait for it
};

sim::Task<> RcclRun::run() {
  std::vector<PowerGovernor::Listener> listeners;
  listeners.reserve(static_cast<std::size_t>(gpus_));
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    listeners.push_back(node_.gpu(gpu).governor(Tenant::rccl).add_listener([this, gpu] { follow_clock(gpu); }));
  }
  for (int gpu = 0; gpu < gpus_; ++gpu) node_.simulator().spawn("rccl on gpu" + std::to_string(gpu), run_on(gpu));
  co_await finished_.wait();
  ledger_.require_complete();
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    node_.gpu(gpu).governor(Tenant::rccl).remove_listener(listeners[static_cast<std::size_t>(gpu)]);
  }
}

sim::Task<> RcclRun::run_on(int gpu) {
  co_await node_.host().launch_kernel(gpu, spec_.graph);
  if (stream_.ready != nullptr) {
    co_await stream_.ready->wait();
    if (spec_.graph) co_await node_.simulator().delay(library_.graph_gap);
  }
  KernelSpec kernel;
  kernel.name = "rccl";
  kernel.workgroups = channels_;
  kernel.workgroup = collective_.channel;
  kernel.stream = stream_;
  kernel.tenant = Tenant::rccl;
  CohortBody body = [this, gpu](const Cohort& cohort) { return run_channels(gpu, cohort); };
  sim::OpenStep& step = kernels_[static_cast<std::size_t>(gpu)] = sim::OpenStep(node_.simulator());
  co_await node_.gpu(gpu).dispatcher().run(std::move(kernel), std::move(body));
  step.show(track(gpu), "kernel");
  if (--running_ == 0 && stream_.ended != nullptr) stream_.ended->open();
  co_await node_.host().notice_kernel_end(gpu);
  finished_.count_down();
}

// A cohort of channels on one GPU holds its CUs until all its data has moved, waiting for the other GPUs included.
sim::Task<> RcclRun::run_channels(int gpu, const Cohort& cohort) {
  node_.gpu(gpu).governor(Tenant::rccl).add_busy_workgroups(cohort.size());
  sim::OpenStep(kernels_[static_cast<std::size_t>(gpu)]).end(track(gpu), "placement of channels");
  const std::vector<Cohort::Placement> placements = cohort.placements();
  for (const Cohort::Placement& placement : placements) {
    if (++arrivals_[static_cast<std::size_t>(placement.workgroup)] < gpus_) continue;
    if (ready_.empty()) node_.simulator().at_end_of_instant([this] { start_ready_channels(); });
    ready_.push_back(placement.workgroup);
  }
  for (const Cohort::Placement& placement : placements) {
    co_await moved_[static_cast<std::size_t>(placement.workgroup)]->wait();
  }
  node_.gpu(gpu).governor(Tenant::rccl).add_busy_workgroups(-cohort.size());
}

void RcclRun::start_ready_channels() { node_.simulator().spawn("rccl channels", move_data(std::exchange(ready_, {}))); }

sim::Task<> RcclRun::move_data(std::vector<int> channels) {
  if (spec_.lateness > sim::Time::zero()) {
    if (!last_gpu_) last_gpu_ = node_.simulator().now() + spec_.lateness;
    sim::OpenStep wait(node_.simulator());
    co_await node_.simulator().delay(std::max(sim::Time::zero(), *last_gpu_ - node_.simulator().now()));
    wait.end("rccl", "wait for the last GPU");
  }
  sim::OpenStep latency(node_.simulator());
  co_await node_.simulator().delay(plan_.latency());
  const std::ptrdiff_t protocol = &plan_.protocol() - library_.protocols.data();
  latency.end("rccl", "latency of steps", rccl_protocol_names[static_cast<std::size_t>(protocol)]);
  if (moving_++ == 0) {
    const double bytes = collective_.memory_bytes();
    caches_.emplace(node_, StreamFill::PerPayload{bytes, bytes * (1.0 - collective_.buffer_share)});
  }
  const double share = static_cast<double>(channels.size()) / static_cast<double>(channels_);
  sim::OpenStep data(node_.simulator());
  struct Arrivals {
    sim::Latch latch;
    sim::ResourceNetwork::ResourceId last_link;
  };
  const auto flows = static_cast<std::uint64_t>(gpus_) * static_cast<std::uint64_t>(plan_.links());
  Arrivals arrivals{sim::Latch(node_.simulator(), "data of channels", flows), 0};
  for (int from = 0; from < gpus_; ++from) {
    for (int to = 0; to < spec_.gpus; ++to) {
      if (from == to || plan_.channels_towards(from, to) == 0.0) continue;
      Flow flow{from, to, share, 0};
      flow.activity = node_.network().start(describe(flow), [&arrivals, link = node_.fabric().link(from, to)] {
        arrivals.last_link = link;
        arrivals.latch.count_down();
      });
      flows_.push_back(flow);
    }
  }
  co_await arrivals.latch.wait();
  data.end(node_.network().name(arrivals.last_link), "data");
  std::erase_if(flows_, [this](const Flow& flow) { return !node_.network().live(flow.activity); });
  for (int from = 0; from < gpus_; ++from) {
    for (int to = 0; to < spec_.gpus; ++to) book(channels, from, to);
  }
  if (--moving_ == 0) caches_->leave();
  for (const int channel : channels) moved_[static_cast<std::size_t>(channel)]->open();
}

// Each channel has its share of every transfer.
void RcclRun::book(const std::vector<int>& channels, int from, int to) {
  for (const Delivery& whole : rccl_transfers(spec_, from, to)) {
    for (const int channel : channels) {
      ledger_.deliver(share_of(whole.destination, channel, channel + 1, channels_),
                      share_of(whole.source, channel, channel + 1, channels_));
    }
  }
}

// One unit is a byte of payload.
Demand RcclRun::demand(int to) const {
  const double hits = collective_.buffer_share;
  Demand demand;
  demand.own = {collective_.sender_reads + collective_.sender_writes,
                {collective_.sender_reads, collective_.sender_writes, hits},
                {}};
  PeerDemand& peer = demand.peer.emplace();
  peer.gpu = to;
  peer.link_bytes = 1.0 / plan_.protocol().link_efficiency;
  peer.pulled = library_.access == RcclAccess::load;
  peer.reads_that_hit = hits;
  peer.memory = {collective_.receiver_reads + collective_.receiver_writes,
                 {collective_.receiver_reads, collective_.receiver_writes, hits},
                 {0.0, 1.0, hits}};
  demand.in_flight = library_.workgroup_in_flight;
  demand.bytes_per_unit = plan_.loop_bytes();
  demand.waits = true;
  demand.step_latency = library_.workgroup_latency;
  demand.cycles = library_.loop_cycles;
  return demand;
}

sim::ActivitySpec RcclRun::describe(const Flow& flow) const {
  const double workgroups = flow.share * plan_.channels_towards(flow.from, flow.to);
  const Portion portion{node_.gpu(flow.from).memory().evenly_spread(), 0.0, workgroups};
  sim::ActivitySpec activity =
      activity_of(node_, flow.from, demand(flow.to), portion, {stream_.operation, Tenant::rccl});
  activity.amount = flow.share * plan_.payload(flow.from, flow.to).value();
  return activity;
}

// A copy loop takes its cycles: what slows the GEMM's clock slows the channels beside it.
void RcclRun::follow_clock(int gpu) {
  for (const Flow& flow : flows_) {
    if (flow.from == gpu && node_.network().live(flow.activity)) {
      node_.network().reshape(flow.activity, describe(flow));
    }
  }
}

}  // namespace

sim::Task<> run_rccl_collective(Node& node, CollectiveSpec spec, Stream stream) {
  RcclRun run(node, spec, stream);
  co_await run.run();
}

}  // namespace c3sim::models
