#include "calibrate/replay/contention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "study/run/queue_time.h"

namespace c3sim::calibrate {

namespace {

using sim::operator""_MiB;

// Of two operations that began together: what the overlap cost one of them is its time beyond that alone.
double slowdown_of(const study::Span& one, const study::Span& other, sim::Time alone) {
  const sim::Time both = std::min(one.end, other.end) - std::max(one.start, other.start);
  const sim::Time apart = one.end - one.start - both;
  const sim::Time done_beside = alone - apart;  // of its work, in its time alone
  if (both <= sim::Time(0) || done_beside <= sim::Time(0)) return 1.0;
  return std::max(1.0, sim::to_seconds(both) / sim::to_seconds(done_beside));
}

}  // namespace

std::optional<models::CollectiveSpec> Contention::carried_out(const models::CollectiveSpec& collective) {
  models::CollectiveSpec asked = collective;
  if (asked.gpus == 0) asked.gpus = testbed_.platform().gpus;
  asked.backend = by_what_.backend;
  if (!models::by_kernels(asked.backend) || !by_what_.channels_as_traced) asked.channels.reset();
  if (models::by_kernels(asked.backend) && by_what_.channels) asked.channels = by_what_.channels;
  const std::string why_not = testbed_.why_impossible(asked);
  if (why_not.empty()) return asked;
  ++by_library_[why_not];
  if (testbed_.why_impossible(collective).empty()) return collective;
  return {};
}

bool Contention::can(models::CollectiveSpec collective, models::Backend backend) const {
  collective.backend = backend;
  if (!models::by_kernels(backend)) collective.channels.reset();
  return testbed_.why_impossible(collective).empty();
}

// A GEMM of 8192 x 8192 or a kernel that reads and writes: their times grow with the depth of the product and with the
// bytes, so nearly in proportion that a second guess, from the time of the first, meets any length.
study::Work Contention::company(Beside beside, sim::Time length) {
  const auto sized = [beside](double size) -> study::Work {
    constexpr std::int64_t side = 8192;
    constexpr double step = 64.0;  // of the depth
    constexpr double deepest = 1048576.0;
    if (beside == Beside::matrix) {
      const double depth = std::clamp(step * std::round(size / step), step, deepest);
      return models::GemmShape{side, side, static_cast<std::int64_t>(depth)};
    }
    const sim::Bytes bytes(std::max(1.0, std::round(size)));
    return models::ElementwiseSpec{.read = bytes, .written = bytes, .flops = {}};
  };
  double size = beside == Beside::matrix ? 8192.0 : sim::Bytes(512_MiB).value();
  for (int guess = 0; guess < 2; ++guess) {
    const sim::Time alone =
        study::alone_on_queue(testbed_, study::operation_of(sized(size)), false, study::Between::communication);
    size *= sim::to_seconds(length) / sim::to_seconds(alone);
  }
  return sized(size);
}

void Contention::add_slowdowns(const models::CollectiveSpec& collective, Tenant& tenant) {
  models::CollectiveSpec like = collective;
  const double next = std::exp2(std::ceil(std::log2(collective.bytes.value())));
  like.bytes = std::max(sim::Bytes(64_MiB), sim::Bytes(next));
  const auto [known, is_new] = pairs_.try_emplace(like);
  if (is_new && testbed_.why_impossible(like).empty()) {
    const study::Operation own = study::operation_of(like);
    const sim::Time alone = study::alone_on_queue(testbed_, own, false, study::Between::communication);
    for (const Beside beside : {Beside::matrix, Beside::memory}) {
      const study::Operation other = study::operation_of(company(beside, alone));
      const study::Schedule both{own, other};
      const auto spans = study::on_queues(both, testbed_.run(both, study::Between::communication), testbed_.platform());
      const sim::Time other_alone = study::alone_on_queue(testbed_, other, false, study::Between::communication);
      const auto place = static_cast<std::size_t>(beside);
      known->second.slowed[place] = slowdown_of(spans[0], spans[1], alone);
      known->second.slows[place] = slowdown_of(spans[1], spans[0], other_alone);
    }
  }
  tenant.slows = known->second.slows;
  tenant.slowed = known->second.slowed;
}

const Tenant& Contention::tenant(const models::CollectiveSpec& collective) {
  const auto [known, is_new] = tenants_.try_emplace(collective);
  if (!is_new) return known->second;
  if (const std::optional<models::CollectiveSpec> spec = carried_out(collective)) {
    known->second.alone =
        study::alone_on_queue(testbed_, study::operation_of(*spec), false, study::Between::communication);
    add_slowdowns(*spec, known->second);
  }
  return known->second;
}

}  // namespace c3sim::calibrate
