#include "models/machine/gpu.h"

#include <algorithm>

#include "models/platform/device.h"

namespace c3sim::models {

Gpu::Gpu(int index, const GpuSpec& spec, sim::ResourceNetwork& network, std::vector<sim::ResourceId> links,
         Mechanisms without)
    : index_(index),
      spec_(spec),
      network_(network),
      memory_(spec.memory, network, device_name(index), without),
      cache_sharing_(without, spec.memory.collective_channels),
      dispatcher_(network.simulator(), spec.dispatch, spec.memory.xcds, spec.cus_per_xcd, spec.cu, device_name(index),
                  without),
      governor_(spec.power, network, memory_, without.has(Mechanism::clock) ? std::vector<sim::ResourceId>() : links,
                without.has(Mechanism::clock) ? std::vector{Tenant::gemm, Tenant::stream, Tenant::remote}
                                              : std::vector<Tenant>()) {
  network.add_regulator([this] { return governor_.regulate(); });
  if (spec.memory.arbitration != Arbitration::off && !without.has(Mechanism::hbm)) {
    network.add_regulator([this] { return memory_.arbitrate(); });
  }
  if (!without.has(Mechanism::clock)) return;
  rccl_governor_.emplace(spec.power, network, memory_, std::move(links), std::vector{Tenant::rccl});
  network.add_regulator([this] { return rccl_governor_->regulate(); });
}

sim::Time Gpu::wait_in_order(sim::Time gap, sim::Time start_up) {
  constexpr sim::Time tick(1);
  const sim::Time arrival = simulator().now() + gap + start_up;
  last_arrival_ = std::max(last_arrival_ + tick, arrival);
  return gap + (last_arrival_ - arrival);
}

void Gpu::start_governor_loop(const std::optional<GovernorState>& state) {
  const PowerSpec& power = spec_.power;
  if (power.acts_at_once()) return;
  if (power.governor == GovernorPolicy::power_limit) {
    governor_loop_.emplace<PowerLimitLoop>(
        power, network_, governor_, state ? std::get<PowerLimitLoop::State>(*state) : PowerLimitLoop::at_rest(power));
  } else {
    governor_loop_.emplace<ClockLoop>(power, network_, governor_,
                                      state ? std::get<ClockLoop::State>(*state) : ClockLoop::at_rest(power));
  }
}

GovernorState Gpu::governor_state() {
  if (auto* const loop = std::get_if<PowerLimitLoop>(&governor_loop_)) return loop->state();
  return std::get<ClockLoop>(governor_loop_).state();
}

}  // namespace c3sim::models
