#include "study/play/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/dynamic_bitset.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/collectives/algorithm.h"
#include "models/kernels/block_copies.h"
#include "models/kernels/gemm.h"
#include "sim/gate.h"
#include "sim/simulator.h"
#include "study/play/power_meter.h"
#include "study/program/operation_graph.h"

namespace c3sim::study {

namespace {

bool governed_by(const models::PlatformSpec& platform, models::GovernorPolicy policy) {
  return platform.gpu.power.governor == policy && !platform.gpu.power.acts_at_once();
}

// Returns the host threads that the operation asks for.
std::optional<models::HostThreads> threads_of(const Operation& operation) {
  if (const auto* const spec = std::get_if<models::CollectiveSpec>(&operation.work)) return spec->host_threads;
  if (const auto* const copy = std::get_if<models::SdmaCopySpec>(&operation.work)) return copy->host_threads;
  if (std::holds_alternative<models::FusedSpec>(operation.work)) return models::HostThreads::per_gpu;
  return {};
}

models::HostThreads host_threads(const models::PlatformSpec& platform, const Schedule& schedule) {
  if (std::optional<OtherThreads> other = other_threads(schedule)) {
    throw sim::ConfigError({{"operations", {}, std::move(other->what)}});
  }
  for (const Operation& operation : schedule) {
    if (const auto threads = threads_of(operation)) return *threads;
  }
  return platform.host.threads;
}

models::HostSpec host_for(const models::PlatformSpec& platform, const Schedule& schedule) {
  models::HostSpec host = platform.host;
  host.threads = host_threads(platform, schedule);
  if (!is_shot(platform)) host.wake_up = sim::Time::zero();
  return host;
}

// Returns whether the schedule is one GEMM, once or repeatedly.
bool is_one_gemm(const Schedule& schedule) {
  return std::ranges::all_of(schedule, [&](const Operation& operation) {
    return std::holds_alternative<models::GemmShape>(operation.work) && operation.work == schedule.front().work;
  });
}

// Returns whether one GPU may stand for all, because the operation does not distinguish between GPUs.
bool is_alike(const Operation& operation, const models::PlatformSpec& platform, models::HostThreads threads) {
  if (!operation.gpus.empty()) return false;
  if (const auto* const spec = std::get_if<models::CollectiveSpec>(&operation.work)) {
    return models::is_symmetric(*spec, platform.gpus, threads);
  }
  if (const auto* const copy = std::get_if<models::SdmaCopySpec>(&operation.work)) {
    return copy->everywhere && threads == models::HostThreads::per_gpu;
  }
  if (const auto* const fused = std::get_if<models::FusedSpec>(&operation.work)) {
    // On a mesh, a ring's data use one direction of a link only, and acknowledgements the other.
    const bool both_ways = fused->path == models::FusedPath::direct;
    return fused->gpus_of(platform.gpus) == platform.gpus &&
           (both_ways || platform.fabric.topology == models::Topology::fabric_switch);
  }
  return kind_of(operation.work).on_any_gpus;
}

models::Symmetry symmetry_of(const models::PlatformSpec& platform, const Schedule& schedule,
                             models::HostThreads threads) {
  const auto alike = [&](const Operation& operation) { return is_alike(operation, platform, threads); };
  return std::ranges::all_of(schedule, alike) ? models::Symmetry::all_alike : models::Symmetry::none;
}

const models::SdmaCopySpec* copy_of(const Operation& operation) {
  return std::get_if<models::SdmaCopySpec>(&operation.work);
}

bool on_one_queue(const models::SdmaCopySpec& a, const models::SdmaCopySpec& b) {
  return std::tie(a.from, a.to, a.pull, a.everywhere, a.engine) ==
         std::tie(b.from, b.to, b.pull, b.everywhere, b.engine);
}

// Returns by place, for each fused product, the lowest lane free of earlier fused products that may run concurrently.
std::map<std::size_t, int> lanes_of_fused(const Schedule& schedule) {
  std::vector<std::size_t> fused;
  for (std::size_t place = 0; place < schedule.size(); ++place) {
    if (std::holds_alternative<models::FusedSpec>(schedule[place].work)) fused.push_back(place);
  }
  if (fused.size() == 1) return {{fused.front(), 0}};
  // Holds, for each place in the schedule, which fused products have ended when its operation begins.
  std::vector<boost::dynamic_bitset<>> ended(fused.empty() ? 0 : schedule.size(),
                                             boost::dynamic_bitset<>(fused.size()));
  std::map<std::size_t, int> lanes;
  for (std::size_t place = 0; place < ended.size(); ++place) {
    for (const std::size_t earlier : schedule[place].after) {
      ended[place] |= ended[earlier];
      const auto one = std::ranges::lower_bound(fused, earlier);
      if (one != fused.end() && *one == earlier) ended[place].set(static_cast<std::size_t>(one - fused.begin()));
    }
    if (lanes.size() == fused.size() || fused[lanes.size()] != place) continue;
    std::set<int> taken;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (!ended[place].test(i)) taken.insert(lanes.at(fused[i]));
    }
    int lane = 0;
    while (taken.contains(lane)) ++lane;
    lanes[place] = lane;
  }
  return lanes;
}

// A Play plays one schedule on a node of its own.
class Play {
 public:
  Play(const models::PlatformSpec& platform, const Schedule& schedule, Attach attach, sim::StepLog* steps,
       const Brought& brought)
      : platform_(platform),
        host_(host_for(platform, schedule)),
        schedule_(schedule),
        queued_(queued(schedule)),
        repeats_operands_(has_operands_in_caches(brought.between)),
        attach_(std::move(attach)),
        node_(simulator_, platform_, host_, symmetry_of(platform_, schedule, host_.threads)),
        words_(simulator_),
        prepared_(simulator_, "commands to be queued beforehand") {
    if (steps != nullptr) simulator_.record(*steps);
    const std::map<std::size_t, int> lanes = lanes_of_fused(schedule);
    for (std::size_t place = 0; place < schedule.size(); ++place) {
      const Operation& operation = schedule[place];
      ready_.emplace_back(simulator_, "all that " + operation.name + " waits for");
      ended_.emplace_back(simulator_, "the end of " + operation.name);
      known_.emplace_back(simulator_, "word of the end of " + operation.name);
      turns_.emplace_back(simulator_, "the turn of " + operation.name, 0);
      const auto* spec = std::get_if<models::CollectiveSpec>(&operation.work);
      if (spec) collectives_.try_emplace(place, node_, *spec, stream(place));
      add_range(place);
      const auto* fused = std::get_if<models::FusedSpec>(&operation.work);
      if (fused) fused_.try_emplace(place, node_, *fused, stream(place), lanes.at(place));
      expect_commands(place);
    }
    timeline_.operations.resize(schedule.size());
    timeline_.ceiling = brought.ceiling;
    timeline_.governors = brought.governors;
    govern(brought);
  }

