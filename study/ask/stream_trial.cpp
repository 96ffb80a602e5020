#include "study/ask/stream_trial.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace c3sim::study {

namespace {

// How long a stream and the copies beside it last: many copies, and long beside a launch.
sim::Seconds duration_beside(sim::Seconds copy) { return std::max(sim::Seconds(1e-3), 12.0 * copy); }

sim::Seconds time_of_kernel(const Span& span, const models::PlatformSpec& platform) {
  return sim::to_seconds(span.end - span.start - platform.host.around_kernel());
}

// The same stream, as long as it takes so long alone.
models::ElementwiseSpec lasting(const StreamTrial& stream, sim::Seconds time, Testbed& testbed) {
  StreamTrial probe = stream;
  probe.bytes = sim::Bytes(1e9);
  const sim::Time alone = testbed.alone(kernel_of(probe)) - testbed.platform().host.around_kernel();
  probe.bytes = time / sim::to_seconds(alone) * probe.bytes;
  return kernel_of(probe);
}

// Adds copies behind one another, and returns where the first is.
std::size_t add_copies(Schedule& schedule, int from, int to, sim::Bytes bytes, int count) {
  const std::size_t first = schedule.size();
  const models::SdmaCopySpec copy{.from = from, .to = to, .bytes = bytes, .host_threads = models::HostThreads::per_gpu};
  for (int i = 0; i < count; ++i) {
    Operation& next = schedule.emplace_back(operation_of(copy));
    if (i > 0) next.after = {schedule.size() - 2};
  }
  return first;
}

// From the end of one copy to that of another, of those that end within [begin, end].
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
          .threads = trial.threads.value_or(0),
          .access = trial.threads ? arrays * element : sim::Bytes(0.0),
          .set = trial.set};
}

Schedule schedule_of(const StreamAndCollectiveTrial& trial, const models::PlatformSpec& platform) {
  models::CollectiveSpec collective = trial.collective;
  if (collective.gpus == 0) collective.gpus = platform.gpus;
  return {operation_of(kernel_of(trial.stream)), operation_of(std::move(collective))};
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

Figures observe(Testbed& testbed, const StreamAndCopiesTrial& trial) {
  const models::PlatformSpec& platform = testbed.platform();
  const sim::Seconds least = trial.bytes / platform.fabric.link_rate;
  const sim::Seconds lasts = duration_beside(least);
  Schedule schedule;
  if (trial.stream) {
    const models::ElementwiseSpec kernel = lasting(*trial.stream, lasts, testbed);
    for (const int gpu : {0, 1}) schedule.emplace_back(operation_of(kernel)).gpus = {gpu};
  }
  // Copies that outlast a stream which they slow down to half its rate.
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
