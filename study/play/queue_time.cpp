#include "study/play/queue_time.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "study/program/operation_graph.h"

namespace c3sim::study {

namespace {

using sim::operator""_MiB;

// Attributes all time of `one` beyond `alone` to the overlap with `other`.
double slowdown_of(const Span& one, const Span& other, sim::Time alone) {
  const sim::Time both = std::min(one.end, other.end) - std::max(one.start, other.start);
  const sim::Time apart = one.end - one.start - both;
  const sim::Time done_beside = alone - apart;  // the part of its work done during the overlap, in time alone
  if (both <= sim::Time(0) || done_beside <= sim::Time(0)) return 1.0;
  return std::max(1.0, sim::to_seconds(both) / sim::to_seconds(done_beside));
}

}  // namespace

std::vector<Span> on_queues(const Schedule& schedule, const Timeline& timeline, const models::PlatformSpec& platform) {
  std::vector<Span> spans = timeline.operations;
  for (std::size_t place = 0; place < schedule.size(); ++place) {
    if (!is_kernel(schedule[place].work)) continue;
    Span& span = spans[place];
    const auto* const fused = std::get_if<models::FusedSpec>(&schedule[place].work);
    if (fused == nullptr || ends_with_kernel(*fused, platform)) span.end -= platform.host.kernel_notice;
    span.start = std::min(span.end, span.began.value_or(span.start));
  }
  return spans;
}

sim::Time alone_on_queue(Testbed& testbed, const Operation& operation, bool is_queued, Between between) {
  Schedule schedule{operation_of(operation.work, operation.mask)};
  schedule.front().gpus = operation.gpus;
  // The commands of a queued copy are in place before its turn comes.
  if (is_queued && !is_kernel(operation.work)) {
    schedule.push_back(schedule.front());
    schedule.back().after = {0};
  }
  const Span span = on_queues(schedule, testbed.run(schedule, between), testbed.platform()).back();
  return span.end - span.start;
}

std::array<double, 2> slowdowns_of_pair(Testbed& testbed, const Operation& first, const Operation& second,
                                        Between between) {
  const sim::Time first_alone = alone_on_queue(testbed, first, false, between);
  const sim::Time second_alone = alone_on_queue(testbed, second, false, between);
  const Schedule both{first, second};
  const std::vector<Span> spans = on_queues(both, testbed.run(both, between), testbed.platform());
  return {slowdown_of(spans[0], spans[1], first_alone), slowdown_of(spans[1], spans[0], second_alone)};
}

// Times are so nearly proportional to the depth of the product, or to the bytes, that a second guess scaled by the time
// of the first meets any length.
Work kernel_as_long(Testbed& testbed, Neighbour beside, sim::Time length) {
  const auto sized = [beside](double size) -> Work {
    constexpr std::int64_t side = 8192;
    constexpr double step = 64.0;  // multiple to which the depth is rounded
    constexpr double deepest = 1048576.0;
    if (beside == Neighbour::matrix) {
      const double depth = std::clamp(step * std::round(size / step), step, deepest);
      return models::GemmShape{side, side, static_cast<std::int64_t>(depth)};
    }
    const sim::Bytes bytes(std::max(1.0, std::round(size)));
    return models::ElementwiseSpec{.read = bytes, .written = bytes, .flops = {}};
  };
  double size = beside == Neighbour::matrix ? 8192.0 : sim::Bytes(512_MiB).value();
  for (int guess = 0; guess < 2; ++guess) {
    const sim::Time alone = alone_on_queue(testbed, operation_of(sized(size)), false, Between::communication);
    size *= sim::to_seconds(length) / sim::to_seconds(alone);
  }
  return sized(size);
}

}  // namespace c3sim::study