  Played run() {
    simulator_.spawn("preparation", prepare());
    for (std::size_t place = 0; place < schedule_.size(); ++place) {
      simulator_.spawn(schedule_[place].name, play(place));
    }
    if (governors_remember()) simulator_.spawn("the end of a round", look_at_governors());
    try {
      simulator_.run();
    } catch (const sim::Deadlock& deadlock) {
      if (std::ranges::any_of(schedule_, waits_for_others, &Operation::work)) throw never_ends(deadlock);
      throw;
    }
    wait_for_next_launch();
    if (platform_.gpu.memory.metered) {
      timeline_.moved = node_.gpu(0).memory().moved();
      for (const sim::ResourceId port : node_.fabric().ports(0)) timeline_.moved->links += node_.network().served(port);
    }
    timeline_.unsettled = node_.network().effort().unconverged + node_.network().unregulated();
    const sim::Seconds time = sim::to_seconds(timeline_.makespan());
    const sim::Seconds around_kernel = sim::to_seconds(platform_.host.around_kernel());
    timeline_.means = {meter_.mean_clock(time), meter_.clock_at_work(time, around_kernel), meter_.mean_power(time)};
    return {timeline_, as_repeated(), governors_};
  }

 private:
  // Tells queues which operations will use them. Collectives and fused products have told theirs already.
  void expect_commands(std::size_t place) {
    const std::span<models::SdmaComplex* const> engines = node_.copy_engines();
    if (const auto* const list = std::get_if<models::SdmaPacketList>(&schedule_[place].work)) {
      models::queue_of(engines, *list).expect(tag(place));
    }
    const models::SdmaCopySpec* const copy = copy_of(schedule_[place]);
    if (copy == nullptr || copy->submit) return;
    for (const models::SdmaCopySpec& own : copies_of(*copy)) models::queue_of(engines, own).expect(tag(place));
  }

