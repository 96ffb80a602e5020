#include "models/kernels/gemm.h"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/kernels/gemm_traffic.h"
#include "models/node.h"
#include "sim/open_step.h"

namespace c3sim::models {

namespace {

GemmTrafficModel traffic_of(const GemmPlan& plan, const GpuSpec& gpu) {
  return {plan, gpu.memory, gpu.slots(gpu.cus_per_xcd, plan.kernel.workgroup),
          static_cast<double>(gpu.slots(1, plan.kernel.workgroup))};
}

}  // namespace

bool is_memory_bound(const GemmPlan& plan, const Gpu& gpu) {
  const GpuSpec& spec = gpu.spec();
  const GemmTrafficModel traffic = traffic_of(plan, spec);
  return 1.0 / traffic.undisturbed().beyond_l2_bytes() < spec.peak_flops() / spec.memory.hbm_rate.value();
}

namespace {

// The waves of one GEMM on one GPU.
class GemmRun {
 public:
  GemmRun(Gpu& gpu, GemmPlan plan)
      : gpu_(gpu),
        plan_(std::move(plan)),
        traffic_(traffic_of(plan_, gpu.spec())),
        residents_(static_cast<std::size_t>(gpu.spec().memory.xcds), 0),
        on_cu_(static_cast<std::size_t>(gpu.spec().cus()), 0) {}

  sim::Task<> run(CuMask mask);

 private:
  struct Wave {
    const Cohort* cohort;
    sim::ResourceNetwork::ActivityId activity;
  };
  // What the workgroups of a wave have of their CUs.
  struct Shares {
    double matrix_pipes = 0.0;  // in CUs
    double requests = 0.0;      // under way, in those of a workgroup on average
  };

  sim::Task<> run_wave(const Cohort& cohort);
  void add_residents(const Cohort& cohort, int sign);
  void reshape_waves();
  std::size_t cu_of(const Cohort::Placement& placement) const;
  std::vector<Shares> share_cus() const;
  std::int64_t slots(CuMask mask) const;
  CacheSharing::Client cache_client();

