#include "study/ask/stream_trial.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace c3sim::study {

using sim::operator""_us;

namespace {

// Returns how long a stream and its copies last: as long as many copies, and much longer than a launch.
sim::Seconds duration_beside(sim::Seconds copy) { return std::max(sim::Seconds(1e-3), 12.0 * copy); }

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
  return kernel;
}

models::ElementwiseSpec lasting(const StreamTrial& stream, sim::Seconds time, Testbed& testbed) {
  StreamTrial probe = stream;
  probe.bytes = sim::Bytes(1e9);
  return lasting(kernel_of(probe), time, testbed);
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

Work beside_of(const HogTrial& trial, const models::PlatformSpec& platform) {
  if (const auto* const gemm = std::get_if<models::GemmShape>(&trial.beside)) return *gemm;
  return on_gpus_of(platform, std::get<models::CollectiveSpec>(trial.beside));
}

Operation later(const Work& beside) {
  Operation operation = operation_of(beside);
  operation.delay = behind_hog;
  return operation;
}

Schedule behind(const models::ElementwiseSpec& hog, const Work& beside) { return {operation_of(hog), later(beside)}; }

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

}  // namespace

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

Schedule schedule_of(const StreamAndCollectiveTrial& trial, const models::PlatformSpec& platform) {
  return {operation_of(kernel_of(trial.stream)), operation_of(on_gpus_of(platform, trial.collective))};
}

Schedule schedule_of(const HogTrial& trial, const models::PlatformSpec& platform) {
  return behind(hog_of(trial), beside_of(trial, platform));
}

std::string why_impossible(const HogTrial& trial) {
  return trial.hog == Hog::stream ? why_impossible(trial.arrays) : std::string();
}

std::string why_impossible(const StreamTrial& trial) {
  if (trial.arrays_read + trial.arrays_written > 0) return {};
  return "a stream that reads or writes at least one array is accepted";
}

std::string why_impossible(const StreamAndCopiesTrial& trial) {
  if (trial.gpu < 0 || trial.gpu > 1) return "gpu0 and gpu1 copy and stream: one of the two is accepted";
  if (trial.stream) return why_impossible(*trial.stream);
  return trial.gpu == 0 || trial.both_ways ? "" : "gpu1 sends nothing there: gpu0 is accepted";
}

Figures observe(Testbed& testbed, const StreamAndCollectiveTrial& trial) {
  const Timeline& timeline = testbed.run(schedule_of(trial, testbed.platform()));
  const Span& collective = timeline.operations[1];
  return {{Figure::time, sim::to_seconds(timeline.makespan()).value()},
          {Figure::kernel_time, time_of_kernel(timeline.operations[0], testbed.platform()).value()},
          {Figure::collective_time, sim::to_seconds(collective.end - collective.start).value()}};
}

// The hog lasts as long as what is timed, as measuring programs stop it then: a longer hog would lower the mean power
// that governors hold. Successive runs find its length: in the first, the hog outlasts any delay that it may cause, and
// in company it does less in the same time than alone.
Figures observe(Testbed& testbed, const HogTrial& trial) {
  constexpr double certainly = 4.0;  // this many times the time alone
  constexpr double near = 0.01;
  constexpr int most_runs = 6;
  const Work beside = beside_of(trial, testbed.platform());
  const sim::Seconds alone = sim::to_seconds(testbed.run({later(beside)}).time_of_last());
  sim::Seconds hog_lasts = certainly * alone;
  sim::Seconds time{0.0};
  for (int run = 0; run < most_runs; ++run) {
    const Timeline& timeline = testbed.run(behind(lasting(hog_of(trial), hog_lasts, testbed), beside));
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

Figures observe(Testbed& testbed, const StreamAndCopiesTrial& trial) {
  const models::PlatformSpec& platform = testbed.platform();
  const sim::Seconds least = trial.bytes / platform.fabric.link_rate;
  const sim::Seconds lasts = duration_beside(least);
  Schedule schedule;
  if (trial.stream) {
    const models::ElementwiseSpec kernel = lasting(*trial.stream, lasts, testbed);
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

}  // namespace c3sim::study
