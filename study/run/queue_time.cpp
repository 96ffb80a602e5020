#include "study/run/queue_time.h"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "study/work/queued.h"

namespace c3sim::study {

namespace {

// From the call that launches a kernel, by a host that has nothing else to do, to when the kernel may begin.
sim::Time launch_of(const Work& work, const models::HostSpec& host, bool at_rest) {
  const auto* const collective = std::get_if<models::CollectiveSpec>(&work);
  sim::Time launch = host.kernel_launch;
  if (collective) launch = collective->graph ? host.graph_launch : host.kernel_launch + host.collective_launch;
  return at_rest && host.protocol == models::Protocol::shot ? launch + host.wake_up : launch;
}

}  // namespace

std::vector<Span> on_queues(const Schedule& schedule, const Timeline& timeline, const models::PlatformSpec& platform) {
  const std::vector<bool> is_queued = queued(schedule);
  std::vector<Span> spans = timeline.operations;
  for (std::size_t place = 0; place < schedule.size(); ++place) {
    if (!is_kernel(schedule[place].work)) continue;
    Span& span = spans[place];
    const auto* const fused = std::get_if<models::FusedSpec>(&schedule[place].work);
    if (fused == nullptr || ends_with_kernel(*fused, platform)) span.end -= platform.host.kernel_notice;
    if (is_queued[place]) continue;
    const bool at_rest = span.start == sim::Time::zero();
    span.start = std::min(span.end, span.start + launch_of(schedule[place].work, platform.host, at_rest));
  }
  return spans;
}

sim::Time alone_on_queue(Testbed& testbed, const Operation& operation, bool is_queued, Between between) {
  const models::HostSpec& host = testbed.platform().host;
  const sim::Time alone = testbed.alone(operation.work, operation.mask, operation.gpus, between);
  if (is_kernel(operation.work)) return alone - launch_of(operation.work, host, true) - host.kernel_notice;
  if (!is_queued) return alone;
  // A queued copy: its commands are there before its turn comes.
  Operation second = operation_of(operation.work);
  second.after = {0};
  const Span& span = testbed.run({operation_of(operation.work), std::move(second)}).operations.back();
  return span.end - span.start;
}

}  // namespace c3sim::study
