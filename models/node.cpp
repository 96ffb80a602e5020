#include "models/node.h"

#include <algorithm>
#include <numeric>

#include "models/machine/resource_kind.h"
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

Node::Node(sim::Simulator& simulator, const PlatformSpec& spec, const HostSpec& host, Symmetry symmetry)
    : simulator_(simulator),
      spec_(spec),
      network_(simulator, tenant_kinds,
               [](std::uint32_t tag) { return static_cast<std::size_t>(ActivityTag::of(tag).tenant); }),
      fabric_(spec.fabric, network_, symmetry == Symmetry::none ? spec.gpus : 1, spec.without),
      host_(host, simulator, spec.gpus) {
  const int simulated = symmetry == Symmetry::none ? spec.gpus : 1;
  for (int gpu = 0; gpu < simulated; ++gpu) {
    gpus_.emplace_back(gpu, spec.gpu, network_, fabric_.ports(gpu), spec.without);
  }
  // Engines reach into the memories of all GPUs.
  std::vector<Memory*> memories;
  std::vector<PullService*> pulls;
  for (int i = 0; i < spec.gpus; ++i) {
    if (i < simulated) pulls_.emplace_back(spec.gpu.sdma, network_, device_name(i));
    memories.push_back(&gpu(i).memory());
    pulls.push_back(&pulls_[static_cast<std::size_t>(i < simulated ? i : 0)]);
  }
  for (int gpu = 0; gpu < simulated; ++gpu) {
    copy_engines_.push_back(&sdma_.emplace_back(spec.gpu.sdma, gpu, network_, memories, pulls, fabric_));
  }
}

std::vector<int> Node::all_simulated() const {
  std::vector<int> gpus(gpus_.size());
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

}  // namespace c3sim::models
