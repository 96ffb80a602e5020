#include "models/gpu.h"

#include <string>

namespace models {

namespace {
std::string gpu_name(int index) { return "gpu" + std::to_string(index); }
}  // namespace

GpuSpec GpuSpec::read(sim::Section section, int gpus) {
  GpuSpec spec;
  const int xcds = static_cast<int>(section.integer("xcds", 1, 64));
  spec.cus_per_xcd = static_cast<int>(section.integer("cus_per_xcd", 1, 1024));
  spec.memory = MemorySpec::read(section.section("memory"), xcds);
  spec.dispatch = DispatchSpec::read(section.section("dispatch"));
  spec.gemm = GemmSpec::read(section.section("gemm"));
  spec.power = PowerSpec::read(section.section("power"));
  spec.sdma = SdmaSpec::read(section.section("sdma"), gpus);
  return spec;
}

Gpu::Gpu(int index, const GpuSpec& spec, sim::ResourceNetwork& network, const Fabric& fabric)
    : index_(index),
      spec_(spec),
      network_(network),
      memory_(spec.memory, network, gpu_name(index)),
      dispatcher_(network.simulator(), spec.dispatch, spec.memory.xcds, spec.cus_per_xcd, gpu_name(index)),
      governor_(spec.power, network, memory_, fabric.ports(index)) {
  network.add_regulator([this] { return governor_.regulate(); });
}

}  // namespace models