  NeverEnds never_ends(const sim::Deadlock& deadlock) {
    constexpr std::size_t most_named = 8;
    std::vector<std::string> waiting;
    for (std::size_t place = 0; place < schedule_.size(); ++place) {
      if (!known_[place].is_open()) {
        waiting.push_back(fmt::format("'{}' waits for {}", schedule_[place].name, missing(place, deadlock)));
      }
    }
    const std::size_t named = std::min(waiting.size(), most_named);
    std::string text =
        fmt::format("not all of them ever end: {}",
                    fmt::join(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(named), ", "));
    if (named < waiting.size()) text += fmt::format(", and {} more wait", waiting.size() - named);
    return NeverEnds({{"operations", {}, std::move(text)}});
  }
  // Returns what an operation that never ends waits for.
  std::string missing(std::size_t place, const sim::Deadlock& deadlock) {
    for (const std::size_t earlier : schedule_[place].after) {
      if (!polls_for(place, earlier) && !known_[earlier].is_open())
        return fmt::format("the end of '{}'", schedule_[earlier].name);
    }
    if (schedule_[place].stored && stored_.at(place).there.count() > 0) {
      const StoredRange& stored = *schedule_[place].stored;
      return fmt::format("{} to {} of what '{}' stores", sim::to_string(stored.begin), sim::to_string(stored.end),
                         schedule_[stored.by].name);
    }
    const models::SdmaQueue* queue = nullptr;
    if (const auto* const list = std::get_if<models::SdmaPacketList>(&schedule_[place].work)) {
      queue = &models::queue_of(node_.copy_engines(), *list);
    }
    for (models::SdmaComplex* const engines : node_.copy_engines()) {
      for (int engine = 0; queue == nullptr && engine < engines->spec().engines; ++engine) {
        queue = engines->engine(engine).queue_that_holds(tag(place));
      }
    }
    if (queue == nullptr) return "its turn in the queue of an engine";
    // The process that serves a queue is named after the queue.
    const auto served = std::ranges::find(deadlock.blocked(), queue->name(), &sim::Deadlock::Blocked::process);
    return served == deadlock.blocked().end() ? queue->name() : served->waits_for;
  }

  // Returns what a governor would hold if this run repeated, for the GPU that draws most.
  SteadyRun as_repeated() {
    SteadyRun run;
    const models::PowerSpec& power = platform_.gpu.power;
    const sim::Time end = origin_ + timeline_.makespan();
    for (std::size_t gpu = 0; gpu < records_.size(); ++gpu) {
      const models::PowerRecord& record = records_[gpu];
      run.peak = std::max(run.peak, record.highest_mean(origin_, end, power.window));
      const sim::Watts mean = record.highest_mean(origin_, end, power.window + power.period);
      if (mean <= run.power) continue;
      run.power = mean;
      run.clock_at_work = node_.gpu(static_cast<int>(gpu)).governor(models::Tenant::gemm).clock_at_work();
    }
    return run;
  }

