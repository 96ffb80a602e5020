#include "models/node.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace c3sim::models {

Node::Node(sim::Simulator& simulator, const PlatformSpec& spec, Symmetry symmetry)
    : simulator_(simulator),
      spec_(spec),
      network_(simulator),
      fabric_(spec.fabric, network_, symmetry == Symmetry::none ? spec.gpus : 1),
      host_(spec.host, simulator, spec.gpus) {
  const int simulated = symmetry == Symmetry::none ? spec.gpus : 1;
  if (spec.without.has(Mechanism::link)) sdma_fabric_.emplace(spec.fabric, network_, simulated);
  for (int gpu = 0; gpu < simulated; ++gpu) {
    std::vector<sim::ResourceId> links = fabric_.ports(gpu);
    if (sdma_fabric_) std::ranges::copy(sdma_fabric_->ports(gpu), std::back_inserter(links));
    gpus_.push_back(std::make_unique<Gpu>(gpu, spec.gpu, network_, std::move(links), spec.without));
  }
  // Engines write into the memories of all GPUs.
  std::vector<Memory*> memories;
  memories.reserve(static_cast<std::size_t>(spec.gpus));
  for (int i = 0; i < spec.gpus; ++i) memories.push_back(&gpu(i).memory(Tenant::sdma));
  for (int gpu = 0; gpu < simulated; ++gpu) {
    sdma_.push_back(std::make_unique<SdmaComplex>(spec.gpu.sdma, gpu, network_, memories, fabric(Tenant::sdma)));
    copy_engines_.push_back(sdma_.back().get());
  }
}

}  // namespace c3sim::models
