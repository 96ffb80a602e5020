#include "study/ask/trial.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "models/kernels/gemm.h"
#include "sim/loaded_latency.h"
#include "sim/overloaded.h"
#include "study/config_folders.h"
#include "study/play/power_meter.h"
#include "study/play/work_bounds.h"
#include "study/program/layer_templates.h"
#include "study/program/scenario.h"
#include "study/serve/serve.h"
#include "study/step/step.h"
#include "study/step/step_graph.h"
#include "study/step/step_totals.h"

namespace c3sim::study {

using sim::operator""_us;

namespace {

models::ElementwiseSpec kernel_of(const StreamTrial& trial) {
  constexpr sim::Bytes element(8.0);
  const double arrays = trial.arrays_read + trial.arrays_written;
  return {.read = trial.bytes * (trial.arrays_read / arrays),
          .written = trial.bytes * (trial.arrays_written / arrays),
          .flops = sim::Flops(trial.flops_per_byte * trial.bytes.value()),
          .workgroups = trial.workgroups.value_or(0),
          .under_way = trial.under_way,
          .threads = trial.threads.value_or(0),
          .access = trial.threads ? arrays * element : sim::Bytes(0.0),
          .set = trial.set};
}

sim::Seconds time_of_kernel(const Span& span, const models::PlatformSpec& platform) {
  return sim::to_seconds(span.end - span.start - platform.host.around_kernel());
}

// Scales the kernel so that it takes this time alone.
models::ElementwiseSpec lasting(models::ElementwiseSpec kernel, sim::Seconds time, Testbed& testbed) {
  const sim::Time alone = testbed.alone(kernel) - testbed.platform().host.around_kernel();
  const double longer = time / sim::to_seconds(alone);
  kernel.read = longer * kernel.read;
  kernel.written = longer * kernel.written;
  kernel.flops = longer * kernel.flops;
  kernel.elements *= longer;
  return kernel;
}

// The other work is launched this much later than the hog, whose workgroups are all placed by then.
constexpr sim::Time behind_hog = 50_us;

// Returns a hog of arbitrary length.
models::ElementwiseSpec hog_of(const HogTrial& trial) {
  constexpr sim::Bytes probe{1e8};
  if (trial.hog == Hog::stream) {
    StreamTrial arrays = trial.arrays;
    arrays.bytes = probe;
    return kernel_of(arrays);
  }
  constexpr double operations_of_byte = 1e5;  // enough to make its bytes negligible
  constexpr sim::Bytes next_to_nothing{1e5};
  return {next_to_nothing,
          {},
          sim::Flops(operations_of_byte * next_to_nothing.value()),
          trial.arrays.workgroups.value_or(0)};
}

// Returns the hog, and the other work a moment behind it.
Schedule schedule_beside(const models::ElementwiseSpec& hog, const HogTrial& trial,
                         const models::PlatformSpec& platform) {
  Schedule schedule{operation_of(hog), operation_of(trial.beside)};
  if (auto* const collective = std::get_if<models::CollectiveSpec>(&schedule[1].work))
    *collective = on_gpus_of(platform, *collective);
  schedule[1].delay = behind_hog;
  return schedule;
}

// Adds back-to-back copies, and returns the place of the first.
std::size_t add_copies(Schedule& schedule, int from, int to, sim::Bytes bytes, int count) {
  const std::size_t first = schedule.size();
  const models::SdmaCopySpec copy{.from = from, .to = to, .bytes = bytes, .host_threads = models::HostThreads::per_gpu};
  for (int i = 0; i < count; ++i) {
    Operation& next = schedule.emplace_back(operation_of(copy));
    if (i > 0) next.after = {schedule.size() - 2};
  }
  return first;
}

// Returns the rate from the first to the last end of a copy within [begin, end].
sim::BytesPerSecond rate_within(std::span<const Span> copies, sim::Bytes each, sim::Time begin, sim::Time end) {
  const auto first = std::ranges::find_if(copies, [&](const Span& copy) { return copy.end >= begin; });
  const auto last = std::find_if(first, copies.end(), [&](const Span& copy) { return copy.end > end; });
  const auto passed = last - first - 1;
  if (passed < 1) return {};
  return static_cast<double>(passed) * each / sim::to_seconds(std::prev(last)->end - first->end);
}

Schedule schedule_of_kernels(const RemoteTrial& trial, const models::PlatformSpec& platform) {
  Schedule schedule;
  const auto add = [&](int gpu, std::vector<int> peers) {
    const int workgroups = trial.cus.value_or(platform.gpu.cus());
    schedule.push_back(
        operation_of(models::RemoteKernelSpec{gpu, std::move(peers), trial.access, trial.bytes, workgroups}));
  };
  if (trial.pattern == RemoteTrial::Pattern::all) {
    for (int gpu = 0; gpu < platform.gpus; ++gpu) {
      std::vector<int> peers(static_cast<std::size_t>(platform.gpus));
      std::iota(peers.begin(), peers.end(), 0);
      std::erase(peers, gpu);
      add(gpu, std::move(peers));
    }
  } else {
    add(trial.gpu, {trial.peer});
    if (trial.pattern == RemoteTrial::Pattern::both_ways) add(trial.peer, {trial.gpu});
  }
  return schedule;
}

Schedule schedule_of_fused(const FusedTrial& trial, const models::PlatformSpec& platform) {
  Schedule schedule{operation_of(trial.spec)};
  if (!trial.gathered) return schedule;
  models::CollectiveSpec gather = models::collective_of(trial.spec, platform.gpus);
  gather.kind = models::CollectiveKind::all_gather;
  gather.backend = models::Backend::sdma;
  schedule.push_back(operation_of(gather));
  schedule.back().after = {0};
  return schedule;
}

// Returns what the testbed plays; empty for trials that are no schedule.
Schedule schedule_of(const Trial& trial, const Testbed& testbed) {
  const models::PlatformSpec& platform = testbed.platform();
  return std::visit(
      sim::Overloaded{
          // An empty kernel has workgroups with nothing to do.
          [](const EmptyKernelTrial&) { return Schedule{operation_of(models::ElementwiseSpec{})}; },
          [&](const GemmTrial& gemm) { return schedule_of_gemm(gemm, testbed); },
          [](const models::AttentionShape& shape) { return Schedule{operation_of(shape)}; },
          [&](const CollectiveTrial& collective) {
            return Schedule{operation_of(on_gpus_of(platform, collective.spec))};
          },
          [](const CopyTrial& copy) { return Schedule{operation_of(copies_of(copy))}; },
          [](const FanOutTrial& fan_out) {
            Schedule copies;
            for (int peer = 1; peer <= fan_out.peers; ++peer)
              copies.push_back(operation_of(models::SdmaCopySpec{.from = 0, .to = peer, .bytes = fan_out.bytes}));
            return copies;
          },
          [](const StreamTrial& stream) { return Schedule{operation_of(kernel_of(stream))}; },
          [&](const StreamAndCollectiveTrial& both) {
            return Schedule{operation_of(kernel_of(both.stream)), operation_of(on_gpus_of(platform, both.collective))};
          },
          [&](const HogTrial& hog) { return schedule_beside(hog_of(hog), hog, platform); },
          [&](const RemoteTrial& remote) { return schedule_of_kernels(remote, platform); },
          [&](const DependentTrial& dependent) { return operations_of(dependent.schedule, dependent.shape, platform); },
          [&](const FusedTrial& fused) { return schedule_of_fused(fused, platform); },
          [](const auto&) { return Schedule{}; }},
      trial);
}

void add_means(Figures& figures, sim::Watts power, sim::Hertz clock) {
  figures[Figure::power] = power.value();
  figures[Figure::clock] = clock.value();
}

Figures of_fused(Testbed& testbed, const FusedTrial& trial) {
  const Timeline& timeline = testbed.run(schedule_of(trial, testbed));
  const Span& fused = timeline.operations.front();
  return {{Figure::time, sim::to_seconds(timeline.makespan()).value()},
          {Figure::gemm_time, sim::to_seconds(*fused.gemm_end - fused.start).value()},
          {Figure::collective_time, sim::to_seconds(fused.end - *fused.gemm_end).value()}};
}

Figures of_rest(const models::PlatformSpec& platform) {
  sim::Simulator simulator;
  models::Node node(simulator, platform, models::Symmetry::all_alike);
  PowerMeter meter;
  meter.attach(node);
  Figures figures;
  add_means(figures, meter.mean_power(sim::Seconds(0.0)), meter.mean_clock(sim::Seconds(0.0)));
  return figures;
}

// Without a stream, runs one thread of one workgroup that loads one random line after another. A stream is no
// operation: with one, the latency follows from the formula of latency under load that the network uses
// (sim/loaded_latency.h), which this tests. Returns no figure for a level without a latency of its own in the model,
// nor for a working set within the L2 while a stream runs.
Figures of_loads(Testbed& testbed, const LoadTrial& trial) {
  const models::MemorySpec& memory = testbed.platform().gpu.memory;
  if (trial.beside <= sim::BytesPerSecond(0.0)) {
    constexpr double loads = 10'000.0;
    constexpr sim::Bytes line(128.0);
    const models::ElementwiseSpec chase{.read = loads * line,
                                        .written = {},
                                        .flops = {},
                                        .workgroups = 1,
                                        .threads = 1,
                                        .access = line,
                                        .set = trial.working_set,
                                        .chases = true};
    if (trial.working_set <= memory.l2_capacity && memory.l2_latency <= sim::Time(0)) return {};
    const models::PlatformSpec& platform = testbed.platform();
    const sim::Time around = platform.host.around_kernel() + platform.gpu.dispatch.workgroup_launch;
    return {{Figure::latency, sim::to_seconds(testbed.alone(chase) - around).value() / loads}};
  }
  if (trial.working_set <= memory.l2_capacity) return {};
  const double hits = std::min(1.0, memory.cache_capacity / trial.working_set);
  const double bus = memory.bus_bytes(trial.beside_reads, 1.0 - trial.beside_reads);
  const sim::LoadedLatency hbm{memory.hbm_latency, memory.queueing_factor};
  const sim::Seconds beyond_cache = hbm.at(trial.beside * bus / memory.hbm_rate);
  return {{Figure::latency, (sim::to_seconds(memory.cache_latency) + (1.0 - hits) * beyond_cache).value()}};
}

sim::Seconds around_kernel(const models::PlatformSpec& platform) {
  return sim::to_seconds(platform.host.around_kernel());
}

bool asks_for_any(const std::set<Figure>& asked, std::initializer_list<Figure> of) {
  return std::ranges::any_of(of, [&asked](Figure figure) { return asked.contains(figure); });
}

bool needs_meter(const std::set<Figure>& asked) {
  return asks_for_any(asked, {Figure::power, Figure::clock, Figure::efficiency});
}

// Runs both operations one after the other, in the order in which the trial launches them. The library's kernels stand
// in for a collective by engines, since the GEMM's time in turn is its time after these kernels.
void add_in_turn(Figures& figures, Testbed& testbed, const C3Trial& trial) {
  const bool gemm_first = trial.strategy == Strategy::c3_base || trial.strategy == Strategy::c3_rp;
  const C3Result in_turn =
      run_in_turn(testbed, trial.scenario, gemm_first ? LaunchOrder::gemm_first : LaunchOrder::collective_first);
  const double gemm = sim::to_seconds(in_turn.gemm - in_turn.gemm_start).value();
  const double collective = sim::to_seconds(in_turn.collective - in_turn.collective_start).value();
  figures[Figure::over_longer_in_turn] = figures[Figure::time] / std::max(gemm, collective);
  figures[Figure::gemm_stretch_in_turn] = figures[Figure::gemm_time] / gemm;
  figures[Figure::collective_stretch_in_turn] = figures[Figure::collective_time] / collective;
}

// kernel_time is that of the GEMM.
Figures of_c3(Testbed& testbed, const C3Trial& trial, const std::set<Figure>& asked) {
  const C3Result result = run_strategy(testbed, trial.scenario, trial.strategy);
  const sim::Seconds time = sim::to_seconds(result.makespan);
  const sim::Seconds gemm = sim::to_seconds(result.gemm - result.gemm_start);
  const sim::Seconds collective = sim::to_seconds(result.collective - result.collective_start);
  const sim::Seconds longer = sim::to_seconds(std::max(result.isolated_gemm, result.collective_alone));
  Figures figures{{Figure::time, time.value()},
                  {Figure::gemm_time, gemm.value()},
                  {Figure::kernel_time, (gemm - around_kernel(testbed.platform())).value()},
                  {Figure::collective_time, collective.value()},
                  {Figure::over_longer, time / longer},
                  {Figure::gemm_stretch, gemm / sim::to_seconds(result.isolated_gemm)},
                  {Figure::collective_stretch, collective / sim::to_seconds(result.collective_alone)}};
  if (asks_for_any(asked,
                   {Figure::over_longer_in_turn, Figure::gemm_stretch_in_turn, Figure::collective_stretch_in_turn}))
    add_in_turn(figures, testbed, trial);
  if (!needs_meter(asked)) return figures;
  const Means means = run_strategy(testbed.as_simulated(), trial.scenario, trial.strategy).means;
  add_means(figures, means.power, means.clock);
  return figures;
}

void add_gemm(Figures& figures, const GemmTrial& trial, const models::PlatformSpec& platform, sim::Seconds time) {
  figures[Figure::flop_rate] = (trial.shape.flops() / time).value();
  figures[Figure::kernel_time] = (time - around_kernel(platform)).value();
}

// Plays the run once more with its memory metered. What the GEMM asks of the L2s follows from its plan; the meter
// counts what passes on from there, and what the Infinity Cache serves of that. Adds nothing for a GEMM that follows
// other operations, since counters would cover all of them.
void add_traffic(Figures& figures, Testbed& testbed, const GemmTrial& trial) {
  const Schedule schedule = schedule_of_gemm(trial, testbed);
  if (schedule.size() > 1) return;
  const models::PlatformSpec& platform = testbed.platform();
  const models::MovedBytes moved = testbed.metered().run(schedule, between_of(trial)).moved.value();
  const models::GpuSpec& gpu = platform.gpu;
  const models::GemmPlan plan =
      models::plan_gemm(gpu, trial.shape, trial.cus ? first_cus(platform, *trial.cus) : models::CuMask{});
  const auto slots = [&](int cus) { return gpu.slots(cus, plan.kernel.workgroup); };
  const models::GemmTrafficModel model(plan, gpu.memory, slots(gpu.cus_per_xcd), slots(1));
  const double asked_of_l2 = static_cast<double>(plan.pieces()) * plan.piece_flops() * model.undisturbed().l2;
  const double of_hbm = moved.hbm_reads + moved.hbm_writes;
  const double missed = gpu.memory.has_cache() ? moved.cache : of_hbm;
  figures[Figure::l2_miss_bytes] = missed;
  figures[Figure::l2_hit_bytes] = asked_of_l2 - missed;
  figures[Figure::cache_hit_share] = missed > 0.0 ? 1.0 - of_hbm / missed : 0.0;
}

// Returns the share of the matrix peak that the kernel itself reaches at the clock that it had.
double efficiency(const GemmTrial& trial, const models::PlatformSpec& platform, sim::Hertz clock, sim::Seconds time) {
  const double rate = platform.gpu.gemm.precision(trial.shape.dtype).value().flops_per_cycle_per_cu;
  const double peak = rate * trial.cus.value_or(platform.gpu.cus()) * clock.value();
  return (trial.shape.flops() / (time - around_kernel(platform))).value() / peak;
}

void add_phases(Figures& figures, const models::SdmaCopySpec& copy, const models::SdmaCopyPhases& phases) {
  const auto share = [&](sim::Time phase) { return sim::to_seconds(phase) / sim::to_seconds(phases.total()); };
  figures[Figure::control_share] = share(phases.control);
  figures[Figure::schedule_share] = share(phases.schedule);
  figures[Figure::copy_share] = share(phases.copy);
  figures[Figure::completion_share] = share(phases.completion);
  // Benchmarks call this the rate of an engine: bytes over the time in which it moves them.
  figures[Figure::rate] = (copy.all_bytes() / sim::to_seconds(phases.copy)).value();
}

void add_collective(Figures& figures, Testbed& testbed, const CollectiveTrial& trial, const std::set<Figure>& asked,
                    sim::Time time) {
  const models::CollectiveSpec spec = on_gpus_of(testbed.platform(), trial.spec);
  figures[Figure::bus_bandwidth] = models::bus_bandwidth(spec, time).value();
  if (!asked.contains(Figure::over_parallel_copies)) return;
  models::CollectiveSpec copies{.kind = spec.kind,
                                .backend = models::Backend::sdma,
                                .bytes = spec.bytes,
                                .gpus = spec.gpus,
                                .host_threads = spec.host_threads};
  if (!testbed.why_impossible(copies).empty()) return;
  figures[Figure::over_parallel_copies] = sim::to_seconds(testbed.alone(copies)) / sim::to_seconds(time);
}

// Returns the kernel that rounds the rows of the second operand, along the contraction, from bf16 to fp8.
models::ElementwiseSpec quantising_kernel(const models::GemmShape& shape, const Testbed& testbed) {
  const ElementwiseOperator& quantise = required_operator(testbed.templates().operators(), "quantise");
  return kernel_of(quantise, shape.n * shape.k, usual_element, shape.k);
}

// Returns GEMMs one after the other, each with its quantising kernel, if any, and a pause between groups of them.
Schedule repeated(const GemmTrial& gemm, std::size_t times, const Testbed& testbed) {
  const Schedule once = schedule_of_gemm(gemm, testbed);
  const std::size_t kernels = kernels_of(gemm);
  const std::size_t of_group = kernels * static_cast<std::size_t>(gemm.group);
  Schedule schedule;
  for (std::size_t i = 0; i < times * kernels; ++i) {
    schedule.push_back(once[once.size() - kernels + i % kernels]);
    schedule.back().after.clear();
    if (i == 0) continue;
    schedule.back().after = {i - 1};
    if (i % of_group == 0) schedule.back().delay = gemm.pause;
  }
  return schedule;
}

// Returns the span of the n-th GEMM of such a schedule, with its quantising kernel.
Span span_of(std::span<const Span> operations, const GemmTrial& gemm, std::size_t nth) {
  const std::size_t kernels = kernels_of(gemm);
  return {.start = operations[nth * kernels].start, .end = operations[(nth + 1) * kernels - 1].end, .phases = {}};
}

// Simulates as many GEMMs as serve many n: the n-th is the same however many follow.
Figures of_nth(Testbed& testbed, const GemmTrial& trial) {
  const auto nth = static_cast<std::size_t>(*trial.nth);
  return observe_series(testbed, trial, std::bit_ceil(nth + 1))[nth];
}

// Returns a number of groups over which the governor takes many steps, so that the second half is periodic.
std::size_t times_until_periodic(const models::PowerSpec& power, sim::Time once) {
  constexpr double least = 8.0;
  constexpr double most = 512.0;
  constexpr double steps = 16.0;
  return static_cast<std::size_t>(
      std::clamp(std::ceil(steps * (sim::to_seconds(power.period) / sim::to_seconds(once))), least, most));
}

Figures of_pauses(Testbed& testbed, const GemmTrial& trial, bool metered) {
  Testbed& from_rest = testbed.from_rest();
  const models::PlatformSpec& platform = testbed.platform();
  const Between between = between_of(trial);
  const auto group = static_cast<std::size_t>(trial.group);
  const sim::Time once = from_rest.run(repeated(trial, group, testbed), between).makespan() + trial.pause;
  const std::size_t groups = times_until_periodic(platform.gpu.power, once);
  const std::size_t times = groups * group;
  const Schedule schedule = repeated(trial, times, testbed);
  PowerMeter meter;
  sim::Time origin{0};
  Timeline run;
  if (metered) {
    const auto attach = [&](models::Node& node, sim::Time begin) {
      meter.record(node);
      origin = begin;
    };
    run = from_rest.as_simulated().watch(schedule, attach, nullptr, between);
  }
  const Timeline timed = metered ? from_rest.with_factors(schedule, run) : from_rest.run(schedule, between);
  const std::size_t half = groups / 2 * group;
  const std::size_t first = half + static_cast<std::size_t>(trial.nth.value_or(0));
  const std::size_t step = trial.nth ? group : 1;
  sim::Time busy{0};
  std::int64_t looks = 0;
  for (std::size_t i = first; i < times; i += step, ++looks) {
    const Span span = span_of(timed.operations, trial, i);
    busy += span.end - span.start;
  }
  const sim::Seconds time = sim::to_seconds(busy) / static_cast<double>(looks);
  Figures figures{{Figure::time, time.value()}};
  add_gemm(figures, trial, platform, time);
  if (!metered) return figures;
  const sim::Time begin = span_of(run.operations, trial, half - 1).end;
  meter.count_from(origin + begin);
  const sim::Seconds half_run = sim::to_seconds(run.operations.back().end - begin);
  add_means(figures, meter.mean_power(half_run), meter.mean_clock(half_run));
  return figures;
}

Figures of_gemm(Testbed& testbed, const GemmTrial& trial, const std::set<Figure>& asked) {
  // A meter would see what came before, too.
  const bool metered = needs_meter(asked) && trial.before == Before::loop;
  if (trial.pause > sim::Time::zero()) return of_pauses(testbed, trial, metered);
  if (trial.nth) return of_nth(testbed, trial);
  const models::PlatformSpec& platform = testbed.platform();
  const Timeline& timeline = testbed.run(schedule_of_gemm(trial, testbed), between_of(trial));
  const sim::Seconds time = sim::to_seconds(timeline.time_of_last(kernels_of(trial)));
  Figures figures{{Figure::time, time.value()}};
  add_gemm(figures, trial, platform, time);
  if (asks_for_any(asked, {Figure::l2_hit_bytes, Figure::l2_miss_bytes, Figure::cache_hit_share}))
    add_traffic(figures, testbed, trial);
  if (!metered) return figures;
  add_means(figures, timeline.means.power, timeline.means.clock);
  figures[Figure::efficiency] = efficiency(trial, platform, timeline.means.clock_at_work, time);
  return figures;
}

// Returns the figures of a trial whose schedule is played once.
Figures of_schedule(Testbed& testbed, const Trial& trial, const std::set<Figure>& asked) {
  const models::PlatformSpec& platform = testbed.platform();
  const Timeline& timeline = testbed.run(schedule_of(trial, testbed));
  const sim::Seconds time = sim::to_seconds(timeline.makespan());
  Figures figures{{Figure::time, time.value()}};
  if (needs_meter(asked)) add_means(figures, timeline.means.power, timeline.means.clock);
  // A trial of one kernel on each GPU, launched by the host, has a kernel_time.
  const auto is_one_kernel = [&] { figures[Figure::kernel_time] = (time - around_kernel(platform)).value(); };
  std::visit(
      sim::Overloaded{
          [&](const StreamTrial& stream) {
            is_one_kernel();
            // Benchmarks that go through a set again and again time passes, not launches.
            const sim::Seconds timed = stream.set > sim::Bytes(0.0) ? time - around_kernel(platform) : time;
            figures[Figure::rate] = (stream.bytes / timed).value();
          },
          [&](const models::AttentionShape&) { is_one_kernel(); },
          [&](const RemoteTrial& remote) {
            is_one_kernel();
            const double peers = remote.pattern == RemoteTrial::Pattern::all ? platform.gpus - 1 : 1;
            figures[Figure::link_rate] = (remote.bytes / time).value();
            figures[Figure::rate] = peers * figures[Figure::link_rate];
          },
          [&](const CopyTrial& copy) { add_phases(figures, copy.spec, timeline.operations.front().phases.value()); },
          [&](const CollectiveTrial& collective) {
            if (models::by_kernels(collective.spec.backend) && !collective.spec.graph) is_one_kernel();
            add_collective(figures, testbed, collective, asked, timeline.makespan());
          },
          [](const auto&) {}},
      trial);
  return figures;
}

// Returns the times of the whole run, of the stream's kernel and of the collective.
Figures of_both(Testbed& testbed, const StreamAndCollectiveTrial& trial) {
  const Timeline& timeline = testbed.run(schedule_of(trial, testbed));
  const Span& collective = timeline.operations[1];
  return {{Figure::time, sim::to_seconds(timeline.makespan()).value()},
          {Figure::kernel_time, time_of_kernel(timeline.operations[0], testbed.platform()).value()},
          {Figure::collective_time, sim::to_seconds(collective.end - collective.start).value()}};
}

// Returns the time of the GEMM or the collective, and its ratio to the time without the hog. The hog lasts as long as
// what is timed, as measuring programs stop it then: a longer hog would lower the mean power that governors hold.
// Successive runs find its length: in the first, the hog outlasts any delay that it may cause, and in company it does
// less in the same time than alone.
Figures beside_hog(Testbed& testbed, const HogTrial& trial) {
  constexpr double certainly = 4.0;  // this many times the time alone
  constexpr double near = 0.01;
  constexpr int most_runs = 6;
  const models::PlatformSpec& platform = testbed.platform();
  const sim::Seconds alone =
      sim::to_seconds(testbed.run({schedule_beside(hog_of(trial), trial, platform)[1]}).time_of_last());
  sim::Seconds hog_lasts = certainly * alone;
  sim::Seconds time{0.0};
  for (int run = 0; run < most_runs; ++run) {
    const Timeline& timeline =
        testbed.run(schedule_beside(lasting(hog_of(trial), hog_lasts, testbed), trial, platform));
    time = sim::to_seconds(timeline.time_of_last());
    const double of_its_time =
        sim::to_seconds(timeline.operations[1].end) / sim::to_seconds(timeline.operations[0].end);
    if (std::abs(of_its_time - 1.0) < near) break;
    hog_lasts = of_its_time * hog_lasts;
  }
  if (std::holds_alternative<models::GemmShape>(trial.beside)) {
    return {{Figure::gemm_time, time.value()}, {Figure::gemm_stretch, time / alone}};
  }
  return {{Figure::collective_time, time.value()}, {Figure::collective_stretch, time / alone}};
}

// Returns the rates of the stream and of the copies.
Figures of_copies(Testbed& testbed, const StreamAndCopiesTrial& trial) {
  const models::PlatformSpec& platform = testbed.platform();
  const sim::Seconds least = trial.bytes / platform.fabric.link_rate;
  // A stream and its copies last as long as many copies, and much longer than a launch.
  const sim::Seconds lasts = std::max(sim::Seconds(1e-3), 12.0 * least);
  Schedule schedule;
  if (trial.stream) {
    StreamTrial probe = *trial.stream;
    probe.bytes = sim::Bytes(1e9);
    const models::ElementwiseSpec kernel = lasting(kernel_of(probe), lasts, testbed);
    for (const int gpu : {0, 1}) schedule.emplace_back(operation_of(kernel)).gpus = {gpu};
  }
  // These copies outlast a stream that they slow down to half its rate.
  const int copies = static_cast<int>(std::ceil(2.0 * (lasts / least)));
  const std::size_t out = add_copies(schedule, 0, 1, trial.bytes, copies);
  const std::size_t back = trial.both_ways ? add_copies(schedule, 1, 0, trial.bytes, copies) : out;
  const Timeline& timeline = testbed.run(schedule);

  Figures figures;
  sim::Time begin{0};
  sim::Time end = timeline.makespan();
  if (trial.stream) {
    const Span& stream = timeline.operations[static_cast<std::size_t>(trial.gpu)];
    const sim::Bytes bytes = std::get<models::ElementwiseSpec>(schedule.front().work).bytes();
    figures[Figure::rate] = (bytes / time_of_kernel(stream, platform)).value();
    begin = stream.start + platform.host.kernel_launch;
    end = stream.end - platform.host.kernel_notice;
  }
  if (trial.gpu == 1 && !trial.both_ways) return figures;
  const std::span<const Span> spans(timeline.operations);
  const std::span<const Span> sent = spans.subspan(trial.gpu == 0 ? out : back, static_cast<std::size_t>(copies));
  figures[Figure::link_rate] = rate_within(sent, trial.bytes, begin, end).value();
  return figures;
}

std::string why_no_peer(const models::PlatformSpec& platform, const RemoteTrial& trial) {
  const auto exists = [&](int gpu) { return gpu >= 0 && gpu < platform.gpus; };
  if (trial.pattern != RemoteTrial::Pattern::all &&
      (!exists(trial.gpu) || !exists(trial.peer) || trial.gpu == trial.peer)) {
    return "two different GPUs from 0 to " + std::to_string(platform.gpus - 1) + " are accepted";
  }
  const int cus = trial.cus.value_or(1);
  if (cus >= 1 && cus <= platform.gpu.cus()) return {};
  return "1 to " + std::to_string(platform.gpu.cus()) + " CUs are accepted";
}

std::string why_no_arrays(const StreamTrial& trial) {
  if (trial.arrays_read + trial.arrays_written > 0) return {};
  return "a stream that reads or writes at least one array is accepted";
}

// Returns the first fault of the question, or why its model cannot be read.
std::string why_not_served(ServeMachine& machine, const ServeQuestion& question) {
  try {
    const std::vector<sim::Fault> faults = machine.faults_of(question);
    return faults.empty() ? std::string() : faults.front().where + ": " + faults.front().what;
  } catch (const sim::ConfigError& error) {
    return error.faults().front().what;
  }
}

// Returns times to the first token, per further token and to the last one, and requests and tokens per second.
Figures of_requests(const Served& served) {
  using enum Figure;
  constexpr double p90 = 0.9;
  constexpr double p99 = 0.99;
  Figures figures{{request_rate, served.per_second(served.requests)},
                  {token_rate, served.per_second(served.output_tokens)}};
  const auto seconds = [](sim::Time time) { return sim::to_seconds(time).value(); };
  const auto add = [&](const Latencies& times, Figure mean, const std::map<Figure, double>& quantiles) {
    if (times.count() == 0) return;
    figures[mean] = seconds(times.mean());
    for (const auto& [figure, share] : quantiles) figures[figure] = seconds(times.quantile(share));
  };
  add(served.first_token, first_token, {{first_token_median, 0.5}, {first_token_p90, p90}, {first_token_p99, p99}});
  add(served.whole, end_to_end, {{end_to_end_median, 0.5}, {end_to_end_p90, p90}, {end_to_end_p99, p99}});
  add(served.per_token, per_token, {{per_token_median, 0.5}, {per_token_p99, p99}});
  return figures;
}

// Returns why the trial is impossible beyond what the operations of its schedule tell.
std::string reason_against(const Testbed& testbed, const Trial& trial) {
  const models::PlatformSpec& platform = testbed.platform();
  return std::visit(
      sim::Overloaded{
          [&](const GemmTrial& gemm) {
            if (!gemm.cus) return std::string();
            std::string reason = why_no_mask(platform, *gemm.cus);
            if (reason.empty()) reason = testbed.why_impossible(gemm.shape);
            return reason.empty() ? why_too_many_waves(gemm.shape, platform, first_cus(platform, *gemm.cus)) : reason;
          },
          [&](const RemoteTrial& remote) { return why_no_peer(platform, remote); },
          [&](const StepTrial& step) {
            const std::vector<sim::Fault> faults = faults_of(step.question, {platform, testbed.templates()});
            return faults.empty() ? std::string() : faults.front().what;
          },
          [&](const ServeTrial& serving) { return why_not_served(testbed.kept<ServeMachine>(), serving.question); },
          [](const StreamTrial& stream) { return why_no_arrays(stream); },
          [](const StreamAndCollectiveTrial& both) { return why_no_arrays(both.stream); },
          [](const StreamAndCopiesTrial& copies) -> std::string {
            if (copies.gpu < 0 || copies.gpu > 1) return "gpu0 and gpu1 copy and stream: one of the two is accepted";
            if (copies.stream) return why_no_arrays(*copies.stream);
            return copies.gpu == 0 || copies.both_ways ? "" : "gpu1 sends nothing there: gpu0 is accepted";
          },
          [](const HogTrial& hog) { return hog.hog == Hog::stream ? why_no_arrays(hog.arrays) : std::string(); },
          [&](const C3Trial& c3) {
            std::string reason = testbed.why_impossible(c3.scenario.gemm);
            if (reason.empty()) reason = testbed.why_impossible(collective_of(c3.scenario, c3.strategy, platform));
            return reason.empty() ? why_no_reservation(platform, c3.scenario.reserved.value_or(0)) : reason;
          },
          [&](const DependentTrial& dependent) {
            const std::string reason = testbed.why_impossible(dependent.shape);
            return reason.empty() ? why_impossible(dependent.schedule, dependent.shape, platform) : reason;
          },
          [](const auto&) { return std::string(); }},
      trial);
}

}  // namespace

models::SdmaCopySpec copies_of(const CopyTrial& trial) {
  models::SdmaCopySpec copy = trial.spec;
  if (copy.copies > 1 && !copy.submit) copy.submit = models::Submission::each;
  return copy;
}

// Puts the GEMM last. The host launches it when it knows that what came before has ended; a kernel that quantises its
// operand is launched then instead, and the GEMM is queued after that kernel.
Schedule schedule_of_gemm(const GemmTrial& trial, const Testbed& testbed) {
  const models::PlatformSpec& platform = testbed.platform();
  Schedule schedule;
  if (trial.before == Before::collective) schedule.push_back(operation_of(on_gpus_of(platform, trial.collective)));
  if (!schedule.empty()) {
    schedule.push_back(operation_of(DelaySpec{}));
    schedule.back().after = {0};
  }
  const models::CuMask mask = trial.cus ? first_cus(platform, *trial.cus) : models::CuMask{};
  const auto behind_others = [&](Work work) {
    schedule.push_back(operation_of(std::move(work), mask));
    if (schedule.size() > 1) schedule.back().after = {schedule.size() - 2};
  };
  if (trial.quantise) behind_others(quantising_kernel(trial.shape, testbed));
  behind_others(trial.shape);
  return schedule;
}

Between between_of(const GemmTrial& trial) {
  if (trial.before == Before::traffic) return Between::communication;
  return between_of(trial.operands);
}

bool is_concurrent(const Trial& trial) {
  return std::visit(
      sim::Overloaded{[](const C3Trial&) { return true; }, [](const DependentTrial&) { return true; },
                      [](const FusedTrial&) { return true; }, [](const StreamAndCollectiveTrial&) { return true; },
                      [](const StreamAndCopiesTrial& copies) { return copies.stream.has_value(); },
                      [](const HogTrial&) { return true; },
                      [](const StepTrial& step) { return step.question.gpus() > 1; },
                      [](const ServeTrial&) { return true; }, [](const auto&) { return false; }},
      trial);
}

std::string why_impossible(const Testbed& testbed, const Trial& trial) {
  std::string reason = reason_against(testbed, trial);
  // Nobody asks for an empty kernel by mistake.
  if (!reason.empty() || std::holds_alternative<EmptyKernelTrial>(trial)) return reason;
  for (const Operation& operation : schedule_of(trial, testbed)) {
    reason = testbed.why_impossible(operation.work);
    if (!reason.empty()) break;
  }
  return reason;
}

Figures observe(Testbed& testbed, const Trial& trial, const std::set<Figure>& asked) {
  const models::PlatformSpec& platform = testbed.platform();
  return std::visit(sim::Overloaded{[&](const RestTrial&) { return of_rest(platform); },
                                    [&](const LoadTrial& loads) { return of_loads(testbed, loads); },
                                    [&](const GemmTrial& gemm) { return of_gemm(testbed, gemm, asked); },
                                    [&](const C3Trial& c3) { return of_c3(testbed, c3, asked); },
                                    [&](const StreamAndCollectiveTrial& both) { return of_both(testbed, both); },
                                    [&](const StreamAndCopiesTrial& copies) { return of_copies(testbed, copies); },
                                    [&](const HogTrial& hog) { return beside_hog(testbed, hog); },
                                    [&](const StepTrial& step) { return observe(testbed, step); },
                                    [&](const ServeTrial& serving) {
                                      return of_requests(testbed.kept<ServeMachine>().ask(serving.question, 0).served);
                                    },
                                    [](const ReplayTrial&) { return Figures{}; },
                                    [&](const FusedTrial& fused) { return of_fused(testbed, fused); },
                                    [&](const auto&) { return of_schedule(testbed, trial, asked); }},
                    trial);
}

std::vector<Figures> observe_series(Testbed& testbed, const GemmTrial& trial, std::size_t count) {
  const Timeline& run = testbed.from_rest().run(repeated(trial, count, testbed));
  std::vector<Figures> series;
  for (std::size_t i = 0; i < count; ++i) {
    const Span span = span_of(run.operations, trial, i);
    const sim::Seconds time = sim::to_seconds(span.end - span.start);
    add_gemm(series.emplace_back(Figures{{Figure::time, time.value()}}), trial, testbed.platform(), time);
  }
  return series;
}

Figures observe(Testbed& testbed, const StepTrial& trial) {
  const StepResult result = ask({testbed.platform(), testbed.templates()}, trial.question, testbed.factor());
  const sim::Time all = std::accumulate(result.by_kind.begin(), result.by_kind.end(), sim::Time(0));
  const sim::Time kernels = trial.kind ? result.time_of(*trial.kind) : all;
  return {{Figure::time, sim::to_seconds(result.time).value()},
          {Figure::kernel_time, sim::to_seconds(kernels).value()},
          {Figure::energy, result.energy().value()},
          {Figure::power, result.power.value()},
          {Figure::clock, result.clock.value()}};
}

StepRoofline roofline(const StepTrial& trial, const models::PlatformSpec& platform) {
  StepRoofline sums;
  const StepQuestion& question = trial.question;
  const LayerTemplates templates(config_folders());
  for (const StepBlock& block : step_blocks(question, question.stage_layers(), {platform, templates})) {
    const double times = static_cast<double>(std::max<std::int64_t>(1, block.layers)) * block.share(question.gpus());
    for (const StepOperation& one : block.operations) {
      for (const StepPart& part : parts_of(one, {}, platform)) {
        (communicates(part.kind) ? sums.communication : sums.compute) +=
            times * limits_of(part.work, platform).longest();
      }
    }
  }
  return sums;
}

}  // namespace c3sim::study
