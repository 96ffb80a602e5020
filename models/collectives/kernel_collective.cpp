#include "models/collectives/kernel_collective.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/algorithm.h"
#include "models/collectives/deliveries.h"
#include "models/collectives/stream_fill.h"
#include "models/kernels/kernel_run.h"
#include "models/node.h"
#include "models/platform/device.h"
#include "sim/open_step.h"

namespace c3sim::models {

ChannelProgram channel_program(Node& node, const CollectiveSpec& spec, const CuMask& mask) {
  ChannelProgram program = algorithm_of(spec.backend).by_kernels(node, spec, mask);
  for (ChannelStep& step : program.steps) {
    for (ChannelTransfer& transfer : step.transfers) {
      transfer.gpu += spec.first;
      transfer.peer += spec.first;
    }
  }
  return program;
}

namespace {

class KernelCollective {
 public:
  KernelCollective(Node& node, const CollectiveSpec& spec, const Stream& stream)
      : node_(node),
        spec_(spec),
        stream_(stream),
        name_(to_string(spec.backend)),
        program_(channel_program(node, spec, stream.mask)),
        gpus_(std::min(spec.gpus, node.simulated())),
        running_(gpus_),
        finished_(node.simulator(), "all GPUs to finish a collective", static_cast<std::uint64_t>(gpus_)),
        kernels_(static_cast<std::size_t>(gpus_), sim::OpenStep(node.simulator())),
        arrivals_(static_cast<std::size_t>(program_.channels), 0),
        placed_late_(static_cast<std::size_t>(program_.channels), false) {
    for (int channel = 0; channel < program_.channels; ++channel) {
      moved_.emplace_back(node.simulator(), "the data of a channel");
    }
    expect_deliveries(spec.kind, spec, gpus_, ledger_);
  }

  sim::Task<> run();

 private:
  // A Flow is what a share of all channels moves in one transfer.
  struct Flow {
    const ChannelStep* step;
    const ChannelTransfer* transfer;
    double share;
    bool placed_late;
    sim::ResourceNetwork::ActivityId activity;
  };
  sim::Task<> run_on(int gpu);
  sim::Task<> run_channels(int gpu, const Cohort& cohort);
  sim::Task<> wait_for_last_gpu();
  sim::Task<> move_data(std::vector<int> channels);
  sim::Task<> move_step(const ChannelStep& step, double share, bool placed_late);
  sim::ActivitySpec describe(const Flow& flow) const;
  void book(const ChannelStep& step, std::vector<int> channels);
  void follow_clock(int gpu);
  std::size_t rank(int gpu) const { return static_cast<std::size_t>(gpu - spec_.first); }
  std::string track(int gpu) const { return device_name(gpu) + '.' + name_; }
  void start_ready_channels();

