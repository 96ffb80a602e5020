#include "models/kernels/kernel_run.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <cstddef>
#include <iterator>
#include <list>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "models/platform/device.h"
#include "sim/gate.h"
#include "sim/simulator.h"

namespace c3sim::models {
namespace {

// Returns the units of progress of all workgroups of the cohort.
double work_of(const Cohort& cohort, const Kernel& kernel) {
  int last = 0;
  for (const Cohort::Run& run : cohort.runs) {
    for (int i = run.count; i > 0 && run.at(i - 1).workgroup >= kernel.last_from; --i) ++last;
  }
  return (cohort.size() - last) * kernel.work + last * kernel.last_work;
}

std::size_t hash_of_cus(const Cohort& cohort) {
  std::size_t hash = 0;
  for (const Cohort::Run& run : cohort.runs) {
    for (const int part : {run.xcd, run.cu, run.cu_step, run.count}) boost::hash_combine(hash, part);
  }
  return hash;
}

// A KernelRun runs one kernel on one GPU.
class KernelRun {
 public:
  KernelRun(Node& node, int gpu, Kernel kernel)
      : node_(node),
        gpu_index_(gpu),
        gpu_(node.gpu(gpu)),
        kernel_(std::move(kernel)),
        tag_{kernel_.shape.stream.operation, kernel_.shape.tenant} {}

  sim::Task<> run() {
    co_await gpu_.simulator().delay(kernel_.start_up);
    cache_ = gpu_.cache_sharing().enter({kernel_.l2_fill, kernel_.cache_fill, [this] { describe_waves(); }});
    KernelSpec shape = kernel_.shape;
    shape.gpu = gpu_index_;
    CohortBody body = [this](const Cohort& cohort) { return run_wave(cohort); };
    co_await gpu_.dispatcher().run(std::move(shape), std::move(body));
    gpu_.cache_sharing().leave(cache_);
  }

 private:
  struct Wave {
    std::size_t footprint;
    double amount;  // units of progress of each stream
    sim::Latch& done;
    std::vector<sim::ResourceNetwork::ActivityId> streams;  // empty until the wave is first described
  };
  // A Standing says what resident waves have of the GPU. It is kept, as waves come again to the same CUs in that order.
  struct Standing {
    std::vector<std::size_t> footprints;  // indices of the waves' footprints, by age
    std::vector<int> residents;           // workgroups on each XCD
    double per_cu = 0.0;                  // mean number of workgroups on CUs that have any
    std::vector<Portion> portions;        // by wave
    double l2_share = -1.0;               // share of the L2s that `demands` are for
    double cache_share = -1.0;
    std::vector<Demand> demands;  // by stream
  };

  sim::Task<> run_wave(const Cohort& cohort) {
    sim::Latch done(gpu_.simulator(), "a wave of a kernel", static_cast<std::uint64_t>(kernel_.streams));
    const double amount = work_of(cohort, kernel_) * (1.0 + cohort.lateness);
    const auto wave = waves_.insert(waves_.end(), {footprint_of(cohort), amount, done, {}});
    PowerGovernor& governor = gpu_.governor(tag_.tenant);
    const double streaming = kernel_.streaming * cohort.size();
    governor.add_streaming_cus(streaming);
    describe_waves();
    co_await done.wait();
    governor.add_streaming_cus(-streaming);
    for (const auto stream : wave->streams) governor.remove_work(stream);
    waves_.erase(wave);
    describe_waves();
  }

  std::size_t footprint_of(const Cohort& cohort) {
    const auto [first, last] = known_footprints_.equal_range(hash_of_cus(cohort));
    const auto known = std::find_if(first, last, [&](const auto& entry) {
      return std::ranges::equal(footprints_[entry.second].runs, cohort.runs, &Cohort::Run::same_cus);
    });
    return known != last ? known->second : add_footprint(cohort);
  }

  std::size_t add_footprint(Cohort cohort) {
    known_footprints_.emplace(hash_of_cus(cohort), footprints_.size());
    footprints_.push_back(std::move(cohort));
    return footprints_.size() - 1;
  }