  // Extends a kernel timed in a stream to the interval at which the host can launch the next one.
  void wait_for_next_launch() {
    if (host_.protocol != models::Protocol::stream || host_.kernel_time || schedule_.size() != 1) return;
    const Operation& operation = schedule_.front();
    if (!is_kernel(operation.work)) return;
    const auto* const collective = std::get_if<models::CollectiveSpec>(&operation.work);
    sim::Time interval = collective != nullptr ? host_.collective_interval : host_.launch_interval;
    if (collective != nullptr && host_.threads == models::HostThreads::one) interval *= collective->gpus;
    timeline_.operations.front().end = std::max(timeline_.operations.front().end, interval);
  }

  // Returns whether a GEMM finds its operands in caches, left there by the GEMM before it.
  bool has_operands_in_caches(Between between) const {
    if (platform_.without.has(models::Mechanism::cold) && !is_shot(platform_)) return true;
    return between == Between::nothing && is_one_gemm(schedule_);
  }

  // Returns whether governors' loops act during this run, because governors remember earlier rounds.
  bool governors_remember() const { return rounds_differ(platform_) || !timeline_.governors.empty(); }

  void govern(const Brought& brought) {
    const bool stay_awake = platform_.gpu.power.links_awake_for > sim::Time::zero();
    const bool did_before = !is_shot(platform_) && std::ranges::any_of(schedule_, uses_links, &Operation::work);
    if (stay_awake && (did_before || brought.between == Between::communication)) {
      // Links stay awake, as on a machine whose runs use them again and again.
      for (const int gpu : node_.all_simulated()) {
        for (const models::Tenant tenant : {models::Tenant::gemm, models::Tenant::rccl}) {
          node_.gpu(gpu).governor(tenant).keep_links_awake();
        }
      }
    }
    const auto& ceiling = brought.ceiling;
    for (const int gpu : node_.all_simulated()) {
      if (is_shot(platform_) || governors_remember()) {
        std::optional<models::GovernorState> state;
        if (!brought.governors.empty()) state = brought.governors[static_cast<std::size_t>(gpu)];
        node_.gpu(gpu).start_governor_loop(state);
        continue;
      }
      if (!clock_settles(platform_)) continue;
      models::PowerGovernor& governor = node_.gpu(gpu).governor(models::Tenant::gemm);
      if (ceiling) governor.set_ceiling(*ceiling);
      models::PowerRecord& record = records_.emplace_back(platform_.gpu.power.at_rest());
      node_.network().add_observer(
          [&record, &governor](sim::Time since, sim::Time until) { record.add(since, until, governor.power()); });
    }
  }

  // Notes the states of governors when the host knows that all operations have ended.
  sim::Task<> look_at_governors() {
    for (sim::Gate& known : known_) co_await known.wait();
    for (const int gpu : node_.all_simulated()) governors_.push_back(node_.gpu(gpu).governor_state());
  }

  // Commands queued beforehand are not timed: the clock of the timeline starts when all of them are in place.
  sim::Task<> prepare() {
    for (auto& [place, collective] : collectives_) co_await collective.prepare();
    for (auto& [place, fused] : fused_) co_await fused.prepare();
    origin_ = simulator_.now();
    meter_.attach(node_);
    if (attach_) attach_(node_, origin_);
    prepared_.open();
  }

  sim::Task<> play(std::size_t place) {
    const Operation& operation = schedule_[place];
    Span& span = timeline_.operations[place];
    co_await prepared_.wait();
    if (queued_[place]) {
      simulator_.spawn("the turn of " + operation.name, let_begin(place));
    } else {
      for (const std::size_t earlier : operation.after) {
        if (!polls_for(place, earlier)) co_await known_[earlier].wait();
      }
      if (operation.stored) co_await stored_.at(place).there.wait();
      if (operation.delay > sim::Time::zero()) co_await simulator_.delay(operation.delay);
      span.start = simulator_.now() - origin_;
    }
    co_await std::visit([this, place](const auto& work) { return carry_out(work, place); }, operation.work);
    span.end = simulator_.now() - origin_;
    ended_[place].open();
    known_[place].open();
    if (--left_ == 0) node_.end_work();
  }

