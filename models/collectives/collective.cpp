#include "models/collectives/collective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "models/collectives/algorithm.h"
#include "models/collectives/deliveries.h"
#include "models/collectives/rccl.h"
#include "models/collectives/sdma_collective.h"
#include "models/kernels/kernel_run.h"
#include "models/node.h"
#include "models/platform/device.h"
#include "sim/simulator.h"

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

// A StreamFill holds a collective's share of its GPUs' caches while data streams through them.
class StreamFill {
 public:
  // Takes the share on `gpus` simulated GPUs from `first` on.
  StreamFill(Node& node, int first, int gpus, CacheFills fills) {
    const sim::BytesPerSecond payload = node.fabric().rate_out();
    for (int gpu = first; gpu < first + gpus; ++gpu) {
      CacheSharing& caches = node.gpu(gpu).cache_sharing();
      clients_.emplace_back(&caches, caches.enter({fills.l2 * payload, fills.cache * payload, nullptr}));
    }
  }
  // Gives up the share; must be called once. The destructor does not: a run that fails is destroyed after its node.
  void leave() {
    for (const auto& [caches, client] : clients_) caches->leave(client);
  }

 private:
  std::vector<std::pair<CacheSharing*, CacheSharing::Handle>> clients_;  // by GPU
};

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

  sim::Task<> run() {
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

 private:
  // A Flow is what a share of all channels moves in one transfer.
  struct Flow {
    const ChannelStep* step;
    const ChannelTransfer* transfer;
    double share;
    bool placed_late;
    sim::ResourceNetwork::ActivityId activity;
  };
  sim::Task<> run_on(int gpu) {
    co_await node_.host().launch_collective(gpu, spec_.graph);
    const PlatformSpec& platform = node_.spec();
    const sim::Time skew = (spec_.gpus - 1) * platform.host.collective_skew;
    last_placed_ = std::max(last_placed_, node_.simulator().now() + skew + platform.gpu.dispatch.workgroup_launch);
    const bool in_graph = spec_.graph || platform.host.protocol == Protocol::graph;
    const bool by_library = spec_.backend == Backend::rccl;
    sim::Time gap = in_graph && by_library ? platform.rccl.graph_gap : platform.host.kernel_gap;
    if (by_library && !in_graph && stream_.ready == nullptr)
      gap += platform.rccl.stream_gap;  // waits if gaps are timed
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
  sim::Task<> run_channels(int gpu, const Cohort& cohort) {
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

  sim::Task<> wait_for_last_gpu() {
    if (!last_gpu_) last_gpu_ = std::max(node_.simulator().now() + spec_.lateness, last_placed_);
    if (*last_gpu_ <= node_.simulator().now()) co_return;
    sim::OpenStep wait(node_.simulator());
    co_await node_.simulator().delay(*last_gpu_ - node_.simulator().now());
    wait.end(name_, "wait for the last GPU");
  }

  sim::Task<> move_data(std::vector<int> channels) {
    co_await wait_for_last_gpu();
    const double share = static_cast<double>(channels.size()) / static_cast<double>(program_.channels);
    const bool placed_late =
        std::ranges::any_of(channels, [this](int channel) { return placed_late_[static_cast<std::size_t>(channel)]; });
    for (const ChannelStep& step : program_.steps) {
      sim::OpenStep latency(node_.simulator());
      co_await node_.simulator().delay(step.latency);
      latency.end(name_, "latency of steps", program_.protocol);
      if (&step == &program_.steps.front() && moving_++ == 0)
        caches_.emplace(node_, spec_.first, gpus_, program_.fills);
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

  sim::Task<> move_step(const ChannelStep& step, double share, bool placed_late) {
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

  sim::ActivitySpec describe(const Flow& flow) const {
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

  void book(const ChannelStep& step, std::vector<int> channels) {
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

  // Copy loops take cycles of the engine clock: what slows the clock of a GEMM slows concurrent channels, too.
  void follow_clock(int gpu) {
    for (const Flow& flow : flows_) {
      if (flow.transfer->gpu == gpu && node_.network().live(flow.activity)) {
        node_.network().reshape(flow.activity, describe(flow));
      }
    }
  }

  std::size_t rank(int gpu) const { return static_cast<std::size_t>(gpu - spec_.first); }
  std::string track(int gpu) const { return device_name(gpu) + '.' + name_; }
  void start_ready_channels() { node_.simulator().spawn(name_ + " channels", move_data(std::exchange(ready_, {}))); }

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

}  // namespace

sim::Task<> run_kernel_collective(Node& node, CollectiveSpec spec, Stream stream) {
  KernelCollective run(node, spec, stream);
  co_await run.run();
}

int channels_of(const CollectiveSpec& spec, const PlatformSpec& platform) {
  if (spec.backend == Backend::rccl)
    return takes_nvls(spec, platform) ? nvls_channels(spec, *platform.rccl.nvls) : platform.rccl.channels(spec);
  return peer_load_workgroups(spec, platform.shots);
}

std::string why_no_channels(const CollectiveSpec& spec, int channels, const PlatformSpec& platform) {
  const bool by_library = spec.backend == Backend::rccl;
  const int slots = platform.gpu.slots(
      platform.gpu.cus(), by_library ? platform.rccl.collective(spec.kind).channel : platform.shots.workgroup);
  if (channels >= 1 && channels <= slots) return {};
  return fmt::format("{} channels cannot be had: 1 to {} are accepted, which fit on the CUs", channels, slots);
}

std::string why_impossible(const CollectiveSpec& spec, const Node& node) {
  const PlatformSpec& platform = node.spec();
  if (platform.gpus < 2) return "a node of one GPU has no collectives: gpus of at least 2 is accepted";
  if (spec.gpus < 2 || spec.gpus > platform.gpus) {
    return fmt::format("{} GPUs cannot take part: 2 to {} are accepted", spec.gpus, platform.gpus);
  }
  if (spec.first < 0 || spec.first + spec.gpus > platform.gpus) {
    return fmt::format("{} GPUs from gpu{} on are more than the node has: 0 to {} is accepted as the first", spec.gpus,
                       spec.first, platform.gpus - spec.gpus);
  }
  if (spec.bytes < sim::Bytes(spec.gpus)) {
    return fmt::format("{} cannot be split over {} GPUs: at least a byte for each is needed",
                       sim::to_string(spec.bytes), spec.gpus);
  }
  const std::vector<CollectiveKind>& kinds = algorithm_of(spec.backend).kinds;
  if (std::ranges::find(kinds, spec.kind) == kinds.end()) {
    std::vector<std::string_view> names;
    for (const CollectiveKind kind : kinds) names.push_back(to_string(kind));
    return fmt::format("{} has no {}: what it can do is {}", to_string(spec.backend), to_string(spec.kind),
                       fmt::join(names, ", "));
  }
  const SdmaSpec& sdma = platform.gpu.sdma;
  if (const auto engines = engine_part(spec, sdma)) {
    const std::string reason = why_impossible_on_sdma(*engines, sdma);
    if (!reason.empty()) return kernel_part(spec, sdma) ? "the part on copy engines cannot run: " + reason : reason;
  } else if (spec.prelaunch) {
    return "prelaunch is for SDMA: kernels have no queue of commands to hold back";
  }
  const std::optional<CollectiveSpec> kernels = kernel_part(spec, sdma);
  if (spec.algorithm) {
    const bool has_choice = kernels && kernels->backend == Backend::rccl && spec.kind != CollectiveKind::all_to_all;
    if (!has_choice) {
      return fmt::format(
          "{} by {} has no choice of algorithms: a ring, a tree or nvls is one of RCCL's and NCCL's kernels, "
          "and all but all_to_all have rings",
          to_string(spec.kind), to_string(spec.backend));
    }
    if (spec.algorithm == RcclAlgorithm::nvls) {
      if (std::string reason = why_no_nvls(*kernels, platform); !reason.empty()) return reason;
    }
    if (spec.algorithm == RcclAlgorithm::tree) {
      if (std::string reason = why_no_tree(*kernels, platform); !reason.empty()) return reason;
    }
  }
  if (!kernels) {
    if (!spec.channels) return {};
    return "channels are workgroups of a kernel, and this collective has none: only copy engines move its data";
  }
  if (spec.channels) {
    std::string reason = why_no_channels(*kernels, *spec.channels, platform);
    if (!reason.empty()) return reason;
  }
  const int xcds = platform.gpu.memory.xcds;
  if (spec.cus && (*spec.cus < xcds || *spec.cus > platform.gpu.cus() || *spec.cus % xcds != 0)) {
    return fmt::format("{} CUs cannot be had: a multiple of {}, one per XCD, from {} to {} is accepted", *spec.cus,
                       xcds, xcds, platform.gpu.cus());
  }
  return {};
}

CollectiveRun::CollectiveRun(Node& node, const CollectiveSpec& spec, const Stream& stream)
    : node_(node), kernels_(kernel_part(spec, node.spec().gpu.sdma)), stream_(stream) {
  if (spec.cus) stream_.mask = {0, *spec.cus / node.spec().gpu.memory.xcds};
  if (const auto engines = engine_part(spec, node.spec().gpu.sdma)) {
    engines_ = std::make_unique<SdmaCollective>(*engines, node.host(), node.copy_engines(),
                                                QueueUser{stream.operation, stream.follows});
  }
}

CollectiveRun::~CollectiveRun() = default;

sim::Task<> CollectiveRun::prepare() {
  if (engines_) co_await engines_->prepare();
}

sim::Task<> CollectiveRun::run() {
  if (kernels_) co_await run_kernel_collective(node_, *kernels_, stream_);
  if (!engines_) co_return;
  // Engines read and write each byte below the L2s.
  const double fills = 2.0 * (1.0 - node_.spec().gpu.sdma.cache_hits);
  StreamFill caches(node_, engines_->spec().first, std::min(engines_->spec().gpus, node_.simulated()), {0.0, fills});
  co_await engines_->run();
  caches.leave();
}

}  // namespace c3sim::models
