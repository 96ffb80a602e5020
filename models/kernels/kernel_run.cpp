#include "models/kernels/kernel_run.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/platform/device.h"
#include "sim/gate.h"
#include "sim/open_step.h"

namespace c3sim::models {

namespace {

// One kernel on one GPU.
class KernelRun {
 public:
  KernelRun(Node& node, int gpu, Kernel kernel)
      : node_(node),
        gpu_index_(gpu),
        gpu_(node.gpu(gpu)),
        kernel_(std::move(kernel)),
        tag_{kernel_.shape.operation, kernel_.shape.tenant},
        residents_(static_cast<std::size_t>(gpu_.spec().memory.xcds), 0),
        on_cu_(static_cast<std::size_t>(gpu_.spec().cus()), 0) {}

  sim::Task<> run();

 private:
  struct Wave {
    const Cohort* cohort;
    std::vector<sim::ResourceNetwork::ActivityId> streams;
  };

  sim::Task<> run_wave(const Cohort& cohort);
  Wave start(const Cohort& cohort, sim::Latch& done);
  bool is_live(const Wave& wave) const;
  void add_residents(const Cohort& cohort, int sign);
  Footing footing() const;
  void reshape_waves();
  void describe(sim::ResourceNetwork::ActivityId stream, const Demand& demand, const Portion& portion);
  std::size_t cu_of(const Cohort::Placement& placement) const;
  std::vector<Portion> portions() const;