  // Lets a queued operation begin: a kernel when its GPUs have finished earlier kernels and the host knows of the end
  // of other work, a copy when the word that its engine polls says that the earlier operations have ended.
  sim::Task<> let_begin(std::size_t place) {
    for (const std::size_t earlier : schedule_[place].after) {
      if (polls_for(place, earlier)) continue;
      co_await (is_kernel(schedule_[earlier].work) ? ended_ : known_)[earlier].wait();
    }
    if (schedule_[place].stored) co_await stored_.at(place).there.wait();
    timeline_.operations[place].start = simulator_.now() - origin_;
    ready_[place].open();
    turns_[place].write(1);
  }

  // Returns the word that the engine of a queued copy polls, or null if the order of its queue suffices.
  models::MemoryWord* turn(std::size_t place) {
    const auto is_before_it = [&](std::size_t earlier) {
      const models::SdmaCopySpec* const copy = copy_of(schedule_[earlier]);
      return copy != nullptr && on_one_queue(*copy, *copy_of(schedule_[place]));
    };
    const bool polls = queued_[place] && !std::ranges::all_of(schedule_[place].after, is_before_it);
    return polls ? &turns_[place] : nullptr;
  }

  // Returns the tag of all that the operation at `place` asks for.
  static std::uint32_t tag(std::size_t place) { return static_cast<std::uint32_t>(place); }
  models::Stream stream(std::size_t place) {
    const Operation& operation = schedule_[place];
    models::Stream stream{operation.mask, operation.priority, tag(place), !operation.after.empty()};
    stream.cached_operands = repeats_operands_ && (place > 0 || !is_shot(platform_));
    if (queued_[place]) stream.ready = &ready_[place];
    if (is_kernel(operation.work)) stream.ended = &ended_[place];
    stream.started = [this, place](const models::KernelStart& start) {
      Span& span = timeline_.operations[place];
      if (span.began) return;
      span.began = simulator_.now() - origin_;
      span.launched_late = start.launched_late;
    };
    for (const auto& [waits, range] : stored_) {
      if (schedule_[waits].stored->by != place) continue;
      stream.fence = std::max(stream.fence, range.trigger.fence);
      stream.progress = [this, place](const models::KernelProgress& progress) { note_stores(place, progress); };
    }
    return stream;
  }

  bool polls_for(std::size_t place, std::size_t earlier) const {
    const std::optional<StoredRange>& stored = schedule_[place].stored;
    return stored && stored->by == earlier;
  }
  // Adds the range that an operation waits for. It is complete when each GPU of the kernel has stored its own part.
  void add_range(std::size_t place) {
    const std::optional<StoredRange>& stored = schedule_[place].stored;
    if (!stored) return;
    const Operation& kernel = schedule_[stored->by];
    const auto gpus = kernel.gpus.empty() ? static_cast<std::size_t>(node_.simulated()) : kernel.gpus.size();
    stored_.try_emplace(place, simulator_,
                        fmt::format("{} to {} of what {} stores", sim::to_string(stored->begin),
                                    sim::to_string(stored->end), kernel.name),
                        gpus, models::policy_of(stored->trigger).on(platform_), stored_at_once(stored->by));
  }
  void note_stores(std::size_t kernel, const models::KernelProgress& progress) {
    const sim::Bytes all = stored_by(schedule_[kernel].work);
    const double done = static_cast<double>(progress.done) / progress.all;
    for (auto& [waits, range] : stored_) {
      const StoredRange& stored = *schedule_[waits].stored;
      if (stored.by != kernel || range.seen.contains(progress.gpu)) continue;
      const bool early = range.counted > 0.0 && done * range.counted * all >= stored.end;
      if (!early && progress.done < progress.all) continue;
      range.seen.insert(progress.gpu);
      simulator_.schedule(simulator_.now() + range.trigger.notice, [there = &range.there] { there->count_down(); });
    }
  }
  // Returns the number of tiles stored at once; for kernels other than GEMMs, one per CU.
  std::int64_t stored_at_once(std::size_t place) const {
    const Operation& kernel = schedule_[place];
    const models::GpuSpec& gpu = platform_.gpu;
    const int cus = gpu.memory.xcds * kernel.mask.cus(gpu.cus_per_xcd);
    const auto* const shape = std::get_if<models::GemmShape>(&kernel.work);
    return shape ? models::stored_at_once(models::plan_gemm(gpu, *shape, kernel.mask), gpu, cus) : cus;
  }