  Node& node_;
  CollectiveSpec spec_;
  Stream stream_;
  std::string name_;
  ChannelProgram program_;
  int gpus_;     // simulated GPUs that take part
  int running_;  // number of these that have not ended
  sim::Latch finished_;
  std::vector<sim::OpenStep> kernels_;  // by rank, from their launch on
  std::vector<int> arrivals_;           // by channel: GPUs that have placed it
  std::vector<bool> placed_late_;       // by channel: whether any GPU placed it amid a GEMM
  std::vector<int> ready_;              // channels placed everywhere, not yet moving
  std::deque<sim::Gate> moved_;         // by channel
  DeliveryLedger ledger_;               // deliveries by the simulated GPUs
  std::optional<StreamFill> caches_;    // while data moves
  std::vector<Flow> flows_;             // flows under way
  int moving_ = 0;                      // groups of channels that move data
  sim::Time last_placed_{0};            // when channels could be on the last GPU: it is launched last
  std::optional<sim::Time> last_gpu_;   // when the last GPU comes, known once the first channels wait for it
};

sim::Task<> KernelCollective::run() {
  std::vector<PowerGovernor::Listener> listeners;
  listeners.reserve(static_cast<std::size_t>(gpus_));
  const int end = spec_.first + gpus_;
  for (int gpu = spec_.first; gpu < end; ++gpu) {
    listeners.push_back(node_.gpu(gpu).governor(Tenant::rccl).add_listener([this, gpu] { follow_clock(gpu); }));
  }
  for (int gpu = spec_.first; gpu < end; ++gpu) {
    node_.simulator().spawn(name_ + " on gpu" + std::to_string(gpu), run_on(gpu));
  }
  co_await finished_.wait();
  ledger_.require_complete();
  for (int gpu = spec_.first; gpu < end; ++gpu) {
    node_.gpu(gpu).governor(Tenant::rccl).remove_listener(listeners[rank(gpu)]);
  }
}

sim::Task<> KernelCollective::run_on(int gpu) {
  co_await node_.host().launch_collective(gpu, spec_.graph);
  const PlatformSpec& platform = node_.spec();
  const sim::Time skew = (spec_.gpus - 1) * platform.host.collective_skew;
  last_placed_ = std::max(last_placed_, node_.simulator().now() + skew + platform.gpu.dispatch.workgroup_launch);
  const bool in_graph = spec_.graph || platform.host.protocol == Protocol::graph;
  const bool by_library = spec_.backend == Backend::rccl;
  sim::Time gap = in_graph && by_library ? platform.rccl.graph_gap : platform.host.kernel_gap;
  if (by_library && !in_graph && stream_.ready == nullptr) gap += platform.rccl.stream_gap;  // waits if gaps are timed
  co_await begin_behind(node_, gpu, stream_, gap, /*start_up=*/{});
  KernelSpec kernel{.name = name_,
                    .gpu = gpu,
                    .workgroups = program_.channels,
                    .workgroup = program_.channel,
                    .stream = stream_,
                    .tenant = Tenant::rccl};
  CohortBody body = [this, gpu](const Cohort& cohort) { return run_channels(gpu, cohort); };
  sim::OpenStep& step = kernels_[rank(gpu)] = sim::OpenStep(node_.simulator());
  co_await node_.gpu(gpu).dispatcher().run(std::move(kernel), std::move(body));
  step.show(track(gpu), "kernel");
  if (--running_ == 0 && stream_.ended != nullptr) stream_.ended->open();
  co_await node_.host().notice_kernel_end(gpu);
  finished_.count_down();
}

// A cohort of channels on one GPU holds its CUs until all its data has moved, waiting for the other GPUs included.
sim::Task<> KernelCollective::run_channels(int gpu, const Cohort& cohort) {
  node_.gpu(gpu).governor(Tenant::rccl).add_busy_workgroups(cohort.size());
  sim::OpenStep(kernels_[rank(gpu)]).end(track(gpu), "placement of channels");
  const std::vector<Cohort::Placement> placements = cohort.placements();
  for (const Cohort::Placement& placement : placements) {
    if (cohort.amid_gemm) placed_late_[static_cast<std::size_t>(placement.workgroup)] = true;
    if (++arrivals_[static_cast<std::size_t>(placement.workgroup)] < gpus_) continue;
    if (ready_.empty()) node_.simulator().at_end_of_instant([this] { start_ready_channels(); });
    ready_.push_back(placement.workgroup);
  }
  for (const Cohort::Placement& placement : placements) {
    co_await moved_[static_cast<std::size_t>(placement.workgroup)].wait();
  }
  node_.gpu(gpu).governor(Tenant::rccl).add_busy_workgroups(-cohort.size());
}

void KernelCollective::start_ready_channels() {
  node_.simulator().spawn(name_ + " channels", move_data(std::exchange(ready_, {})));
}

sim::Task<> KernelCollective::wait_for_last_gpu() {
  if (!last_gpu_) last_gpu_ = std::max(node_.simulator().now() + spec_.lateness, last_placed_);
  if (*last_gpu_ <= node_.simulator().now()) co_return;
  sim::OpenStep wait(node_.simulator());
  co_await node_.simulator().delay(*last_gpu_ - node_.simulator().now());
  wait.end(name_, "wait for the last GPU");
}

sim::Task<> KernelCollective::move_data(std::vector<int> channels) {
  co_await wait_for_last_gpu();
  const double share = static_cast<double>(channels.size()) / static_cast<double>(program_.channels);
  const bool placed_late =
      std::ranges::any_of(channels, [this](int channel) { return placed_late_[static_cast<std::size_t>(channel)]; });
  for (const ChannelStep& step : program_.steps) {
    sim::OpenStep latency(node_.simulator());
    co_await node_.simulator().delay(step.latency);
    latency.end(name_, "latency of steps", program_.protocol);
    if (&step == &program_.steps.front() && moving_++ == 0) caches_.emplace(node_, spec_.first, gpus_, program_.fills);
    co_await move_step(step, share, placed_late);
    book(step, channels);
  }
  if (--moving_ == 0) caches_->leave();
  if (program_.last_flags > sim::Time::zero()) {
    sim::OpenStep flags(node_.simulator());
    co_await node_.simulator().delay(program_.last_flags);
    flags.end(name_, "last flags");
  }
  for (const int channel : channels) moved_[static_cast<std::size_t>(channel)].open();
}

sim::Task<> KernelCollective::move_step(const ChannelStep& step, double share, bool placed_late) {
  sim::OpenStep data(node_.simulator());
  struct Arrivals {
    sim::Latch latch;
    sim::ResourceNetwork::ResourceId last_link;
  };
  Arrivals arrivals{sim::Latch(node_.simulator(), "data of channels", step.transfers.size()), 0};
  for (const ChannelTransfer& transfer : step.transfers) {
    Flow flow{&step, &transfer, share, placed_late, 0};
    const bool pulled = step.demand.peer->pulled;
    const auto link =
        pulled ? node_.fabric().link(transfer.peer, transfer.gpu) : node_.fabric().link(transfer.gpu, transfer.peer);
    flow.activity = node_.network().start(describe(flow), [&arrivals, link] {
      arrivals.last_link = link;
      arrivals.latch.count_down();
    });
    flows_.push_back(flow);
  }
  co_await arrivals.latch.wait();
  data.end(node_.network().name(arrivals.last_link), "data");
  std::erase_if(flows_, [this](const Flow& flow) { return !node_.network().live(flow.activity); });
}

void KernelCollective::book(const ChannelStep& step, std::vector<int> channels) {
  std::ranges::sort(channels);
  for (std::size_t first = 0, end; first < channels.size(); first = end) {
    end = first + 1;  // of channels that are neighbours, whose shares are one
    while (end < channels.size() && channels[end] == channels[end - 1] + 1) ++end;
    const auto share = [&](const BufferRange& whole) {
      return share_of(whole, channels[first], channels[end - 1] + 1, program_.channels);
    };
    for (const Delivery& whole : step.deliveries) ledger_.deliver(share(whole.destination), share(whole.source));
  }
}

sim::ActivitySpec KernelCollective::describe(const Flow& flow) const {
  const ChannelTransfer& transfer = *flow.transfer;
  Demand demand = flow.step->demand;
  demand.peer->gpu = transfer.peer;
  if (flow.step->rounds) demand.cap = flow.step->rounds->rate(flow.share * transfer.channels).value();
  if (flow.placed_late) demand.peer->link_bytes /= program_.late_placement;
  const Portion portion{node_.gpu(transfer.gpu).memory().evenly_spread(), 0.0, flow.share * transfer.channels};
  sim::ActivitySpec activity = activity_of(node_, transfer.gpu, demand, portion, {stream_.operation, Tenant::rccl});
  activity.amount = flow.share * transfer.payload.value();
  return activity;
}

// Copy loops take cycles of the engine clock: what slows the clock of a GEMM slows concurrent channels, too.
void KernelCollective::follow_clock(int gpu) {
  for (const Flow& flow : flows_) {
    if (flow.transfer->gpu == gpu && node_.network().live(flow.activity)) {
      node_.network().reshape(flow.activity, describe(flow));
    }
  }
}

}  // namespace

sim::Task<> run_kernel_collective(Node& node, CollectiveSpec spec, Stream stream) {
  KernelCollective run(node, spec, stream);
  co_await run.run();
}

}  // namespace c3sim::models
