#include "models/gpu.h"

#include <string>

namespace models {

namespace {
std::string gpu_name(int index) { return "gpu" + std::to_string(index); }

std::array<Memory, tenants> seen_by_all(const Memory& first, sim::ResourceNetwork& network) {
  return {first, first.seen_by_collectives(network), first.seen_by_collectives(network)};
}
}  // namespace

GpuSpec GpuSpec::read(sim::Section section, int gpus) {
  GpuSpec spec;
  const int xcds = static_cast<int>(section.integer("xcds", 1, 64));
  spec.cus_per_xcd = static_cast<int>(section.integer("cus_per_xcd", 1, 1024));
  spec.memory = MemorySpec::read(section.section("memory"), xcds);
  spec.dispatch = DispatchSpec::read(section.section("dispatch"));
  spec.cu = CuResources::read(section.section("cu"));
  spec.gemm = GemmSpec::read(section.section("gemm"), spec.cu);
  spec.power = PowerSpec::read(section.section("power"));
  spec.sdma = SdmaSpec::read(section.section("sdma"), gpus);
  return spec;
}

Gpu::Gpu(int index, const GpuSpec& spec, sim::ResourceNetwork& network, std::vector<sim::ResourceId> links,
         Mechanisms without)
    : index_(index),
      spec_(spec),
      network_(network),
      memories_(seen_by_all(Memory(spec.memory, network, gpu_name(index), without), network)),
      cache_sharing_(without, spec.memory.collective_channels),
      dispatcher_(network.simulator(), spec.dispatch, spec.memory.xcds, spec.cus_per_xcd, spec.cu, gpu_name(index),
                  without),
      governor_(spec.power, network, memory(Tenant::gemm),
                without.has(Mechanism::clock) ? std::vector<sim::ResourceId>() : links) {
  network.add_regulator([this] { return governor_.regulate(); });
  if (!without.has(Mechanism::clock)) return;
  rccl_governor_.emplace(spec.power, network, memory(Tenant::rccl), std::move(links));
  network.add_regulator([this] { return rccl_governor_->regulate(); });
}

}  // namespace models