  sim::Task<> carry_out(const models::GemmShape& shape, std::size_t place) {
    return models::run_gemm(node_, shape, stream(place), schedule_[place].gpus);
  }
  sim::Task<> carry_out(const models::CollectiveSpec&, std::size_t place) { return collectives_.at(place).run(); }
  sim::Task<> carry_out(const models::FusedSpec&, std::size_t place) {
    models::FusedGemm& fused = fused_.at(place);
    co_await fused.run();
    timeline_.operations[place].exchange_start = fused.exchange_began() - origin_;
    timeline_.operations[place].gemm_end = fused.gemm_ended() - origin_;
  }
  sim::Task<> carry_out(const models::SdmaCopySpec& copy, std::size_t place) {
    if (copy.submit == models::Submission::kernel) {
      timeline_.operations[place].phases = co_await models::run_gather_kernel(node_, copy, stream(place));
      co_return;
    }
    if (copy.submit) {
      timeline_.operations[place].phases =
          co_await models::run_block_copies(node_.host(), node_.copy_engines(), node_.fabric(), copy, tag(place));
      co_return;
    }
    if (!copy.everywhere) {
      const models::SdmaCopyPhases phases = co_await run_copy(copy, place);
      if (!queued_[place]) timeline_.operations[place].phases = phases;
      co_return;
    }
    const std::vector<models::SdmaCopySpec> copies = copies_of(copy);
    sim::Latch done(simulator_, "copies of all GPUs", copies.size());
    for (const models::SdmaCopySpec& own : copies) {
      simulator_.spawn("copy of " + models::device_name(own.from), copy_one(own, place, done));
    }
    co_await done.wait();
  }
  // Returns the copies of all GPUs that `copy` stands for.
  std::vector<models::SdmaCopySpec> copies_of(const models::SdmaCopySpec& copy) const {
    if (!copy.everywhere) return {copy};
    std::vector<models::SdmaCopySpec> copies;
    for (int gpu = 0; gpu < node_.simulated(); ++gpu) {
      models::SdmaCopySpec& own = copies.emplace_back(copy);
      own.from = (copy.from + gpu) % node_.gpus();
      own.to = (copy.to + gpu) % node_.gpus();
      own.everywhere = false;
    }
    return copies;
  }
  sim::Task<models::SdmaCopyPhases> run_copy(const models::SdmaCopySpec& copy, std::size_t place) {
    const bool told = schedule_[place].stored && stored_.at(place).trigger.told;
    const models::QueueUser user{tag(place), queued_[place]};
    return models::run_sdma_copy(node_.host(), node_.copy_engines(), copy, user, turn(place), told);
  }
  sim::Task<> copy_one(models::SdmaCopySpec copy, std::size_t place, sim::Latch& done) {
    co_await run_copy(copy, place);
    done.count_down();
  }
  sim::Task<> carry_out(const models::SdmaPacketList& list, std::size_t place) {
    return models::run_packet_list(node_.host(), node_.copy_engines(), list, words_, tag(place));
  }
  sim::Task<> carry_out(const models::ElementwiseSpec& spec, std::size_t place) {
    return models::run_elementwise(node_, spec, stream(place), schedule_[place].gpus);
  }
  sim::Task<> carry_out(const models::AttentionShape& shape, std::size_t place) {
    return models::run_attention(node_, shape, stream(place), schedule_[place].gpus);
  }
  sim::Task<> carry_out(const DelaySpec& delay, std::size_t) { co_await simulator_.delay(delay.time); }
  sim::Task<> carry_out(const HostWorkSpec& work, std::size_t place) {
    const std::vector<int> gpus = schedule_[place].gpus.empty() ? node_.all_simulated() : schedule_[place].gpus;
    sim::Latch done(simulator_, "work of the host", gpus.size());
    for (const int gpu : gpus) simulator_.spawn("host work", keep_busy(gpu, work.time, done));
    co_await done.wait();
  }
  sim::Task<> keep_busy(int gpu, sim::Time time, sim::Latch& done) {
    co_await node_.host().launcher_of(gpu).work(time, {"host work", {}});
    done.count_down();
  }
  sim::Task<> carry_out(const models::RemoteKernelSpec& spec, std::size_t place) {
    return models::run_remote_kernel(node_, spec, stream(place));
  }

