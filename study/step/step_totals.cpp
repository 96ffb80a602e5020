#include "study/step/step_totals.h"

#include <algorithm>
#include <variant>

#include "sim/overloaded.h"
#include "study/c3/strategy.h"

namespace c3sim::study {

namespace {

constexpr double least_share = 0.4;  // share of the time that the bounding resource takes at peak

// Returns the time at the highest clock.
sim::Seconds of_vectors(const models::ElementwiseSpec& spec, const models::GpuSpec& gpu) {
  const double rate = gpu.vector_lanes() * gpu.cus() * gpu.power.highest_clock.value();
  return sim::Seconds(rate > 0.0 ? models::lane_cycles(spec, gpu) / rate : 0.0);
}

}  // namespace

// A span ends when the host is notified, `notice` after its kernels.
std::vector<StepPart> parts_of(const StepOperation& operation, const Span& span, const models::PlatformSpec& platform) {
  const sim::Time notice = platform.host.kernel_notice;
  const auto& [handle, name, kind, work, stream, after, of_model, with_attention] = operation;
  const auto* const fused = std::get_if<models::FusedSpec>(&work);
  const sim::Time start = span.began.value_or(span.start);
  if (fused == nullptr) {
    const sim::Time end = is_kernel(work) ? span.end - notice : span.end;
    return {{name, kind, work, std::min(start, end), end, with_attention}};
  }
  const models::CollectiveSpec collective = models::collective_of(*fused, platform.gpus);
  const Kind kind_of_collective = kind_of(collective.kind);
  const std::string name_of_collective = name + "_" + std::string(to_string(kind_of_collective));
  const sim::Time end = models::ends_with_kernel(*fused, platform) ? span.end - notice : span.end;
  return {{name, kind, fused->gemm, start, span.gemm_end.value_or(span.end) - notice},
          {name_of_collective, kind_of_collective, collective, span.exchange_start.value_or(span.start), end}};
}

void Limits::add(double share, const Limits& more) {
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = times[i] + share * more.times[i];
}

Limits limits_of(const Work& work, const models::PlatformSpec& platform) {
  const models::GpuSpec& gpu = platform.gpu;
  const auto limits = [&](sim::Seconds arithmetic, sim::Bytes moved) {
    return Limits{{arithmetic, moved / gpu.memory.hbm_rate}};
  };
  const auto multiplying = [&](const auto& shape) {
    return sim::Seconds(shape.flops().value() / gpu.peak_flops(shape.dtype));
  };
  const auto of_links = [](sim::Seconds time) { return Limits{{sim::Seconds(), sim::Seconds(), time}}; };
  return std::visit(
      sim::Overloaded{
          [&](const models::GemmShape& shape) { return limits(multiplying(shape), shape.compulsory_bytes()); },
          [&](const models::AttentionShape& shape) {
            return limits(multiplying(shape), shape.read() + shape.written());
          },
          [&](const models::ElementwiseSpec& spec) { return limits(of_vectors(spec, gpu), spec.bytes()); },
          [&](const models::CollectiveSpec& spec) { return of_links(roofline(spec, platform)); },
          [&](const models::SdmaCopySpec& copy) { return of_links(copy.bytes / platform.fabric.link_rate); },
          [&](const models::RemoteKernelSpec& spec) { return of_links(spec.bytes / platform.fabric.link_rate); },
          [](const auto&) { return Limits{}; }},
      work);
}

std::string bound_of(const Limits& limits, sim::Seconds time) {
  if (limits.longest() < least_share * time) return "latency";
  return Limits::resources[static_cast<std::size_t>(std::ranges::max_element(limits.times) - limits.times.begin())];
}

BusySeconds& BusySeconds::operator+=(const BusySeconds& more) {
  compute += more.compute;
  communication += more.communication;
  exposed += more.exposed;
  host += more.host;
  return *this;
}

BusySeconds BusySeconds::operator*(double share) const {
  return {share * compute, share * communication, share * exposed, share * host};
}

BusySeconds busy_seconds(const BusyTimes& compute, const BusyTimes& communication, const BusyTimes& launching) {
  const auto seconds = [](const BusyTimes& times) { return sim::to_seconds(length_of(times)).value(); };
  return {seconds(compute), seconds(communication), seconds(communication - compute),
          seconds(launching - compute - communication)};
}

void StepTotals::count(const StepPart& part, double share, const models::PlatformSpec& platform) {
  StepShare& all = operations[part.name];
  if (all.count == 0.0) {
    all.kind = part.kind;
    all.with_attention = part.with_attention;
    all.work = to_string(part.work);
  }
  all.count += share;
  all.time += share * sim::to_seconds(part.end - part.start).value();
  all.limits.add(share, limits_of(part.work, platform));
  time = std::max(time, sim::to_seconds(part.end).value());
}

void StepTotals::extend(const StepTotals& of_few, const StepTotals& of_one_less, double by) {
  const auto more = [by](auto& all, auto few, auto less) { all = all + by * (few - less); };
  for (double StepTotals::*const sum : std::initializer_list<double StepTotals::*>{
           &StepTotals::time, &StepTotals::compute, &StepTotals::communication, &StepTotals::exposed, &StepTotals::host,
           &StepTotals::energy, &StepTotals::cycles}) {
    more(this->*sum, of_few.*sum, of_one_less.*sum);
  }
  for (auto& [name, share] : operations) {
    const StepShare& few = of_few.operations.at(name);
    const StepShare& less = of_one_less.operations.at(name);
    // An operation outside such layers takes as long as before: differences come from concurrent work.
    if (few.count == less.count && few.limits.longest() == less.limits.longest()) continue;
    more(share.count, few.count, less.count);
    more(share.time, few.time, less.time);
    for (std::size_t i = 0; i < share.limits.times.size(); ++i)
      more(share.limits.times[i], few.limits.times[i], less.limits.times[i]);
  }
}

}  // namespace c3sim::study
