#include "study/step/step_limits.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/overloaded.h"
#include "study/c3/strategy.h"

namespace c3sim::study {

namespace {

constexpr double least_share = 0.4;  // of the time, that what bounds it takes at peak

// At the highest clock.
sim::Seconds of_vectors(sim::Flops flops, const models::GpuSpec& gpu) {
  const double rate = gpu.vector_flops_per_cycle_per_cu * gpu.cus() * gpu.power.highest_clock.value();
  return sim::Seconds(rate > 0.0 ? flops.value() / rate : 0.0);
}

}  // namespace

sim::Seconds Limits::longest() const { return std::max({arithmetic, memory, links}); }

Limits& Limits::operator+=(const Limits& more) {
  arithmetic = arithmetic + more.arithmetic;
  memory = memory + more.memory;
  links = links + more.links;
  return *this;
}

Limits& Limits::operator*=(double share) {
  arithmetic = share * arithmetic;
  memory = share * memory;
  links = share * links;
  return *this;
}

Limits limits_of(const Work& work, const models::PlatformSpec& platform) {
  const models::GpuSpec& gpu = platform.gpu;
  const auto multiplying = [&](const auto& shape) {
    return sim::Seconds(shape.flops().value() / gpu.peak_flops(shape.dtype));
  };
  return std::visit(
      sim::Overloaded{[&](const models::GemmShape& shape) {
                        return Limits{multiplying(shape), shape.compulsory_bytes() / gpu.memory.hbm_rate, {}};
                      },
                      [&](const models::AttentionShape& shape) {
                        return Limits{multiplying(shape), (shape.read() + shape.written()) / gpu.memory.hbm_rate, {}};
                      },
                      [&](const models::ElementwiseSpec& spec) {
                        return Limits{of_vectors(spec.flops, gpu), spec.bytes() / gpu.memory.hbm_rate, {}};
                      },
                      [&](const models::CollectiveSpec& spec) {
                        return Limits{{}, {}, roofline(spec, platform)};
                      },
                      [&](const models::SdmaCopySpec& copy) {
                        return Limits{{}, {}, copy.bytes / platform.fabric.link_rate};
                      },
                      [&](const models::RemoteKernelSpec& spec) {
                        return Limits{{}, {}, spec.bytes / platform.fabric.link_rate};
                      },
                      [](const auto&) { return Limits{}; }},
      work);
}

std::string bound_of(const Limits& limits, sim::Seconds time) {
  if (limits.longest() < least_share * time) return "latency";
  const std::array<std::pair<sim::Seconds, const char*>, 3> resources{
      {{limits.arithmetic, "arithmetic"}, {limits.memory, "HBM"}, {limits.links, "links"}}};
  return std::ranges::max_element(resources, {}, &std::pair<sim::Seconds, const char*>::first)->second;
}

}  // namespace c3sim::study