  Gpu& gpu_;
  GemmPlan plan_;
  GemmTrafficModel traffic_;
  double workgroup_flops_ = 0.0;
  std::vector<int> residents_;  // by XCD
  std::vector<int> on_cu_;      // workgroups on each CU
  int busy_cus_ = 0;            // CUs with any
  std::vector<Wave> waves_;
  CacheSharing::Handle cache_;
};

sim::Task<> GemmRun::run(CuMask mask) {
  const std::int64_t workgroups = plan_.workgroups(slots(mask));
  workgroup_flops_ = static_cast<double>(plan_.pieces()) * plan_.piece_flops() / static_cast<double>(workgroups);
  KernelSpec kernel;
  kernel.name = "gemm";
  kernel.workgroups = static_cast<int>(workgroups);
  kernel.workgroup = plan_.kernel.workgroup;
  kernel.mask = mask;
  kernel.time_spread = plan_.kernel.time_spread;
  cache_ = gpu_.cache_sharing().enter(cache_client());
  CohortBody body = [this](const Cohort& cohort) { return run_wave(cohort); };
  co_await gpu_.dispatcher().run(std::move(kernel), std::move(body));
  gpu_.cache_sharing().leave(cache_);
}

// Workgroups that fit at once on the CUs that the mask allows.
std::int64_t GemmRun::slots(CuMask mask) const {
  const int cus = mask.all() ? gpu_.spec().cus_per_xcd : mask.end - mask.begin;
  return gpu_.spec().slots(gpu_.spec().memory.xcds * cus, plan_.kernel.workgroup);
}

// Fill rates of the undisturbed kernel: its traffic on the whole GPU at the matrix rate of the highest clock.
CacheSharing::Client GemmRun::cache_client() {
  const GemmTraffic& traffic = traffic_.undisturbed();
  const double rate = plan_.efficiency() * gpu_.spec().peak_flops();
  return {sim::BytesPerSecond(rate * traffic.beyond_l2_bytes()), sim::BytesPerSecond(rate * traffic.hbm_bytes()),
          [this] { reshape_waves(); }};
}

sim::Task<> GemmRun::run_wave(const Cohort& cohort) {
  add_residents(cohort, 1);
  sim::Gate done(gpu_.simulator(), "a wave of a GEMM");
  sim::ActivitySpec wave;
  wave.amount = static_cast<double>(cohort.size()) * workgroup_flops_ * (1.0 + cohort.lateness);
  wave.cap = gpu_.spec().peak_flops();  // until its share is known, at this same instant
  waves_.push_back({&cohort, gpu_.network().start(wave, [&done] { done.open(); })});
  const sim::ResourceNetwork::ActivityId id = waves_.back().activity;
  reshape_waves();
  co_await done.wait();
  gpu_.governor().remove_matrix_work(id);
  add_residents(cohort, -1);
  reshape_waves();
}

// What a wave moves depends on who is resident and on the caches, how fast it may go on what its workgroups have of
// their CUs.
void GemmRun::reshape_waves() {
  std::erase_if(waves_, [this](const Wave& wave) { return !gpu_.network().live(wave.activity); });
  if (waves_.empty()) return;
  const CacheSharing& sharing = gpu_.cache_sharing();
  const double per_cu = std::accumulate(residents_.begin(), residents_.end(), 0.0) / busy_cus_;
  const GemmTraffic traffic = traffic_.on({residents_, per_cu, sharing.l2_share(cache_), sharing.cache_share(cache_)});
  const double flops_per_cycle = gpu_.spec().gemm.flops_per_cycle_per_cu * plan_.efficiency();
  const std::vector<Shares> shares = share_cus();
  for (std::size_t i = 0; i < waves_.size(); ++i) {
    UsageList usages;
    gpu_.memory().add_from_xcds(usages, waves_[i].cohort->busiest_share(), traffic.l2, traffic.beyond_l2);
    sim::ActivitySpec wave;
    wave.usages = std::move(usages).take();
    // Where a memory is full, it serves requesters in proportion to what they have under way.
    wave.weight = shares[i].requests * plan_.kernel.in_flight.value() / traffic.l2;
    const double matrix_work = shares[i].matrix_pipes * flops_per_cycle;
    wave.cap = matrix_work * gpu_.governor().clock().value();
    gpu_.network().reshape(waves_[i].activity, wave);
    gpu_.governor().set_matrix_work(waves_[i].activity, matrix_work);
  }
}

void GemmRun::add_residents(const Cohort& cohort, int sign) {
  for (std::size_t xcd = 0; xcd < residents_.size(); ++xcd) residents_[xcd] += sign * cohort.per_xcd[xcd];
  for (const Cohort::Placement& placement : cohort.placements) {
    int& here = on_cu_[cu_of(placement)];
    busy_cus_ -= here > 0 ? 1 : 0;
    here += sign;
    busy_cus_ += here > 0 ? 1 : 0;
  }
}

std::size_t GemmRun::cu_of(const Cohort::Placement& placement) const {
  return static_cast<std::size_t>(placement.xcd) * static_cast<std::size_t>(gpu_.spec().cus_per_xcd) +
         static_cast<std::size_t>(placement.cu);
}

// A CU issues from its oldest workgroup first, matrix operations and loads alike, so workgroups of one CU that started
// together run apart: one is in the middle of its tile when the other ends.
std::vector<GemmRun::Shares> GemmRun::share_cus() const {
  const GemmKernelSpec& kernel = plan_.kernel;
  std::vector<char> has_oldest(on_cu_.size(), 0);  // no bits: this is a hot loop
  std::vector<Shares> shares;
  for (const Wave& wave : waves_) {  // by age
    Shares& sum = shares.emplace_back();
    for (const Cohort::Placement& placement : wave.cohort->placements) {
      const std::size_t cu = cu_of(placement);
      if (on_cu_[cu] == 1) {
        sum.matrix_pipes += kernel.alone_share;
        sum.requests += 1.0;
        continue;
      }
      const double issued = has_oldest[cu] != 0 ? (1.0 - kernel.oldest_share) / (on_cu_[cu] - 1) : kernel.oldest_share;
      has_oldest[cu] = 1;
      sum.matrix_pipes += issued;
      sum.requests += issued * on_cu_[cu];
    }
  }
  return shares;
}

}  // namespace

sim::Task<> run_gemm_kernel(Gpu& gpu, GemmShape shape, CuMask mask) {
  GemmRun run(gpu, plan_gemm(gpu.spec().gemm, shape));
  co_await run.run(mask);
}

namespace {

sim::Task<> launch_gemm(Node& node, int gpu, GemmShape shape, CuMask mask, sim::Latch& finished) {
  co_await node.host().launch_kernel(gpu, false);
  sim::OpenStep kernel(node.simulator());
  co_await run_gemm_kernel(node.gpu(gpu), shape, mask);
  if (kernel.recorded()) kernel.end("gpu" + std::to_string(gpu) + ".gemm", "kernel", to_string(shape));
  co_await node.host().notice_kernel_end(gpu);
  finished.count_down();
}

}  // namespace

sim::Task<> run_gemm(Node& node, GemmShape shape, CuMask mask) {
  sim::Latch finished(node.simulator(), "all GPUs to finish a GEMM", static_cast<std::uint64_t>(node.simulated()));
  for (int gpu = 0; gpu < node.simulated(); ++gpu) {
    node.simulator().spawn("gemm on gpu" + std::to_string(gpu), launch_gemm(node, gpu, shape, mask, finished));
  }
  co_await finished.wait();
}

}  // namespace c3sim::models