  const models::PlatformSpec& platform_;
  models::HostSpec host_;  // as the schedule has it
  const Schedule& schedule_;
  std::vector<bool> queued_;  // by place
  bool repeats_operands_;
  Attach attach_;
  sim::Simulator simulator_;
  models::Node node_;
  models::NamedWords words_;                                  // words of hand-written packets
  std::map<std::size_t, models::CollectiveRun> collectives_;  // by place
  std::map<std::size_t, models::FusedGemm> fused_;            // by place
  sim::Gate prepared_;
  std::size_t left_ = schedule_.size();  // operations that have not ended
  // ready_ opens when the operation may begin, ended_ when its GPUs are done, known_ when the host knows of its end.
  std::deque<sim::Gate> ready_, ended_, known_;
  std::deque<models::MemoryWord> turns_;  // by place: the word that the engine of a queued copy polls
  struct RangeOfStores {
    RangeOfStores(sim::Simulator& simulator, std::string name, std::size_t gpus, models::Trigger by,
                  std::int64_t at_once)
        : there(simulator, std::move(name), gpus), trigger(by), counted(by.counted(at_once)) {}
    sim::Latch there;
    models::Trigger trigger;
    double counted;        // fraction of the stores that count while the kernel runs
    std::set<int> seen{};  // GPUs on which the range is complete
  };
  std::map<std::size_t, RangeOfStores> stored_;  // by the place of the waiting operation
  sim::Time origin_{0};
  PowerMeter meter_;
  std::vector<models::GovernorState> governors_;
  std::deque<models::PowerRecord> records_;  // of simulated GPUs, if their governors hold a mean under the cap
  Timeline timeline_;
};

}  // namespace

std::optional<OtherThreads> other_threads(const Schedule& schedule) {
  const auto words = [](models::HostThreads threads) {
    return threads == models::HostThreads::one ? "one thread of the host" : "a thread for each GPU";
  };
  const Operation* first = nullptr;
  for (std::size_t place = 0; place < schedule.size(); ++place) {
    const auto threads = threads_of(schedule[place]);
    if (!threads) continue;
    if (first == nullptr) first = &schedule[place];
    if (*threads == *threads_of(*first)) continue;
    return OtherThreads{place,
                        fmt::format("{} is submitted by {}, but {} by {}: all operations of a run have the same "
                                    "threads",
                                    schedule[place].name, words(*threads), first->name, words(*threads_of(*first)))};
  }
  return {};
}

bool is_shot(const models::PlatformSpec& platform) { return platform.host.protocol == models::Protocol::shot; }

bool clock_settles(const models::PlatformSpec& platform) {
  return governed_by(platform, models::GovernorPolicy::clock_steps) && !is_shot(platform);
}

bool rounds_differ(const models::PlatformSpec& platform) {
  return governed_by(platform, models::GovernorPolicy::power_limit) &&
         platform.host.protocol == models::Protocol::rounds;
}

Played play_once(const models::PlatformSpec& platform, const Schedule& schedule, const Brought& brought, Attach attach,
                 sim::StepLog* steps) {
  return Play(platform, schedule, std::move(attach), steps, brought).run();
}

}  // namespace c3sim::study