  Node& node_;
  int gpu_index_;
  Gpu& gpu_;
  Kernel kernel_;
  ActivityTag tag_;
  std::vector<int> residents_;  // by XCD
  std::vector<int> on_cu_;      // workgroups on each CU
  int busy_cus_ = 0;            // CUs with any
  std::vector<Wave> waves_;     // by age
  CacheSharing::Handle cache_;
};

sim::Task<> KernelRun::run() {
  PowerGovernor& governor = gpu_.governor(tag_.tenant);
  cache_ = gpu_.cache_sharing().enter({kernel_.l2_fill, kernel_.cache_fill, [this] { reshape_waves(); }});
  std::optional<PowerGovernor::Listener> listener;
  if (kernel_.follows_clock) listener = governor.add_listener([this] { reshape_waves(); });
  KernelSpec shape = kernel_.shape;
  CohortBody body = [this](const Cohort& cohort) { return run_wave(cohort); };
  co_await gpu_.dispatcher().run(std::move(shape), std::move(body));
  if (listener) governor.remove_listener(*listener);
  gpu_.cache_sharing().leave(cache_);
}

sim::Task<> KernelRun::run_wave(const Cohort& cohort) {
  add_residents(cohort, 1);
  sim::Latch done(gpu_.simulator(), "a wave of a kernel", static_cast<std::uint64_t>(kernel_.streams));
  const Wave wave = start(cohort, done);
  waves_.push_back(wave);
  reshape_waves();
  co_await done.wait();
  for (const auto stream : wave.streams) gpu_.governor(tag_.tenant).remove_matrix_work(stream);
  add_residents(cohort, -1);
  reshape_waves();
}

// As fast as can be until its share is known, at this same instant.
KernelRun::Wave KernelRun::start(const Cohort& cohort, sim::Latch& done) {
  Wave wave{&cohort, {}};
  for (int stream = 0; stream < kernel_.streams; ++stream) {
    sim::ActivitySpec spec;
    spec.amount = static_cast<double>(cohort.size()) * kernel_.work * (1.0 + cohort.lateness);
    spec.cap = gpu_.spec().peak_flops();
    spec.tag = tag_.packed();
    wave.streams.push_back(gpu_.network().start(spec, [&done] { done.count_down(); }));
  }
  return wave;
}

bool KernelRun::is_live(const Wave& wave) const {
  return std::ranges::any_of(wave.streams, [this](auto stream) { return gpu_.network().live(stream); });
}

Footing KernelRun::footing() const {
  const CacheSharing& sharing = gpu_.cache_sharing();
  const double per_cu = std::accumulate(residents_.begin(), residents_.end(), 0.0) / busy_cus_;
  return {residents_, per_cu, sharing.l2_share(cache_), sharing.cache_share(cache_)};
}

// What a wave moves depends on who is resident and on the caches, how fast it may go on what its workgroups have of
// their CUs.
void KernelRun::reshape_waves() {
  std::erase_if(waves_, [this](const Wave& wave) { return !is_live(wave); });
  if (waves_.empty()) return;
  const Footing here = footing();
  const std::vector<Portion> all = portions();
  for (int stream = 0; stream < kernel_.streams; ++stream) {
    const Demand demand = kernel_.demand(stream, here);
    for (std::size_t i = 0; i < waves_.size(); ++i) {
      describe(waves_[i].streams[static_cast<std::size_t>(stream)], demand, all[i]);
    }
  }
}

void KernelRun::describe(sim::ResourceNetwork::ActivityId stream, const Demand& demand, const Portion& portion) {
  if (!gpu_.network().live(stream)) return;
  gpu_.network().reshape(stream, activity_of(node_, gpu_index_, demand, portion, tag_));
  if (demand.matrix_per_cycle > 0.0) {
    gpu_.governor(tag_.tenant).set_matrix_work(stream, portion.pipes * demand.matrix_per_cycle);
  }
}

void KernelRun::add_residents(const Cohort& cohort, int sign) {
  for (std::size_t xcd = 0; xcd < residents_.size(); ++xcd) residents_[xcd] += sign * cohort.per_xcd[xcd];
  for (const Cohort::Placement& placement : cohort.placements) {
    int& here = on_cu_[cu_of(placement)];
    busy_cus_ -= here > 0 ? 1 : 0;
    here += sign;
    busy_cus_ += here > 0 ? 1 : 0;
  }
}

std::size_t KernelRun::cu_of(const Cohort::Placement& placement) const {
  return static_cast<std::size_t>(placement.xcd) * static_cast<std::size_t>(gpu_.spec().cus_per_xcd) +
         static_cast<std::size_t>(placement.cu);
}

std::vector<Portion> KernelRun::portions() const {
  std::vector<char> has_oldest(on_cu_.size(), 0);  // no bits: this is a hot loop
  std::vector<Portion> portions;
  portions.reserve(waves_.size());
  for (const Wave& wave : waves_) {  // by age
    Portion& sum = portions.emplace_back();
    sum.busiest_share = wave.cohort->busiest_share();
    for (const Cohort::Placement& placement : wave.cohort->placements) {
      const std::size_t cu = cu_of(placement);
      if (on_cu_[cu] == 1) {
        sum.pipes += kernel_.issue.alone;
        sum.requests += 1.0;
        continue;
      }
      const double oldest = kernel_.issue.oldest;
      const double issued = has_oldest[cu] != 0 ? (1.0 - oldest) / (on_cu_[cu] - 1) : oldest;
      has_oldest[cu] = 1;
      sum.pipes += issued;
      sum.requests += issued * on_cu_[cu];
    }
  }
  return portions;
}

sim::Task<> launch_on(Node& node, int gpu, const Launch& launch, sim::Latch& finished) {
  co_await node.host().launch_kernel(gpu, false);
  sim::OpenStep step(node.simulator());
  co_await run_kernel(node, gpu, launch.kernel);
  if (launch.afterwards) co_await launch.afterwards();
  if (step.recorded()) step.end(device_name(gpu) + "." + launch.track, "kernel", launch.subject);
  co_await node.host().notice_kernel_end(gpu);
  finished.count_down();
}

}  // namespace

sim::Task<> run_kernel(Node& node, int gpu, Kernel kernel) {
  KernelRun run(node, gpu, std::move(kernel));
  co_await run.run();
}

sim::Task<> launch_kernel(Node& node, std::vector<int> gpus, Launch launch) {
  sim::Latch finished(node.simulator(), "all GPUs to finish " + launch.track, gpus.size());
  for (const int gpu : gpus) {
    node.simulator().spawn(launch.track + " on " + device_name(gpu), launch_on(node, gpu, launch, finished));
  }
  co_await finished.wait();
}

}  // namespace c3sim::models