  KernelRun::Standing stand(std::vector<std::size_t> footprints) const {
    const std::size_t cus_per_xcd = static_cast<std::size_t>(gpu_.spec().cus_per_xcd);
    const auto for_each_cu = [&](std::size_t footprint, const auto& visit) {
      for (const Cohort::Run& run : footprints_[footprint].runs) {
        std::size_t cu = static_cast<std::size_t>(run.xcd) * cus_per_xcd + static_cast<std::size_t>(run.cu);
        for (int i = 0; i < run.count; ++i, cu += static_cast<std::size_t>(run.cu_step)) visit(cu);
      }
    };
    Standing standing;
    standing.residents.assign(static_cast<std::size_t>(gpu_.spec().memory.xcds), 0);
    std::vector<int> on_cu(static_cast<std::size_t>(gpu_.spec().cus()), 0);
    int busy = 0;  // CUs
    int most = 0;  // workgroups on one of them
    for (const std::size_t footprint : footprints) {
      for_each_cu(footprint, [&](std::size_t cu) {
        const int before = on_cu[cu]++;
        busy += before == 0 ? 1 : 0;
        most = std::max(most, before + 1);
      });
      for (std::size_t xcd = 0; xcd < standing.residents.size(); ++xcd) {
        standing.residents[xcd] += footprints_[footprint].per_xcd[xcd];
      }
    }
    const int workgroups = std::accumulate(standing.residents.begin(), standing.residents.end(), 0);
    standing.per_cu = static_cast<double>(workgroups) / busy;
    // Of a CU's pipes, what each has of so many workgroups.
    std::vector<double> pipes(static_cast<std::size_t>(most) + 1, kernel_.alone);
    for (std::size_t here = 2; here < pipes.size(); ++here) pipes[here] = 1.0 / static_cast<double>(here);

    standing.portions.reserve(footprints.size());
    for (const std::size_t footprint : footprints) {
      Portion& portion = standing.portions.emplace_back();
      portion.busiest_share = footprints_[footprint].busiest_share();
      for_each_cu(footprint, [&](std::size_t cu) { portion.pipes += pipes[static_cast<std::size_t>(on_cu[cu])]; });
      portion.requests = footprints_[footprint].size();
      portion.share = portion.requests / workgroups;
    }
    standing.footprints = std::move(footprints);
    return standing;
  }

  KernelRun::Standing& standing() {
    constexpr std::size_t most_standings = 1024;
    const auto hash_of_waves = [this] {
      std::size_t hash = 0;
      for (const Wave& wave : waves_) boost::hash_combine(hash, wave.footprint);
      return hash;
    };
    const auto [first, last] = standings_.equal_range(hash_of_waves());
    const auto known = std::find_if(first, last, [this](const auto& entry) {
      return std::ranges::equal(entry.second.footprints, waves_, {}, {}, &Wave::footprint);
    });
    if (known != last) return known->second;
    if (standings_.size() == most_standings) forget_standings();
    std::vector<std::size_t> footprints;
    std::ranges::transform(waves_, std::back_inserter(footprints), &Wave::footprint);
    return standings_.emplace(hash_of_waves(), stand(std::move(footprints)))->second;
  }

  // Forgets all standings, and all footprints except those of resident waves.
  void forget_standings() {
    standings_.clear();
    known_footprints_.clear();
    const std::vector<Cohort> before = std::exchange(footprints_, {});
    for (Wave& wave : waves_) wave.footprint = footprint_of(before[wave.footprint]);
  }

  // Describes all resident waves. What a wave moves depends on residents and caches, its speed on its share of CUs.
  void describe_waves() {
    if (waves_.empty()) return;
    const CacheSharing& sharing = gpu_.cache_sharing();
    Standing& here = standing();
    const Footing footing{here.residents, here.per_cu, sharing.l2_share(cache_), sharing.cache_share(cache_)};
    if (here.l2_share != footing.l2_share || here.cache_share != footing.cache_share) {
      here.l2_share = footing.l2_share;
      here.cache_share = footing.cache_share;
      here.demands.clear();
      for (int stream = 0; stream < kernel_.streams; ++stream) here.demands.push_back(kernel_.demand(stream, footing));
    }
    for (std::size_t stream = 0; stream < here.demands.size(); ++stream) {
      auto portion = here.portions.begin();
      for (Wave& wave : waves_) describe(wave, stream, here.demands[stream], *portion++);
    }
  }

