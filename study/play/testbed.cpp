#include "study/play/testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <tuple>
#include <utility>

#include "models/collectives/collective.h"
#include "models/kernels/gemm.h"
#include "sim/overloaded.h"
#include "study/config_folders.h"
#include "study/play/work_bounds.h"

namespace c3sim::study {

namespace {

// These are the moments of a span between its start and its end.
constexpr std::array moments_within{&Span::began, &Span::exchange_start, &Span::gemm_end};

constexpr std::int64_t rounds_counted = 6;

// Removes effects that `without` switches off and costs of the host that its protocol does not time.
models::PlatformSpec as_it_remembers(models::PlatformSpec platform) {
  platform.host = platform.host.as_timed();
  models::PowerSpec& power = platform.gpu.power;
  if (platform.without.has(models::Mechanism::awake)) power.links_awake_for = sim::Time::zero();
  if (platform.without.has(models::Mechanism::undershoot) && rounds_differ(platform)) {
    power.governor = models::GovernorPolicy::at_once;
    power.burst_limit = power.cap;
  }
  return platform;
}

std::string why_no_format(const models::GemmShape& shape, const models::GpuSpec& gpu) {
  if (gpu.gemm.precision(shape.dtype)) return {};
  std::string known;
  for (const models::Dtype dtype : models::all_dtypes) {
    if (gpu.gemm.precision(dtype)) known.append(known.empty() ? "" : ", ").append(models::to_string(dtype));
  }
  return fmt::format("the platform has no matrix rate of {} (gpu.gemm.precisions): {} are accepted",
                     models::to_string(shape.dtype), known);
}

// Copy engines driven by the host do not follow the kernels of a stream by themselves.
std::string why_not_timed(const Work& work, const models::HostSpec& host) {
  const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
  const auto* const copy = std::get_if<models::SdmaCopySpec>(&work);
  const bool by_host = (collective != nullptr && !models::by_kernels(collective->backend)) ||
                       (copy != nullptr && !copy->submit) || std::holds_alternative<models::SdmaPacketList>(work);
  if (by_host && models::hides_launches(host.protocol)) {
    return fmt::format(
        "the host drives its copy engines step by step, which no {} hides: the protocols steady, shot and rounds are "
        "accepted",
        models::to_string(host.protocol));
  }
  const bool by_engines = by_host || (copy != nullptr && copy->submit != models::Submission::kernel);
  if (by_engines && host.kernel_time) return "copy engines run no kernel, whose time alone --kernel-time tells";
  const bool one_graph = collective != nullptr && collective->graph && host.protocol == models::Protocol::stream;
  if (one_graph)
    return "a collective that is launched from a graph of its own is in no stream: --protocol graph is accepted";
  return {};
}

}  // namespace

Testbed::Testbed(models::PlatformSpec platform, Factor factor)
    : platform_(as_it_remembers(std::move(platform))),
      factor_(std::move(factor)),
      idle_node_(idle_simulator_, platform_, models::Symmetry::all_alike) {}

Timeline Testbed::play(const Schedule& schedule, Between between) const {
  if (clock_settles(platform_)) return play_settled(schedule, between);
  if (rounds_differ(platform_)) return play_rounds(schedule, between);
  return play_once(platform_, schedule, {.between = between}).timeline;
}

// Plays rounds until governors have forgotten the first, then counts several rounds, which meet the governors' steps at
// different points, and returns their mean.
Timeline Testbed::play_rounds(const Schedule& schedule, Between between) const {
  constexpr double settled = 16.0;  // time constants of the governor's filter after which it has forgotten
  const models::PowerSpec& power = platform_.gpu.power;
  Brought brought{.between = between};
  const models::GovernorState first = power.governor == models::GovernorPolicy::power_limit
                                          ? models::GovernorState(models::PowerLimitLoop::at_cap())
                                          : models::ClockLoop::at_rest(power);
  brought.governors.assign(static_cast<std::size_t>(platform_.gpus), first);
  Timeline mean;
  sim::Time passed{0};
  std::int64_t counted = 0;
  for (std::int64_t rounds = 1; counted < rounds_counted; ++rounds) {
    const auto [timeline, as_repeated, governors] = play_once(platform_, schedule, brought);
    const bool counts =
        rounds > 1 && (sim::to_seconds(passed) > settled * sim::to_seconds(power.window) || rounds > 24);
    passed += timeline.makespan();
    brought.governors = governors;
    if (!counts) continue;
    if (counted++ == 0) {
      mean = timeline;
      continue;
    }
    mean.unsettled += timeline.unsettled;
    mean.governors = timeline.governors;
    mean.means.clock += timeline.means.clock;
    mean.means.clock_at_work += timeline.means.clock_at_work;
    mean.means.power += timeline.means.power;
    for (std::size_t place = 0; place < schedule.size(); ++place) {
      Span& sum = mean.operations[place];
      const Span& span = timeline.operations[place];
      sum.start += span.start;
      sum.end += span.end;
      for (const auto within : moments_within) {
        if (sum.*within) *(sum.*within) += *(span.*within);
      }
    }
  }
  const double each = 1.0 / static_cast<double>(counted);
  mean.means = {each * mean.means.clock, each * mean.means.clock_at_work, each * mean.means.power};
  for (Span& span : mean.operations) {
    span.start /= counted;
    span.end /= counted;
    for (const auto within : moments_within) {
      if (span.*within) *(span.*within) /= counted;
    }
  }
  return mean;
}

Timeline Testbed::play_settled(const Schedule& schedule, Between between) const {
  Timeline timeline;
  sim::Watts peak;
  const models::PowerSpec& power = platform_.gpu.power;
  const ClockSearch search = settle_clock(power, [&](sim::Hertz ceiling) {
    Played played = play_once(platform_, schedule, {.between = between, .ceiling = ceiling});
    timeline = std::move(played.timeline);
    peak = played.as_repeated.peak;
    return played.as_repeated;
  });
  const bool steps_within = timeline.ceiling == power.highest_clock && peak > (1.0 + power.dead_band) * power.cap;
  if (steps_within) return play_rounds(schedule, between);
  timeline.clock_search = search;
  return timeline;
}

void Testbed::settle(const std::function<SteadyRun(sim::Hertz ceiling)>& run) {
  count(settle_clock(platform_.gpu.power, run));
}

const Timeline& Testbed::run(const Schedule& schedule, Between between) {
  if (const Timeline* const known = runs_.find(schedule, between)) return *known;
  Timeline timeline = with_factors(schedule, play(schedule, between));
  count(timeline);
  return runs_.keep(schedule, between, std::move(timeline));
}

void Testbed::count(const Timeline& timeline) {
  unsettled_ += timeline.unsettled;
  count(timeline.clock_search);
}

void Testbed::learn_from(const Testbed& other) {
  for (const auto& [what, timeline] : other.runs_.runs()) {
    const auto& [between, schedule] = what;
    if (runs_.find(schedule, between) != nullptr) continue;
    count(timeline);
    runs_.keep(schedule, between, timeline);
  }
}

void Testbed::count(ClockSearch search) {
  if (search != ClockSearch::settled) bad_searches_.insert(search);
}

std::string_view Testbed::protocol_of(const models::CollectiveSpec& collective) {
  return models::channel_program(idle_node_, collective, {}).protocol;
}

std::vector<std::string> Testbed::warnings() const {
  std::vector<std::string> warnings;
  if (unsettled_ > 0) {
    warnings.push_back(
        fmt::format("latencies under load, or clock and power, did not settle (instants: {}): rates there are the last "
                    "of a search that was given up",
                    unsettled_));
  }
  if (const std::size_t runs = bad_searches_.count(ClockSearch::given_up); runs > 0) {
    warnings.push_back(
        fmt::format("the clock of runs back to back did not settle where mean power meets the cap (runs: {}): their "
                    "times are at the last clock of a search that was given up",
                    runs));
  }
  if (const std::size_t runs = bad_searches_.count(ClockSearch::above_cap); runs > 0) {
    const models::PowerSpec& power = platform_.gpu.power;
    warnings.push_back(fmt::format(
        "mean power is above the cap of {:.0f} W even at the lowest clock of {:.0f} MHz (runs back to back: {}): their "
        "times are at that clock",
        power.cap.value(), power.lowest_clock.value() / 1e6, runs));
  }
  return warnings;
}

Timeline Testbed::watch(const Schedule& schedule, const Attach& attach, sim::StepLog* steps, Between between) const {
  Brought brought{.between = between};
  if (clock_settles(platform_) || rounds_differ(platform_)) {
    const Timeline* const known = runs_.find(schedule, between);
    const Timeline timeline = known != nullptr ? *known : play(schedule, between);
    brought.ceiling = timeline.ceiling;
    brought.governors = timeline.governors;
  }
  return play_once(platform_, schedule, brought, attach, steps).timeline;
}

Timeline Testbed::with_factors(const Schedule& schedule, Timeline timeline) const {
  if (!factor_) return timeline;
  const std::vector<Span> simulated = timeline.operations;
  const auto latest_end = [](const std::vector<Span>& spans, const std::vector<std::size_t>& places) {
    sim::Time latest{0};
    for (const std::size_t place : places) latest = std::max(latest, spans[place].end);
    return latest;
  };
  for (std::size_t place = 0; place < schedule.size(); ++place) {
    const double factor = factor_(schedule[place].work, company_of(schedule, simulated, place));
    const auto multiplied = [factor](sim::Time time) { return sim::to_time(factor * sim::to_seconds(time)); };
    const std::vector<std::size_t>& after = schedule[place].after;
    const Span& as_simulated = simulated[place];
    Span& span = timeline.operations[place];
    span.start += latest_end(timeline.operations, after) - latest_end(simulated, after);
    span.end = span.start + multiplied(as_simulated.end - as_simulated.start);
    for (const auto within : moments_within) {
      if (span.*within) span.*within = span.start + multiplied(*(as_simulated.*within) - as_simulated.start);
    }
    if (!span.phases) continue;
    models::SdmaCopyPhases& phases = *span.phases;
    for (sim::Time* const phase : {&phases.control, &phases.schedule, &phases.copy, &phases.completion}) {
      *phase = multiplied(*phase);
    }
  }
  return timeline;
}

Testbed& Testbed::from_rest() {
  if (is_shot(platform_)) return *this;
  if (!from_rest_) {
    models::PlatformSpec platform = platform_;
    platform.host.protocol = models::Protocol::shot;
    from_rest_ = std::make_unique<Testbed>(std::move(platform), factor_);
  }
  return *from_rest_;
}

Testbed& Testbed::metered() {
  if (platform_.gpu.memory.metered) return *this;
  if (!metered_) {
    models::PlatformSpec platform = platform_;
    platform.gpu.memory.metered = true;
    metered_ = std::make_unique<Testbed>(std::move(platform), factor_);
  }
  return *metered_;
}

Testbed& Testbed::as_simulated() {
  if (!factor_) return *this;
  if (!as_simulated_) as_simulated_ = std::make_unique<Testbed>(platform_);
  return *as_simulated_;
}

sim::Time Testbed::alone(const Work& work, models::CuMask mask, std::vector<int> gpus, Between between) {
  Operation operation = operation_of(work, mask);
  operation.gpus = std::move(gpus);
  return run({std::move(operation)}, between).makespan();
}

bool Testbed::is_memory_bound(const models::GemmShape& shape) {
  return models::is_memory_bound(models::plan_gemm(platform_.gpu, shape), idle_node_.gpu(0));
}

const LayerTemplates& Testbed::templates() const {
  if (!templates_) templates_.emplace(config_folders());
  return *templates_;
}

std::string Testbed::why_impossible(const Work& work) const {
  const models::GpuSpec& gpu = platform_.gpu;
  const int gpus = idle_node_.gpus();
  const auto why_no_kind = [&](const auto& kind) {
    return std::visit(
        sim::Overloaded{
            [&](const models::GemmShape& shape) { return why_no_format(shape, gpu); },
            [&](const models::CollectiveSpec& spec) { return models::why_impossible(spec, idle_node_); },
            [&](const models::FusedSpec& spec) {
              const std::string of_gemm = why_no_format(spec.gemm, gpu);
              return of_gemm.empty() ? models::why_impossible(spec, platform_) : of_gemm;
            },
            [&](const models::SdmaCopySpec& copy) { return models::why_impossible(copy, gpu.sdma, gpus); },
            [&](const models::SdmaPacketList& list) { return models::why_impossible(list, gpu.sdma, gpus); },
            [&](const models::RemoteKernelSpec& spec) { return models::why_impossible(spec, gpus, gpu); },
            [](const DelaySpec&) { return std::string(); }, [](const HostWorkSpec&) { return std::string(); },
            [&](const auto& kernel) { return models::why_impossible(kernel, gpu); }},
        kind);
  };
  if (std::string reason = why_not_timed(work, platform_.host); !reason.empty()) return reason;
  // Counts of work that exceeds memory might overflow an integer, so that memory is checked first.
  if (std::string reason = why_no_room(work, platform_); !reason.empty()) return reason;
  std::string reason = why_no_kind(work);
  return reason.empty() ? why_too_many_waves(work, platform_) : reason;
}

bool RunCache::PlaysBefore::before(const Operation& one, const Operation& other) {
  const auto all = [](const Operation& operation) {
    return std::tie(operation.work, operation.gpus, operation.mask, operation.priority, operation.after,
                    operation.stored, operation.delay, operation.launch);
  };
  return all(one) < all(other);
}

const Timeline* RunCache::find(const Schedule& schedule, Between between) const {
  const auto known = runs_.find(std::pair<Between, const Schedule&>(between, schedule));
  return known == runs_.end() ? nullptr : &known->second;
}

const Timeline& RunCache::keep(const Schedule& schedule, Between between, Timeline timeline) {
  const auto [kept, is_new] = runs_.try_emplace({between, schedule}, std::move(timeline));
  if (!is_new) return kept->second;
  by_age_.push_back(kept);
  operations_ += schedule.size();
  while (operations_ > most_operations_ && runs_.size() > at_least_) {
    operations_ -= by_age_.front()->first.second.size();
    runs_.erase(by_age_.front());
    by_age_.pop_front();
  }
  return kept->second;
}

Company company_of(const Schedule& schedule, const std::vector<Span>& spans, std::size_t place) {
  Company company;
  const Span& own = spans[place];
  if (own.end <= own.start) return company;
  for (std::size_t other = 0; other < schedule.size(); ++other) {
    const Doer doer = doer_of(schedule[other].work);
    const sim::Time together = std::min(own.end, spans[other].end) - std::max(own.start, spans[other].start);
    if (other == place || doer == Doer::host || together <= sim::Time::zero()) continue;
    double& seat = doer == Doer::channels  ? company.channels
                   : doer == Doer::engines ? company.engines
                                           : company.kernels;
    seat = std::min(1.0, seat + sim::to_seconds(together) / sim::to_seconds(own.end - own.start));
  }
  return company;
}

void for_each_on_testbeds(Testbed& first, std::size_t count,
                          const std::function<void(Testbed& testbed, std::size_t index)>& work,
                          const Progress& progress, int jobs) {
  std::mutex mutex;
  std::vector<Testbed*> idle{&first};
  std::vector<std::unique_ptr<Testbed>> others;
  const auto take = [&]() -> Testbed& {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return *others.emplace_back(std::make_unique<Testbed>(first.platform(), first.factor()));
    Testbed& testbed = *idle.back();
    idle.pop_back();
    return testbed;
  };
  const auto ask = [&](std::size_t index) {
    Testbed& testbed = take();
    work(testbed, index);
    const std::lock_guard lock(mutex);  // not reached after an exception: that testbed is not used again
    idle.push_back(&testbed);
  };
  for_each_index(count, ask, progress, jobs);
  for (const std::unique_ptr<Testbed>& other : others) first.learn_from(*other);
}

}  // namespace c3sim::study