  void describe(Wave& wave, std::size_t stream, const Demand& demand, const Portion& portion) {
    sim::ResourceNetwork& network = gpu_.network();
    const bool starts = stream == wave.streams.size();
    if (!starts && !network.live(wave.streams[stream])) return;
    sim::ActivitySpec activity = activity_of(node_, gpu_index_, demand, portion, tag_);
    if (starts) {
      activity.amount = wave.amount;
      wave.streams.push_back(network.start(activity, [done = &wave.done] { done->count_down(); }));
    } else {
      network.reshape(wave.streams[stream], activity);
    }
    PowerGovernor& governor = gpu_.governor(tag_.tenant);
    // In benchmarks by threads the bytes under way bound the rate sharply: arithmetic hides behind the wait for them.
    constexpr double sharp = 64.0;
    const Bend bend =
        demand.queue_knee > 0.0 ? Bend{activity.cap, sharp} : bend_of(demand, gpu_.spec().memory, portion);
    if (demand.matrix_per_cycle > 0.0) {
      governor.set_matrix_work(wave.streams[stream], portion.pipes * demand.matrix_per_cycle, demand.matrix_energy,
                               bend);
    } else if (demand.vector_per_cycle > 0.0) {
      governor.set_vector_work(wave.streams[stream], portion.pipes * demand.vector_per_cycle, demand.vector_flops,
                               bend);
    }
  }

  Node& node_;
  int gpu_index_;
  Gpu& gpu_;
  Kernel kernel_;
  ActivityTag tag_;
  std::list<Wave> waves_;           // resident waves, by age
  std::vector<Cohort> footprints_;  // one cohort for each set of CUs
  // These find indices of footprints by a hash of their CUs, and standings by a hash of their waves' footprints.
  std::unordered_multimap<std::size_t, std::size_t> known_footprints_;
  std::unordered_multimap<std::size_t, Standing> standings_;
  CacheSharing::Handle cache_;
};

struct Progress {
  sim::Latch ended;     // counts GPUs on which the kernel has not ended
  sim::Latch finished;  // counts GPUs whose end the host does not know yet
};

sim::Task<> launch_on(Node& node, int gpu, const Kernel& kernel, Progress& progress) {
  co_await node.host().launch_kernel(gpu);
  const Stream& stream = kernel.shape.stream;
  co_await begin_behind(node, gpu, stream, node.spec().host.kernel_gap, kernel.start_up);
  sim::OpenStep step(node.simulator());
  co_await run_kernel(node, gpu, kernel);
  if (kernel.afterwards) co_await kernel.afterwards();
  if (step.recorded()) step.end(device_name(gpu) + "." + kernel.shape.name, "kernel", kernel.subject);
  progress.ended.count_down();
  if (progress.ended.count() == 0 && stream.ended != nullptr) stream.ended->open();
  co_await node.host().notice_kernel_end(gpu);
  progress.finished.count_down();
}

}  // namespace

sim::Task<> begin_behind(Node& node, int gpu, const Stream& stream, sim::Time gap, sim::Time start_up) {
  const bool is_late = stream.ready == nullptr || stream.ready->is_open();
  if (!is_late) {
    co_await stream.ready->wait();
    co_await node.simulator().delay(gap);
  } else if (stream.ready == nullptr && node.spec().host.times_gaps()) {
    co_await node.simulator().delay(node.gpu(gpu).wait_in_order(gap, start_up));
  }
  if (stream.started) stream.started({gpu, is_late});
}

sim::Task<> run_kernel(Node& node, int gpu, Kernel kernel) {
  KernelRun run(node, gpu, std::move(kernel));
  co_await run.run();
}

sim::Task<> launch_kernel(Node& node, Kernel kernel, std::vector<int> gpus) {
  if (gpus.empty()) gpus = node.all_simulated();
  const std::string& name = kernel.shape.name;
  Progress progress{sim::Latch(node.simulator(), "the end of " + name + " on all GPUs", gpus.size()),
                    sim::Latch(node.simulator(), "all GPUs to finish " + name, gpus.size())};
  for (const int gpu : gpus) {
    node.simulator().spawn(name + " on " + device_name(gpu), launch_on(node, gpu, kernel, progress));
  }
  co_await progress.finished.wait();
}

}  // namespace c3sim::models
